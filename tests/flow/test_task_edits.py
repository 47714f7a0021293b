"""A person edits an issue while a worker has it."""

from __future__ import annotations

from devclaw_py.night.heartbeat import beat
from tests.conftest import Office

DEV = "shop-dev-medior"
TOLD = "notice The text of task #{} was changed by a person. If you hold it, read it again with task_context."


def told(office: Office) -> list[str]:
    return [text for text in office.terminal.typed(DEV) if "was changed by a person" in text]


def test_the_worker_is_told_once_for_each_edit(office: Office) -> None:
    issue = office.doing()
    beat(office.app)
    assert told(office) == []

    office.tracker.human_edits(issue, body="With a map")
    beat(office.app)
    beat(office.app)
    assert told(office) == [TOLD.format(issue)]

    office.tracker.human_edits(issue, title="Add a map")
    beat(office.app)
    assert len(told(office)) == 2
    assert len(office.lines("worker_told_of_edit")) == 2


def test_a_comment_or_a_label_is_no_edit(office: Office) -> None:
    issue = office.doing()
    office.done("task_comment", issueId=issue, body="A remark")
    office.tracker.human_labels(issue, ["Doing", "urgent"])

    beat(office.app)

    assert told(office) == []


def test_a_worker_that_cannot_be_told_now_is_told_later(office: Office) -> None:
    issue = office.doing()
    office.tracker.human_edits(issue, body="With a map")
    office.terminal.fail_next("paste")
    beat(office.app)

    beat(office.app)

    assert told(office) == [TOLD.format(issue)]


def test_the_task_shows_the_edit_and_says_so(office: Office) -> None:
    issue = office.doing()
    office.tracker.human_edits(issue, body="With a map")

    answer = office.done("task_context", office.worker(), issueId=issue)

    assert "With a map" in answer["task"]
    assert "title or description were edited since the task was told" in answer["task"]


def test_an_edit_of_a_task_that_was_moved_is_not_told_to_who_lost_it(office: Office) -> None:
    issue = office.doing()
    office.tracker.human_edits(issue, body="With a map")
    office.done("task_update", issueId=issue, state="Planning")

    beat(office.app)

    assert told(office) == []
