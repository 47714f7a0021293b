"""audit.log: one line a call, and nothing in it that does not belong there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.pipeline import State
from devclaw_py.operations.pickup_steps import PICKUP
from tests.conftest import GROUP, Office

SUCCESSES: dict[str, dict[str, Any]] = {
    "task_pickup": {"role": "qa", "issueId": 2},
    "task_complete": {"role": "dev", "result": "done", "issueId": 1, "attempt": 1},
    "task_create": {"title": "More"},
    "task_update": {"issueId": 2, "state": "Planning"},
    "task_comment": {"issueId": 1, "body": "Half way"},
    "queue_status": {},
    "project_update": {"autoChain": True},
    "project_register": {"projectGroupId": "-2", "name": "blog", "repo": "/nowhere/blog", "baseBranch": "main"},
    "devclaw_setup": {},
}
REFUSALS: dict[str, dict[str, Any]] = {
    "task_pickup": {"role": "dev", "issueId": 2},
    "task_complete": {"role": "qa", "result": "pass"},
    "task_create": {"title": " "},
    "task_update": {"issueId": 2, "state": "Doing"},
    "task_comment": {"issueId": 99, "body": "Half way"},
    "queue_status": {"projectGroupId": "-9"},
    "project_update": {},
    "project_register": {"name": "shop", "repo": "/x", "baseBranch": "main"},
    "devclaw_setup": {"banana": 1},
}


@pytest.fixture
def busy(office: Office) -> Office:
    """An office in which dev holds #1 and #2 waits for qa."""
    office.doing()
    office.seed("Test me", State.TO_TEST)
    return office


