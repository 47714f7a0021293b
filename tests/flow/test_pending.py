"""What waits: kept over crashes, told in words, settled by whoever comes next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from devclaw_py.model.pipeline import State
from devclaw_py.model.project import Project
from devclaw_py.operations.completion_steps import COMPLETE
from devclaw_py.operations.update_steps import UPDATE
from devclaw_py.work.base import MergePlan
from tests.conftest import GROUP, Office, make_office

AFTER_REPORT = [point for point in COMPLETE.points if not point.endswith("close")]


@pytest.fixture(params=[False, True], ids=["take-and-put", "swap"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Office:
    """An office with nothing going on, on a tracker that moves an issue in two writes and on one that does in one."""
    return make_office(tmp_path, swaps=request.param)


@pytest.mark.parametrize("point", AFTER_REPORT)
@pytest.mark.parametrize("result", ["pass", "fail"])
def test_a_report_whose_process_is_killed_is_carried_out_by_the_next_call(
    office: Office, result: str, point: str
) -> None:
    issue = office.testing()
    said = len(office.comments(issue))
    office.kill_at(point)
    office.killed("task_complete", role="qa", result=result, summary="My words")

    answer = office.done("task_create", title="Anything")

    assert answer["settled"] == [f"task_complete of #{issue} was settled"]
    assert office.states(issue) == ((State.DONE,) if result == "pass" else (State.TO_IMPROVE,))
    assert len(office.comments(issue)) == said + 1
    assert not office.seat("qa").active


@pytest.mark.parametrize("point", UPDATE.points)
def test_an_update_whose_process_is_killed_is_whole_or_undone(office: Office, point: str) -> None:
    issue = office.doing()
    office.kill_at(point)
    office.killed("task_update", issueId=issue, state="Done")

    office.done("task_create", title="Anything")

    moved = office.states(issue) == (State.DONE,)
    assert moved or office.states(issue) == (State.DOING,)
    assert office.seat("dev").active is not moved
    assert office.tracker.get(issue).closed is moved


def test_a_report_that_still_waits_is_said(office: Office) -> None:
    office.testing()
    office.work.repo(office.project).waiting = "the main checkout has tracked changes"
    office.done("task_complete", role="qa", result="pass")
    office.clock.sleep(31)

    answer = office.done("task_create", title="Anything")

    assert "task_complete of #1 still waits" in answer["settled"][0]
    assert "tracked changes" in answer["settled"][0]


def test_chaining_follows_a_report_that_waited(office: Office) -> None:
    office.change(auto_chain=True)
    issue = office.doing()
    tracker = office.faulty_tracker()
    tracker.down()
    office.done("task_complete", role="dev", result="done")
    tracker.up()
    office.clock.sleep(31)

    answer = office.done("task_create", title="Anything")

    assert answer["followed"][0]["dispatched"] is True
    assert office.states(issue) == (State.TESTING,)


def test_a_person_who_moves_a_waiting_issue_wins(office: Office) -> None:
    issue = office.testing()
    office.work.repo(office.project).waiting = "the main checkout has tracked changes"
    office.done("task_complete", role="qa", result="pass", summary="Seen it")
    office.tracker.human_moves(issue, State.REFINING)
    office.work.repo(office.project).waiting = ""
    office.clock.sleep(31)

    office.done("task_create", title="Anything")

    assert office.states(issue) == (State.REFINING,)
    assert office.work.repo(office.project).publications == []


def test_waiting_reports_of_two_issues_do_not_hold_each_other(office: Office) -> None:
    first = office.testing("First")
    repo = office.work.repo(office.project)
    repo.waiting = "the main checkout has tracked changes"
    office.done("task_complete", role="qa", result="pass")
    second = office.testing("Second")
    report: dict[str, Any] = {"role": "qa", "result": "pass"}
    assert office.done("task_complete", **report)["pending"]
    repo.waiting = ""
    office.clock.sleep(61)

    office.done("task_create", title="Anything")

    assert office.states(first) == office.states(second) == (State.DONE,)
    assert len(repo.publications) == 2


def waiting(office: Office) -> int:
    """Have a pass that waits for the main checkout."""
    issue = office.testing()
    office.work.repo(office.project).waiting = "the main checkout has tracked changes"
    answer = office.done("task_complete", role="qa", result="pass", summary="Seen it", attempt=2, issueId=issue)
    assert answer["pending"]
    assert "tracked changes" in answer["reason"]
    return issue


def test_a_pass_into_a_dirty_checkout_waits_with_the_label_and_without_the_seat(office: Office) -> None:
    issue = waiting(office)

    assert office.states(issue) == (State.TESTING,)
    assert not office.seat("qa").active
    assert not office.tracker.get(issue).closed


def test_a_waiting_report_keeps_its_issue(office: Office) -> None:
    issue = waiting(office)

    assert office.refused("task_update", issueId=issue, state="Done") == "issue_claimed"


def test_a_waiting_report_does_not_keep_the_role(office: Office) -> None:
    waiting(office)

    office.done("task_pickup", issueId=office.seed("Other", State.TO_TEST), role="qa")


def test_the_group_hears_once_that_a_report_waits(office: Office) -> None:
    told = office.hear()
    issue = waiting(office)
    for _ in range(3):
        office.clock.sleep(3600)
        office.done("task_comment", issueId=issue, body="Still here")

    assert len([row for row in told if row.key.endswith(":waits")]) == 1


def test_a_waiting_report_is_settled_by_the_next_call_when_its_time_has_come(office: Office) -> None:
    issue = waiting(office)
    office.work.repo(office.project).waiting = ""
    office.clock.sleep(31)

    answer = office.done("task_create", title="Anything")

    assert answer["settled"] == [f"task_complete of #{issue} was settled"]
    assert office.states(issue) == (State.DONE,)
    assert office.tracker.get(issue).closed


def test_the_same_report_while_the_first_waits_is_repeated_and_waits(office: Office) -> None:
    issue = waiting(office)

    answer = office.done("task_complete", role="qa", result="pass", summary="Seen it", attempt=2, issueId=issue)

    assert (answer["pending"], answer["repeated"]) == (True, True)
    assert len(office.app.store.journal.intents()) == 1


def test_a_report_is_kept_while_the_tracker_is_down(office: Office) -> None:
    issue = office.doing()
    tracker = office.faulty_tracker()
    tracker.down()

    answer = office.done("task_complete", role="dev", result="done", summary="Ready")

    assert answer["pending"] is True
    assert not office.seat("dev").active
    tracker.up()
    office.clock.sleep(31)
    office.done("task_create", title="Anything")
    assert office.states(issue) == (State.TO_TEST,)


@pytest.mark.parametrize("after", [False, True], ids=["before-acting", "after-acting"])
@pytest.mark.parametrize("port", ["tracker", "work"])
@pytest.mark.parametrize("number", range(1, 10))
@pytest.mark.parametrize("result", ["pass", "fail", "done"])
def test_a_report_is_carried_out_once_whichever_call_fails(
    office: Office, result: str, number: int, port: str, after: bool
) -> None:
    issue = office.doing() if result == "done" else office.testing()
    role, target = ("dev", State.TO_TEST) if result == "done" else ("qa", State.DONE)
    target = State.TO_IMPROVE if result == "fail" else target
    said = len(office.comments(issue))
    flaky = office.flaky_tracker() if port == "tracker" else office.flaky_work()
    flaky.fail(number, after_acting=after)

    office.done("task_complete", role=role, result=result, summary="My words", issueId=issue)
    flaky.fails = None
    office.clock.sleep(31)
    office.done("task_create", title="Anything")

    assert office.states(issue) == (target,), flaky.calls
    assert len(office.comments(issue)) == said + 1, flaky.calls
    assert not office.seat(role).active
    assert len(office.work.repo(office.project).publications) == (1 if result == "pass" else 0)


def test_a_busy_project_does_not_lose_a_report(office: Office) -> None:
    issue = office.doing()

    with office.app.store.hold(f"project:{GROUP}", wait_s=1, holder="somebody"):
        answer = office.done("task_complete", role="dev", result="done", summary="Ready")

    assert answer["pending"] is True
    assert "another operation" in answer["reason"]
    office.done("task_create", title="Anything")
    assert office.states(issue) == (State.TO_TEST,)


def test_a_report_that_comes_before_the_pickup_has_ended_is_kept(office: Office) -> None:
    """A worker that is faster than its pickup's last rows ends with a free seat, not a busy ghost."""
    answers: list[dict[str, Any]] = []
    accept = office.terminal.worker

    def hasty(name: str, text: str) -> None:
        accept(name, text)
        if text.startswith("task"):
            report = {"role": "dev", "result": "done", "summary": "Quick", "issueId": 1, "attempt": 1}
            answers.append(office.call("task_complete", office.worker(), **report))

    office.terminal.worker = hasty
    issue = office.doing(commits=False)

    assert answers[0]["pending"] is True
    office.done("task_create", title="Anything")
    assert office.states(issue) == (State.TO_TEST,)
    assert not office.seat("dev").active


