"""What waits: kept over crashes, told in words, settled by whoever comes next."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.model.pipeline import State
from devclaw_py.operations.completion_steps import COMPLETE
from devclaw_py.operations.update_steps import UPDATE
from tests.conftest import Office

AFTER_REPORT = [point for point in COMPLETE.points if not point.endswith("close")]


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