def added(office: Office, tool: str, arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """Call a tool and return the lines that this added."""
    before = len(office.lines())
    group = {} if tool == "devclaw_setup" else {"projectGroupId": GROUP}
    catalogue.call(office.app, tool, {**group, **arguments}, HUMAN)
    return [dict(line) for line in office.lines()[before:]]


@pytest.mark.parametrize("tool", SUCCESSES)
def test_a_success_leaves_one_line_under_the_tools_name(busy: Office, tool: str) -> None:
    lines = added(busy, tool, SUCCESSES[tool])

    own = [line for line in lines if line["event"] == tool]
    assert len(own) == 1
    assert own[0]["ok"] is True
    assert own[0]["caller"] == "human"
    assert {line["op"] for line in lines} == {own[0]["op"]}
    if tool != "devclaw_setup":
        assert own[0]["project"] == ("blog" if tool == "project_register" else "shop")


@pytest.mark.parametrize("tool", REFUSALS)
def test_a_refusal_leaves_one_line_with_its_code(busy: Office, tool: str) -> None:
    lines = added(busy, tool, REFUSALS[tool])

    assert [line["event"] for line in lines] == [tool]
    assert lines[0]["ok"] is False
    assert lines[0]["error"] in {
        "worker_busy",
        "not_active",
        "invalid_arguments",
        "wrong_state",
        "unknown_project",
        "already_registered",
    }


@pytest.mark.parametrize("tool", ["task_pickup", "task_create", "task_update", "task_comment", "project_register"])
@pytest.mark.parametrize("number", range(1, 7))
def test_a_failure_leaves_one_line(busy: Office, tool: str, number: int) -> None:
    busy.flaky_tracker().fail(number, after_acting=False)

    lines = added(busy, tool, SUCCESSES[tool])

    assert len([line for line in lines if line["event"] == tool]) == 1


def test_a_pickup_says_what_the_original_says(office: Office) -> None:
    office.doing()

    pickup, choice = office.lines("task_pickup")[0], office.lines("model_selection")[0]
    assert pickup["op"] == choice["op"]
    assert (pickup["issue"], pickup["role"], pickup["tier"], pickup["attempt"]) == (1, "dev", "medior", 1)
    assert (pickup["labelTransition"], pickup["sessionAction"]) == ("To Do → Doing", "spawn")
    assert choice["fullModel"] == office.app.settings.models.medior


def test_an_unknown_tool_leaves_a_line(office: Office) -> None:
    assert [line["error"] for line in added(office, "banana", {})] == ["invalid_arguments"]


def test_a_pending_report_has_its_line_at_once_and_its_end_later(office: Office) -> None:
    issue = office.testing()
    office.work.repo(office.project).waiting = "the main checkout has tracked changes"
    answered = added(office, "task_complete", {"role": "qa", "result": "pass", "summary": "Seen it"})
    assert [(line["event"], line["ok"], line["pending"]) for line in answered] == [("task_complete", True, True)]
    office.work.repo(office.project).waiting = ""
    office.clock.sleep(31)

    office.done("task_create", title="Anything")

    settled = office.lines("operation_settled")
    assert [(line["op"], line["issue"], line["ok"]) for line in settled] == [(answered[0]["op"], issue, True)]
    assert len(office.lines("task_complete")) == 2


def test_an_undo_that_had_to_wait_has_its_end_in_the_log(office: Office) -> None:
    issue = office.seed()
    tracker = office.faulty_tracker()
    tracker.interrupt(4, tracker.down)
    office.call("task_pickup", issueId=issue, role="dev")
    tracker.up()
    office.clock.sleep(31)

    office.done("task_create", title="Anything")

    (first,), (last,) = office.lines("task_pickup"), office.lines("operation_settled")
    assert first["op"] == last["op"]
    assert (first["ok"], last["ok"], last["undone"]) == (False, False, True)


def test_what_a_killed_call_left_is_told_by_its_recovery(office: Office) -> None:
    office.kill_at("comment.2.comment")
    office.killed("task_comment", issueId=office.seed(), body="Half way")
    assert office.lines("task_comment") == []

    office.done("task_create", title="Anything")

    (line,) = office.lines("task_comment")
    assert (line["ok"], line["recovered"]) == (True, True)


def test_nobodys_text_is_in_the_log_as_a_whole(office: Office) -> None:
    secret = "s3cret-" + "x" * 200
    issue = office.done("task_create", title="Fix", description=f"body {secret}")["issueId"]
    office.done("task_comment", issueId=issue, body=f"{'y' * 100}{secret}")
    office.done("task_update", issueId=issue, state="To Do", reason=f"{'z' * 100}{secret}")
    office.done("task_pickup", issueId=issue, role="dev", model="medior")
    office.done("task_complete", role="dev", result="blocked", summary=f"{'w' * 100}{secret}")
    office.call("task_create", title=secret * 5, description=secret)

    assert "s3cret" not in (office.app.workspace / "memory" / "audit.log").read_text(encoding="utf-8")


def test_no_token_is_in_the_log(office: Office) -> None:
    office.doing()

    token = office.app.sessions.token("shop-dev-medior")

    assert token not in (office.app.workspace / "memory" / "audit.log").read_text(encoding="utf-8")


def test_every_line_is_one_object_with_time_event_op_and_caller(busy: Office) -> None:
    for tool, arguments in {**SUCCESSES, **REFUSALS}.items():
        added(busy, tool, arguments)

    text = (busy.app.workspace / "memory" / "audit.log").read_text(encoding="utf-8")
    for line in map(json.loads, text.splitlines()):
        assert list(line)[:4] == ["ts", "event", "op", "caller"]
        assert line["ts"].endswith("Z")


def test_a_line_that_a_killed_process_left_queued_is_written_by_the_next_call(office: Office) -> None:
    issue = office.seed()
    office.kill_at(PICKUP.points[-1])
    office.killed("task_pickup", issueId=issue, role="dev", model="medior")

    assert office.refused("task_pickup", issueId=issue, role="dev") == "worker_busy"

    assert [line["ok"] for line in office.lines("task_pickup")] == [True, False]


def test_a_report_that_waits_for_the_project_is_not_called_recovered(office: Office) -> None:
    office.doing()
    with office.app.store.hold(f"project:{GROUP}", wait_s=0, holder="another"):
        assert office.done("task_complete", role="dev", result="done", summary="s")["pending"]

    office.call("session_health", autoFix=True)

    assert all("recovered" not in line for line in office.lines())