@pytest.fixture
def overtaken(office: Office, monkeypatch: pytest.MonkeyPatch) -> int:
    """A pass whose base branch moves, and whose main checkout becomes dirty, right before its merge is published."""
    issue, repo, publish = office.testing(), office.work.repo(office.project), office.work.publish
    theirs = repo.record(repo.base[-1])

    def late(project: Project, plan: MergePlan) -> None:
        if repo.base[-1] != theirs:
            repo.base.append(theirs)
            repo.waiting = "the main checkout has tracked changes"
        publish(project, plan)

    monkeypatch.setattr(office.work, "publish", late)
    assert office.done("task_complete", role="qa", result="pass", summary="ok")["pending"]
    return issue


def test_a_merge_that_waits_after_the_take_keeps_its_label(office: Office, overtaken: int) -> None:
    assert office.states(overtaken) == (State.TESTING,)
    assert not office.seat("qa").active


def test_a_merge_that_waited_after_the_take_is_made_once_it_can_be(office: Office, overtaken: int) -> None:
    office.work.repo(office.project).waiting = ""
    office.clock.sleep(31)
    office.done("session_health", autoFix=True)

    assert office.states(overtaken) == (State.DONE,)
    assert office.app.store.journal.intents() == []


def test_a_person_who_moves_an_issue_whose_merge_waits_wins(office: Office, overtaken: int) -> None:
    office.tracker.human_moves(overtaken, State.PLANNING)
    office.work.repo(office.project).waiting = ""
    office.clock.sleep(31)
    office.done("session_health", autoFix=True)

    assert office.states(overtaken) == (State.PLANNING,)
    assert office.work.repo(office.project).publications == []
