"""Pickups that should follow: kept while there is hope, dropped when there is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from devclaw_py.model.pipeline import State
from devclaw_py.rules.schedule import FIRST_PAUSE_S, LONGEST_PAUSE_S
from tests.conftest import Office


@pytest.fixture
def waiting(office: Office) -> Office:
    """An office in which dev holds #1 and a pickup of #2 waits."""
    office.doing()
    assert office.done("task_create", title="Next", pickup=True)["pickup"]["waiting"]
    return office


def test_a_wish_is_dropped_when_its_issue_leaves_the_queue(waiting: Office) -> None:
    waiting.tracker.human_moves(2, State.PLANNING)

    answer = waiting.done("task_complete", role="dev", result="done")

    assert answer["followed"][0]["waiting"] is False
    assert waiting.app.store.journal.wishes() == []
    assert waiting.lines("wish_dropped")[0]["issue"] == 2


@pytest.mark.parametrize("gone", ["deleted", "closed"])
def test_a_wish_is_dropped_when_its_issue_is_gone(waiting: Office, gone: str) -> None:
    waiting.tracker.delete(2) if gone == "deleted" else waiting.tracker.human_closes(2)

    waiting.done("task_complete", role="dev", result="done")

    assert waiting.app.store.journal.wishes() == []


def test_a_wish_outlives_a_tracker_that_is_down(waiting: Office) -> None:
    tracker = waiting.faulty_tracker()
    tracker.down()
    waiting.done("task_complete", role="dev", result="done")
    assert len(waiting.app.store.journal.wishes()) == 1

    tracker.up()
    waiting.clock.sleep(31)
    waiting.done("task_create", title="Anything")

    assert waiting.seat("dev").issue == 2


def test_a_wish_outlives_a_branch_that_is_checked_out_elsewhere(waiting: Office) -> None:
    repo = waiting.work.repo(waiting.project)
    repo.foreign[waiting.branch(2)] = Path("/home/mia/shop")

    answer = waiting.done("task_complete", role="dev", result="done")

    assert answer["followed"][0]["waiting"] is True
    assert "/home/mia/shop" in answer["followed"][0]["reason"]
    repo.foreign.clear()
    waiting.clock.sleep(FIRST_PAUSE_S)
    waiting.done("task_create", title="Anything")
    assert waiting.seat("dev").issue == 2


def test_a_wish_is_fulfilled_by_anybodys_pickup(waiting: Office) -> None:
    waiting.tracker.human_moves(1, State.PLANNING)
    waiting.call("task_complete", role="dev", result="done")

    assert waiting.app.store.journal.wishes() == []
    assert waiting.seat("dev").issue == 2


def test_wishes_are_shown_in_the_status(waiting: Office) -> None:
    assert waiting.done("queue_status")["projects"][0]["wishes"] == [{"issueId": 2, "role": "dev"}]


def test_a_refused_call_tries_no_wish(waiting: Office) -> None:
    assert "followed" not in waiting.call("task_pickup", issueId=2, role="dev")


def test_a_wish_outlives_a_second_label_on_its_issue(waiting: Office) -> None:
    waiting.tracker.human_labels(2, ["To Do", "Planning"])

    answer = waiting.done("task_complete", role="dev", result="done")

    assert answer["followed"][0]["waiting"] is True
    assert len(waiting.app.store.journal.wishes()) == 1


def test_the_group_is_told_of_a_wish_that_is_dropped(waiting: Office) -> None:
    heard = waiting.hear()
    waiting.tracker.human_moves(2, State.PLANNING)

    waiting.done("task_complete", role="dev", result="done")

    assert any("No DEV pickup of #2 follows" in row.announcement.text for row in heard)
    assert waiting.lines("wish_dropped")[0]["project"] == "shop"


def test_a_pickup_that_was_refused_to_a_wish_has_one_line_for_each_reason(waiting: Office) -> None:
    def chained() -> list[object]:
        return [line["error"] for line in waiting.lines("task_pickup") if line["caller"] == "chain" and not line["ok"]]

    assert chained() == ["worker_busy"]
    waiting.done("task_create", title="Anything")
    assert chained() == ["worker_busy"]

    waiting.tracker.human_labels(2, ["To Do", "Planning"])
    waiting.done("task_complete", role="dev", result="done")

    assert chained() == ["worker_busy", "wrong_state"]


def test_a_qa_that_stays_silent_is_not_given_its_task_for_ever(office: Office) -> None:
    office.change(auto_chain=True)
    issue = office.doing()
    office.done("task_complete", role="dev", result="done")
    limit = office.app.settings.limits.attempts

    for _ in range(2 * limit):
        seat = office.seat("qa")
        if seat.active:
            office.agent.endings[f"{issue}.{seat.attempt}"] = "its program ended with exit code 1"
        office.call("session_health", autoFix=True)
        office.clock.sleep(LONGEST_PAUSE_S)

    tested = [offer for session, offer in office.agent.received if session == "shop-qa-qa"]
    assert len(tested) == limit
    assert office.states(issue) == (State.TO_TEST,)
