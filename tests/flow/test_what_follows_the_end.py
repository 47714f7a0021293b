"""What an operation did stands, whatever happens around its closing transaction."""

from __future__ import annotations

import pytest

from devclaw_py import catalogue
from devclaw_py.errors import ConfigError
from devclaw_py.model.journal import AuditLine, Closing
from tests.conftest import GROUP, Office

REPORT = {"role": "dev", "result": "done", "summary": "Ready", "attempt": 1}


@pytest.mark.parametrize("label", ["Planning", "Done"])
def test_a_create_that_waits_is_not_made_again_under_its_request_id(office: Office, label: str) -> None:
    faulty = office.faulty_tracker()
    faulty.arm("close" if label == "Done" else "create", after=label != "Done")
    faulty.arm("list_all", after=False)

    office.call("task_create", title="One", label=label, requestId="r-1")
    office.call("task_create", title="One", label=label, requestId="r-1")
    office.clock.sleep(1000)
    again = office.done("task_create", title="One", label=label, requestId="r-1")

    assert [task.title for task in office.tracker.list_all()] == ["One"]
    assert again["repeated"]


def test_a_report_that_comes_while_its_pickup_closes_is_kept(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    issue, journal = office.seed(), office.app.store.journal
    close, answers = journal.close, []

    def reported_first(op: str, closing: Closing) -> None:
        monkeypatch.setattr(journal, "close", close)
        report = {"projectGroupId": GROUP, "issueId": issue, **REPORT}
        answers.append(catalogue.call(office.app, "task_complete", report, office.worker()))
        close(op, closing)

    monkeypatch.setattr(journal, "close", reported_first)
    office.call("task_pickup", issueId=issue, role="dev", model="medior")
    again = office.done("task_complete", office.worker(), issueId=issue, **REPORT)

    assert answers[0]["pending"]
    assert again["repeated"]


def test_noting_the_line_of_a_pending_call_does_not_set_its_operation_back(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.doing()
    journal, audit = office.app.store.journal, office.app.store.audit
    append = audit.append_once

    def driven_meanwhile(line: AuditLine) -> bool:
        (intent,) = journal.intents()
        journal.mark(intent.model_copy(update={"phase": 5}))
        return append(line)

    monkeypatch.setattr(audit, "append_once", driven_meanwhile)
    with office.app.store.hold(f"project:{GROUP}", wait_s=0, holder="another operation"):
        office.done("task_complete", role="dev", result="done", summary="Ready")

    assert [intent.phase for intent in journal.intents()] == [5]


def test_a_pending_call_has_its_line_and_its_end_another_one(office: Office) -> None:
    office.doing()
    with office.app.store.hold(f"project:{GROUP}", wait_s=0, holder="another operation"):
        office.done("task_complete", role="dev", result="done", summary="Ready")

    office.call("task_pickup", role="dev", issueId=99)

    ends = [line["event"] for line in office.lines() if line["op"] == office.lines("task_complete")[0]["op"]]
    assert ends == ["task_complete", "operation_settled"]


def test_an_audit_line_that_cannot_be_written_is_a_warning_of_what_was_done(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(line: AuditLine) -> bool:
        raise ConfigError("the disk is full")

    monkeypatch.setattr(office.app.store.audit, "append_once", full)
    answer = office.done("task_pickup", issueId=office.seed(), role="dev", model="medior")

    assert "the disk is full" in answer["warning"]
    assert office.seat("dev").active


def test_a_line_that_a_kill_left_queued_is_written_by_the_next_call_of_the_project(office: Office) -> None:
    issue = office.seed()
    office.kill_at("pickup.11.close")
    office.killed("task_pickup", issueId=issue, role="dev", model="medior")

    office.refused("task_pickup", issueId=issue, role="dev")

    assert [line["ok"] for line in office.lines("task_pickup")] == [True, False]
