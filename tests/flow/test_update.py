"""task_update: any move but into an active state, with the seat and the worker following."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.model.pipeline import State
from tests.conftest import Office

FIELDS = {
    "success",
    "issueId",
    "issueTitle",
    "state",
    "changed",
    "labelTransition",
    "released",
    "project",
    "groupId",
    "announcement",
}
ENTERED = [state for state in State if state not in (State.DOING, State.TESTING)]


def refuses(office: Office, code: str, **arguments: Any) -> dict[str, Any]:
    """Update in vain; return the error."""
    before = office.snapshot()
    answer = office.call("task_update", **arguments)
    assert not answer["success"], answer
    assert answer["error"]["code"] == code, answer
    assert office.snapshot() == before
    return dict(answer["error"])


@pytest.mark.parametrize("target", ENTERED)
@pytest.mark.parametrize("source", ENTERED)
def test_an_issue_moves_from_any_state_to_any_other(office: Office, source: State, target: State) -> None:
    issue = office.seed(state=source, closed=source is State.DONE)

    answer = office.done("task_update", issueId=issue, state=target.value)

    assert answer["changed"] is (source is not target)
    assert office.states(issue) == (target,)
    assert office.tracker.get(issue).closed is (target is State.DONE)


def test_an_update_answers_with_all_its_fields(office: Office) -> None:
    issue = office.seed()

    answer = office.done("task_update", issueId=issue, state="Planning", reason="not yet")

    assert set(answer) == FIELDS
    assert answer["labelTransition"] == "To Do → Planning"
    assert answer["announcement"].startswith("🔄 Updated #1: To Do → Planning (not yet)")


def test_the_same_state_changes_nothing(office: Office) -> None:
    issue = office.seed()
    before = office.snapshot()

    answer = office.done("task_update", issueId=issue, state="To Do")

    assert answer["changed"] is False
    assert office.snapshot() == before


def test_a_closed_issue_is_reopened_by_naming_its_state(office: Office) -> None:
    issue = office.seed(closed=True)

    office.done("task_update", issueId=issue, state="To Do")

    assert not office.tracker.get(issue).closed


@pytest.mark.parametrize("state", ["Doing", "Testing"])
def test_an_active_state_is_refused_with_the_tool_that_enters_it(office: Office, state: str) -> None:
    error = refuses(office, "wrong_state", issueId=office.seed(), state=state)

    assert "task_pickup" in error["hint"]


def test_an_issue_in_no_queue_is_to_be_queued_first(office: Office) -> None:
    error = refuses(office, "wrong_state", issueId=office.seed(state=State.PLANNING), state="Doing")

    assert error["hint"] == "move it to To Do with task_update, then call task_pickup with role dev"


def test_an_unknown_state_is_refused(office: Office) -> None:
    refuses(office, "invalid_arguments", issueId=office.seed(), state="Someday")


def test_an_unknown_issue_is_refused(office: Office) -> None:
    refuses(office, "invalid_arguments", issueId=99, state="Planning")


@pytest.mark.parametrize("labels", [(), ("To Do", "Doing"), ("Doing", "To Test", "Done"), ("to do", "Planning")])
def test_an_inconsistent_issue_has_one_state_afterwards(office: Office, labels: tuple[str, ...]) -> None:
    issue = office.tracker.seed("Broken", labels=("bug", *labels))

    office.done("task_update", issueId=issue, state="To Do")

    assert office.states(issue) == (State.TO_DO,)
    assert "bug" in office.tracker.get(issue).labels


def test_a_worker_that_holds_the_task_is_released_and_told(office: Office) -> None:
    issue = office.doing()

    answer = office.done("task_update", issueId=issue, state="Planning", reason="later")

    assert answer["released"] == "dev"
    assert not office.seat("dev").active
    assert f"#{issue} was moved to Planning" in office.terminal.typed("shop-dev-medior")[-1]


def test_a_seat_that_holds_another_task_keeps_it(office: Office) -> None:
    held = office.doing()

    office.done("task_update", issueId=office.seed("Other"), state="Planning")

    assert office.seat("dev").issue == held


def test_a_released_seat_is_filled_by_what_waits(office: Office) -> None:
    issue = office.doing()
    waits = office.done("task_create", title="Next", pickup=True)["issueId"]

    office.done("task_update", issueId=issue, state="Planning")

    assert office.seat("dev").issue == waits


def test_the_active_state_may_be_named_for_the_issue_that_a_seat_holds(office: Office) -> None:
    issue = office.doing()
    office.tracker.human_labels(issue, ["Doing", "To Do"])

    office.done("task_update", issueId=issue, state="Doing")

    assert office.states(issue) == (State.DOING,)
    assert office.seat("dev").issue == issue


@pytest.mark.parametrize("after", [False, True], ids=["before-acting", "after-acting"])
@pytest.mark.parametrize("number", range(1, 9))
def test_an_update_that_fails_is_undone_or_carried_out(office: Office, number: int, after: bool) -> None:
    issue = office.doing()
    tracker = office.flaky_tracker()
    tracker.fail(number, after_acting=after)

    answer = office.call("task_update", issueId=issue, state="Done")
    tracker.fails = None
    office.clock.sleep(31)
    office.done("task_create", title="Anything")

    moved = answer["success"]
    assert office.states(issue) == ((State.DONE,) if moved else (State.DOING,)), tracker.calls
    assert office.seat("dev").active is not moved
    assert office.tracker.get(issue).closed is moved


@pytest.mark.parametrize("number", range(2, 6))
def test_a_human_who_moves_during_an_update_keeps_the_label(office: Office, number: int) -> None:
    issue = office.seed()
    tracker = office.flaky_tracker()
    tracker.before[number] = lambda: office.tracker.human_moves(issue, State.REFINING)

    answer = office.call("task_update", issueId=issue, state="Planning")

    if len(tracker.calls) >= number:
        assert answer["error"]["code"] == "conflict", tracker.calls
        assert office.states(issue) == (State.REFINING,)


def test_the_reason_stands_in_the_audit_log(office: Office) -> None:
    office.done("task_update", issueId=office.seed(), state="Planning", reason="not yet")

    assert office.lines("task_update")[0]["reason"] == "not yet"


def test_a_worker_is_released_when_a_person_has_moved_its_issue_there_before(office: Office) -> None:
    issue = office.doing()
    office.tracker.human_moves(issue, State.PLANNING)

    answer = office.done("task_update", issueId=issue, state="Planning")

    assert (answer["changed"], answer["released"]) == (False, "dev")
    assert not office.seat("dev").active
    assert office.states(issue) == (State.PLANNING,)
    assert any("stop working" in text for text in office.terminal.panes["shop-dev-medior"].typed)


@pytest.mark.parametrize("alive", [True, False])
def test_an_update_says_whether_the_worker_could_be_told(office: Office, alive: bool) -> None:
    issue = office.doing()
    if not alive:
        office.terminal.kill("shop-dev-medior")

    answer = office.done("task_update", issueId=issue, state="Planning")

    assert answer["workerTold"] is alive
    assert office.lines("task_update")[-1]["workerTold"] is alive


def test_a_worker_that_cannot_be_told_keeps_its_issue_until_it_is(office: Office) -> None:
    issue = office.doing()
    office.terminal.down()

    answer = office.done("task_update", issueId=issue, state="To Test")

    assert answer["pending"]
    assert office.refused("task_pickup", issueId=issue, role="qa") == "issue_claimed"
    office.terminal.up()
    office.clock.sleep(60)
    office.done("task_pickup", issueId=issue, role="qa")
    assert any("stop working" in text for text in office.terminal.panes["shop-dev-medior"].typed)
