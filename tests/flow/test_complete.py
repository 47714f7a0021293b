"""task_complete: every result, what is refused, what waits, and that no report is lost or counted twice."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.model.pipeline import Integration, State, Tier
from devclaw_py.model.project import Seat
from tests.conftest import Office

FIELDS = {
    "success",
    "project",
    "groupId",
    "issueId",
    "role",
    "model",
    "attempt",
    "result",
    "labelTransition",
    "announcement",
}


def refuses(office: Office, code: str, **arguments: Any) -> str:
    """Complete in vain; return the message."""
    before = office.snapshot()
    answer = office.call("task_complete", **arguments)
    assert not answer["success"], answer
    assert answer["error"]["code"] == code, answer
    assert office.snapshot() == before
    return str(answer["error"]["message"])


def test_dev_done_moves_to_the_qa_queue(office: Office) -> None:
    issue = office.doing()

    answer = office.done("task_complete", role="dev", result="done", summary="Footer stands")

    assert set(answer) == FIELDS | {"nextAction", "commit"}
    assert answer["nextAction"] == "qa_pickup"
    assert answer["labelTransition"] == "Doing → To Test"
    assert answer["announcement"].startswith(f"✅ DEV done #{issue} — Footer stands. Moved to QA queue.")
    assert office.states(issue) == (State.TO_TEST,)


def test_dev_done_frees_the_seat_and_keeps_the_session(office: Office) -> None:
    office.doing()

    office.done("task_complete", role="dev", result="done")

    seat = office.seat("dev")
    assert (seat.active, seat.issue, seat.start_time, seat.attempt) == (False, None, None, None)
    assert seat.session(Tier.MEDIOR) == "shop-dev-medior"
    assert office.terminal.panes["shop-dev-medior"].session.alive


def test_dev_blocked_goes_to_a_person_with_the_reason(office: Office) -> None:
    issue = office.doing()

    answer = office.done("task_complete", role="dev", result="blocked", summary="No password")

    assert office.states(issue) == (State.REFINING,)
    assert "nextAction" not in answer
    assert "No password" in office.comments(issue)[-1]


def test_qa_pass_merges_the_tested_commit_and_closes(office: Office) -> None:
    issue = office.testing()
    tested = office.work.repo(office.project).branches[office.branch(issue)]

    answer = office.done("task_complete", role="qa", result="pass", summary="Seen it")

    repo = office.work.repo(office.project)
    assert set(answer) == FIELDS | {"issueClosed", "merged"}
    assert answer["merged"] == repo.base[-1]
    assert tested in repo.parents[repo.base[-1]]
    assert office.states(issue) == (State.DONE,)
    assert office.tracker.get(issue).closed
    assert "Merged into main, issue closed." in answer["announcement"]


def test_qa_fail_sends_back_to_dev_with_the_reason(office: Office) -> None:
    issue = office.testing()

    answer = office.done("task_complete", role="qa", result="fail", summary="The year is wrong")

    assert set(answer) == FIELDS | {"issueReopened", "nextAction", "reason"}
    assert answer["nextAction"] == "dev_fix"
    assert office.states(issue) == (State.TO_IMPROVE,)
    assert "The year is wrong" in office.comments(issue)[-1]


def test_qa_fail_reopens_what_somebody_closed(office: Office) -> None:
    issue = office.testing()
    office.tracker.human_closes(issue)

    office.done("task_complete", role="qa", result="fail", summary="No")

    assert not office.tracker.get(issue).closed


@pytest.mark.parametrize("result", ["refine", "blocked"])
def test_qa_refine_and_blocked_wait_for_a_person(office: Office, result: str) -> None:
    office.change(auto_chain=True)
    issue = office.testing()

    answer = office.done("task_complete", role="qa", result=result, summary="Which year?")

    assert office.states(issue) == (State.REFINING,)
    assert not {"nextAction", "autoChain"} & set(answer)
    assert "Which year?" in office.comments(issue)[-1]


@pytest.mark.parametrize(("role", "result"), [("dev", "pass"), ("dev", "fail"), ("dev", "refine"), ("qa", "done")])
def test_a_result_of_the_other_role_is_refused(office: Office, role: str, result: str) -> None:
    office.doing() if role == "dev" else office.testing()

    message = refuses(office, "invalid_arguments", role=role, result=result)

    assert f"{role} cannot report {result}" in message


def test_an_idle_worker_has_nothing_to_report(office: Office) -> None:
    assert "holds no task" in refuses(office, "not_active", role="dev", result="done")


def test_an_issue_that_the_seat_does_not_hold_is_refused(office: Office) -> None:
    issue = office.doing()

    assert f"holds #{issue}" in refuses(office, "not_active", role="dev", result="done", issueId=issue + 1)


def test_an_attempt_that_never_was_is_refused(office: Office) -> None:
    issue = office.doing()

    refuses(office, "not_active", role="dev", result="done", issueId=issue, attempt=7)


def test_an_older_attempt_is_stale(office: Office) -> None:
    issue = office.doing()
    office.done("task_update", issueId=issue, state="To Do")
    office.done("task_pickup", issueId=issue, role="dev", model="medior")

    message = refuses(office, "stale_attempt", role="dev", result="done", issueId=issue, attempt=1)

    assert "attempt 2" in message


def test_a_released_attempt_is_stale(office: Office) -> None:
    issue = office.doing()
    office.done("task_update", issueId=issue, state="Planning")

    refuses(office, "stale_attempt", role="dev", result="done", issueId=issue, attempt=1)


def test_work_without_a_commit_is_accepted_with_a_warning(office: Office) -> None:
    issue = office.doing(commits=False)

    answer = office.done("task_complete", role="dev", result="done")

    assert "no commit over the base" in answer["warnings"][0]
    assert answer["warnings"][0] in answer["announcement"]
    assert "no commit over the base" in office.comments(issue)[-1]


def test_uncommitted_work_is_accepted_with_a_warning(office: Office) -> None:
    office.doing()
    repo = office.work.repo(office.project)
    repo.edit(next(iter(repo.desks)))

    answer = office.done("task_complete", role="dev", result="done")

    assert "uncommitted" in answer["warnings"][0]


def test_a_push_to_the_remote_is_said(office: Office) -> None:
    office.doing()
    office.work.repo(office.project).remote = {}

    assert office.done("task_complete", role="dev", result="done")["pushed"] is True


def test_a_pass_that_conflicts_becomes_a_fail_with_the_paths(office: Office) -> None:
    issue = office.testing()
    repo = office.work.repo(office.project)
    repo.conflicts[office.branch(issue)] = ("src/footer.py",)
    base = list(repo.base)

    answer = office.done("task_complete", role="qa", result="pass", summary="Seen it")

    assert (answer["result"], answer["requested"], answer["paths"]) == ("fail", "pass", ["src/footer.py"])
    assert answer["nextAction"] == "dev_fix"
    assert office.states(issue) == (State.TO_IMPROVE,)
    assert repo.base == base
    assert "src/footer.py" in office.comments(issue)[-1]


def test_a_pass_of_an_older_commit_becomes_a_fail(office: Office) -> None:
    issue = office.testing()
    newer = office.commit(issue)

    answer = office.done("task_complete", role="qa", result="pass")

    assert (answer["result"], answer["requested"]) == ("fail", "pass")
    assert newer in answer["reason"]


def test_a_pass_is_left_to_others_to_merge_where_they_do(office: Office) -> None:
    issue = office.testing()
    office.change(integration=Integration.HUMAN)
    repo = office.work.repo(office.project)
    base = list(repo.base)

    answer = office.done("task_complete", role="qa", result="pass")

    assert repo.base == base
    assert (answer["integration"], answer["merged"]) == ("human", None)
    assert office.states(issue) == (State.DONE,)


def test_the_same_report_again_answers_the_first_outcome(office: Office) -> None:
    issue = office.doing()
    report: dict[str, Any] = {"role": "dev", "result": "done", "summary": "Ready", "issueId": issue, "attempt": 1}
    first = office.done("task_complete", **report)
    before = office.snapshot()

    assert office.done("task_complete", **report) == {**first, "repeated": True}
    assert office.snapshot() == before


@pytest.mark.parametrize("names_issue", [True, False])
def test_the_same_report_again_needs_no_attempt(office: Office, names_issue: bool) -> None:
    issue = office.doing()
    report: dict[str, Any] = {"role": "dev", "result": "done", "summary": "Ready"}
    first = office.done("task_complete", **report)
    if names_issue:
        report["issueId"] = issue

    assert office.done("task_complete", **report) == {**first, "repeated": True}


def test_another_report_for_an_attempt_that_has_one_is_stale(office: Office) -> None:
    issue = office.doing()
    office.done("task_complete", role="dev", result="done", summary="Ready", issueId=issue, attempt=1)

    message = refuses(office, "stale_attempt", role="dev", result="blocked", issueId=issue, attempt=1)

    assert "reported done already" in message


def test_a_seat_of_the_original_without_an_attempt_can_be_completed(office: Office) -> None:
    issue = office.seed(state=State.DOING)
    seat = Seat(active=True, issue_id=str(issue), model="medior", sessions={"medior": "agent:main:subagent:1"})
    office.change(dev=seat)

    answer = office.done("task_complete", role="dev", result="done", summary="Old work")

    assert answer["attempt"] == 1
    assert office.states(issue) == (State.TO_TEST,)
    assert not office.seat("dev").active


def test_a_worker_must_name_its_attempt(office: Office) -> None:
    issue = office.doing()
    before = office.snapshot()

    answer = office.call("task_complete", office.worker(), role="dev", result="done", issueId=issue)

    assert answer["error"]["code"] == "invalid_arguments"
    assert "task message" in answer["error"]["hint"]
    assert office.snapshot() == before


def test_an_attempt_without_its_issue_means_the_seats(office: Office) -> None:
    issue = office.doing()

    assert office.done("task_complete", role="dev", result="done", attempt=1)["issueId"] == issue


@pytest.mark.parametrize("integration", [Integration.HUMAN, Integration.WORKER])
def test_a_pass_that_devclaw_does_not_merge_says_who_has_to(office: Office, integration: Integration) -> None:
    office.change(integration=integration)
    office.testing()
    heard = office.hear()

    answer = office.done("task_complete", role="qa", result="pass", summary="ok")

    assert answer["mergeAwaited"] is True
    assert answer["merged"] is None
    assert "has yet to merge its work into main" in heard[-1].announcement.text
