"""What forges do and the local tracker does not: locked conversations, and lists that are behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from devclaw_py.errors import TrackerUnavailable
from devclaw_py.model.pipeline import Provider, State
from devclaw_py.model.task import Comment, Task
from devclaw_py.trackers.memory import MemoryTracker
from tests.conftest import GROUP, Office


def test_a_report_on_a_locked_issue_is_carried_out_and_its_comment_is_left_out_aloud(office: Office) -> None:
    issue = office.doing()
    office.tracker.human_locks(issue)

    answer = office.done("task_complete", role="dev", result="done", summary="Footer stands")

    assert office.states(issue) == (State.TO_TEST,)
    assert "is locked" in " ".join(answer["warnings"])


def test_a_comment_on_a_locked_issue_is_refused(office: Office) -> None:
    issue = office.seed()
    office.tracker.human_locks(issue)

    assert office.refused("task_comment", issueId=issue, body="Hello") == "tracker_denied"


def test_a_reopened_issue_that_carries_done_is_left_to_people(office: Office) -> None:
    issue = office.tracker.seed("An issue", labels=["Done"])

    for _ in range(3):
        assert office.done("session_health", autoFix=True)["issues"] == []

    assert office.states(issue) == (State.DONE,)
    assert not office.tracker.get(issue).closed
    assert office.refused("task_pickup", issueId=issue, role="dev") == "wrong_state"


class Lagging(MemoryTracker):
    """Makes things and does not say so, and lists them from the second look on."""

    looks = 0

    def create(self, title: str, body: str, *, labels: Sequence[str], assignees: Sequence[str] = ()) -> Task:
        super().create(title, body, labels=labels, assignees=assignees)
        raise TrackerUnavailable("the answer was lost")

    def comment(self, number: int, body: str) -> Comment:
        super().comment(number, body)
        raise TrackerUnavailable("the answer was lost")

    def list_all(self, *, newest: int | None = None) -> list[Task]:
        self.looks += 1
        return super().list_all(newest=newest) if self.looks > 1 else []

    def comments(self, number: int) -> list[Comment]:
        self.looks += 1
        return super().comments(number) if self.looks > 1 else []


@pytest.fixture
def lagging(office: Office) -> Lagging:
    """The tracker of an office whose project is on a forge."""
    tracker = Lagging("shop", clock=office.clock)
    office.app = replace(office.app, open_tracker=lambda project: tracker)
    office.app.store.registry.change(GROUP, lambda project: project.model_copy(update={"provider": Provider.GITHUB}))
    return tracker


def test_an_issue_whose_answer_was_lost_is_found_at_the_second_look(office: Office, lagging: Lagging) -> None:
    answer = office.call("task_create", title="Add a footer")

    assert answer["success"], answer
    assert [task.number for task in lagging.list_all()] == [1]


def test_a_comment_whose_answer_was_lost_is_found_at_the_second_look(office: Office, lagging: Lagging) -> None:
    issue = lagging.seed("An issue", labels=["To Do"])

    answer = office.call("task_comment", issueId=issue, body="Hello")

    assert answer["success"], answer
    assert len(lagging.comments(issue)) == 1


class Behind(MemoryTracker):
    """Lists nothing, as a forge whose list is behind, or one on which somebody took the label of managed issues off."""

    silent = False

    def list_all(self, *, newest: int | None = None) -> list[Task]:
        return []

    def get(self, number: int) -> Task:
        if self.silent:
            raise TrackerUnavailable("it does not answer")
        return super().get(number)


@pytest.mark.parametrize(("silent", "kinds"), [(False, []), (True, ["issue_unknown"])])
def test_a_worker_keeps_an_issue_that_the_list_alone_does_not_have(
    office: Office, silent: bool, kinds: list[str]
) -> None:
    issue = office.doing()
    behind = Behind("shop", clock=office.clock)
    behind.__dict__.update(office.tracker.__dict__)
    behind.silent = silent
    office.app = replace(office.app, open_tracker=lambda project: behind)

    found = office.done("session_health", autoFix=True)["issues"]

    assert [each["type"] for each in found] == kinds
    assert office.seat("dev").issue == issue
