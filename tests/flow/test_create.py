"""task_create: which states, byte-exact text, and the pickup that follows."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.model.pipeline import State
from tests.conftest import Office

FIELDS = {"success", "issue", "issueId", "project", "groupId", "provider", "pickup", "announcement"}


def refuses(office: Office, code: str, **arguments: Any) -> str:
    """Create in vain; return the message."""
    before = office.snapshot()
    answer = office.call("task_create", **arguments)
    assert not answer["success"], answer
    assert answer["error"]["code"] == code, answer
    assert office.snapshot() == before
    return str(answer["error"]["message"])


def test_an_issue_is_created_in_planning(office: Office) -> None:
    answer = office.done("task_create", title="Add a footer", description="With a year")

    assert set(answer) == FIELDS
    assert set(answer["issue"]) == {"id", "title", "body", "url", "label"}
    assert (answer["issue"]["label"], answer["issue"]["body"], answer["pickup"]) == ("Planning", "With a year", False)
    assert office.states(answer["issueId"]) == (State.PLANNING,)
    assert answer["announcement"].startswith("📋 Created #1: Add a footer (Planning)")


@pytest.mark.parametrize("state", [State.TO_DO, State.TO_TEST, State.TO_IMPROVE, State.REFINING, State.PLANNING])
def test_an_issue_may_be_created_in_any_state_that_is_waited_in(office: Office, state: State) -> None:
    answer = office.done("task_create", title="Add a footer", label=state.value)

    assert office.states(answer["issueId"]) == (state,)
    assert not office.tracker.get(answer["issueId"]).closed


def test_done_creates_a_closed_issue(office: Office) -> None:
    issue = office.done("task_create", title="Was done by hand", label="Done")["issueId"]

    assert office.states(issue) == (State.DONE,)
    assert office.tracker.get(issue).closed


@pytest.mark.parametrize("state", ["Doing", "Testing"])
def test_an_active_state_is_refused(office: Office, state: str) -> None:
    assert "only a pickup" in refuses(office, "wrong_state", title="Add a footer", label=state)


@pytest.mark.parametrize("state", ["Planning", "To Test", "Done", "Refining"])
def test_a_pickup_from_a_state_that_dev_does_not_pick_up_from_is_refused(office: Office, state: str) -> None:
    assert "To Do" not in refuses(office, "wrong_state", title="Add a footer", label=state, pickup=True)


@pytest.mark.parametrize("title", ["", " ", "\n\t", "\x00\x1b"])
def test_a_blank_title_is_refused(office: Office, title: str) -> None:
    assert "blank" in refuses(office, "invalid_arguments", title=title)


def test_an_unknown_state_is_refused_with_the_known_ones(office: Office) -> None:
    assert "To Do" in refuses(office, "invalid_arguments", title="Add", label="Someday")


@pytest.mark.parametrize(
    "body", ['It\'s $(id) `id` "quoted"\n\n- ünïcödé 漢字 🦀\n\ttabbed', "$HOME %s {x} \\n", "---\ntitle: no\n---\n"]
)
def test_a_description_is_kept_as_it_was_written(office: Office, body: str) -> None:
    issue = office.done("task_create", title="Add a footer", description=body)["issueId"]

    assert office.tracker.get(issue).body.startswith(body)


def test_assignees_are_assigned(office: Office) -> None:
    issue = office.done("task_create", title="Add a footer", assignees=["mia", "tom"])["issueId"]

    assert office.tracker.get(issue).assignees == ("mia", "tom")


def test_a_pickup_is_really_dispatched(office: Office) -> None:
    answer = office.done("task_create", title="Add a footer", pickup=True)

    assert answer["pickup"]["dispatched"] is True
    assert office.states(answer["issueId"]) == (State.DOING,)
    assert office.seat("dev").issue == answer["issueId"]
    assert len(office.agent.received) == 1


def test_a_pickup_waits_while_dev_is_busy(office: Office) -> None:
    office.doing()

    answer = office.done("task_create", title="Next", pickup=True)

    assert (answer["pickup"]["dispatched"], answer["pickup"]["waiting"]) == (False, True)
    assert "already holds #1" in answer["pickup"]["reason"]
    assert office.states(answer["issueId"]) == (State.TO_DO,)


def test_a_pickup_that_waited_follows_when_dev_is_free(office: Office) -> None:
    office.doing()
    issue = office.done("task_create", title="Next", pickup=True)["issueId"]

    answer = office.done("task_complete", role="dev", result="done")

    assert answer["followed"][0]["issueId"] == issue
    assert answer["followed"][0]["dispatched"] is True
    assert office.seat("dev").issue == issue


@pytest.mark.parametrize("after", [False, True], ids=["before-acting", "after-acting"])
def test_an_issue_whose_creation_failed_is_there_once_or_not_at_all(office: Office, after: bool) -> None:
    tracker = office.faulty_tracker()
    tracker.arm("create", after=after)

    answer = office.call("task_create", title="Add a footer")

    made = len(office.tracker.list_all())
    if after:
        assert made == 1
        assert answer["success"], "it was created, and says so"
    else:
        assert made == 0
        assert answer["error"]["code"] == "tracker_unavailable"


def test_an_issue_that_cannot_be_closed_yet_is_pending(office: Office) -> None:
    tracker = office.faulty_tracker()
    tracker.arm("close", after=False)

    answer = office.done("task_create", title="Was done by hand", label="Done")

    assert (answer["pending"], answer["issueId"]) == (True, 1)
    office.clock.sleep(31)
    office.done("task_create", title="Anything")
    assert office.tracker.get(1).closed


def test_two_issues_of_the_same_moment_have_texts_of_their_own(office: Office) -> None:
    one = office.done("task_create", title="One", description="first")["issueId"]
    two = office.done("task_create", title="Two", description="second")["issueId"]

    assert office.tracker.get(one).body.startswith("first")
    assert office.tracker.get(two).body.startswith("second")
