"""An issue that is deleted in the tracker: whatever was under way with it ends, and is not tried for ever."""

from __future__ import annotations

import pytest

from devclaw_py.operations.creation_steps import COMMENT, CREATE
from devclaw_py.operations.pickup_steps import PICKUP
from devclaw_py.operations.update_steps import UPDATE
from tests.conftest import Office


def settled(office: Office) -> None:
    """Let the next process settle what is left."""
    office.clock.sleep(700)
    office.call("session_health", autoFix=True)


def test_a_report_about_a_deleted_issue_ends_as_a_conflict(office: Office) -> None:
    issue = office.doing()
    office.tracker.delete(issue)

    answer = office.call("task_complete", role="dev", result="done", summary="s")

    assert answer["error"]["code"] == "conflict"
    assert "deleted" in answer["error"]["message"]
    assert not office.seat("dev").active
    assert office.app.store.journal.intents() == []


@pytest.mark.parametrize("point", PICKUP.points[3:-1])
def test_a_pickup_of_an_issue_deleted_under_it_is_undone(office: Office, point: str) -> None:
    issue = office.seed()
    office.kill_at(point)
    office.killed("task_pickup", issueId=issue, role="dev", model="medior")

    office.tracker.delete(issue)
    settled(office)

    assert office.app.store.journal.intents() == []
    assert not office.seat("dev").active


@pytest.mark.parametrize("number", range(1, 8))
def test_a_deletion_during_a_pass_ends_the_report(office: Office, number: int) -> None:
    issue = office.testing()
    tracker = office.flaky_tracker()
    tracker.before[number] = lambda: office.tracker.delete(issue)

    office.call("task_complete", role="qa", result="pass", summary="s")

    assert office.app.store.journal.intents() == []
    assert not office.seat("qa").active


@pytest.mark.parametrize("number", range(1, 8))
def test_a_deletion_during_an_update_leaves_nothing_open(office: Office, number: int) -> None:
    issue = office.doing()
    tracker = office.flaky_tracker()
    tracker.before[number] = lambda: office.tracker.delete(issue)

    office.call("task_update", issueId=issue, state="Done")

    assert office.app.store.journal.intents() == []


@pytest.mark.parametrize("point", UPDATE.points[:-1])
def test_an_interrupted_update_of_a_deleted_issue_is_settled(office: Office, point: str) -> None:
    issue = office.doing()
    office.kill_at(point)
    office.killed("task_update", issueId=issue, state="Done")

    office.tracker.delete(issue)
    settled(office)

    assert office.app.store.journal.intents() == []


@pytest.mark.parametrize("point", [*CREATE.points[:-1], *COMMENT.points[:-1]])
def test_an_interrupted_creation_on_a_deleted_issue_is_settled(office: Office, point: str) -> None:
    issue = office.seed()
    office.kill_at(point)
    if point.startswith("create"):
        office.killed("task_create", title="New", label="Done")
    else:
        office.killed("task_comment", issueId=issue, body="hi")

    for task in office.tracker.list_all():
        office.tracker.delete(task.number)
    settled(office)

    assert office.app.store.journal.intents() == []
