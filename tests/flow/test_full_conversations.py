"""task_pickup into a session whose conversation is rather full, or full."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.agents.base import Compaction
from devclaw_py.rules.fullness import before_the_next_task
from devclaw_py.rules.handover import Earlier, text
from tests.conftest import Office

DEV = "shop-dev-medior"


def finish(office: Office, title: str = "Add a footer", **report: Any) -> int:
    """Have a task of the session picked up and reported."""
    issue = office.doing(title)
    office.done("task_complete", role="dev", **{"result": "done", "summary": f"{title} stands", **report})
    return issue


def pick_up(office: Office, title: str = "Second") -> dict[str, Any]:
    return office.done("task_pickup", issueId=office.seed(title), role="dev", model="medior")


@pytest.fixture
def worker(office: Office) -> Office:
    """An office whose worker has a conversation."""
    office.agent.used[DEV] = 0.0
    return office


@pytest.mark.parametrize(
    ("used", "action"),
    [(None, "keep"), (0.0, "keep"), (0.59, "keep"), (0.6, "compact"), (0.84, "compact"), (0.85, "fresh"), (1, "fresh")],
)
def test_what_is_done_before_the_next_task_depends_on_what_is_used(used: float | None, action: str) -> None:
    assert before_the_next_task(used, compact_percent=60, fresh_percent=85) == action


def test_a_limit_for_a_new_conversation_below_the_other_is_the_one_that_counts() -> None:
    assert before_the_next_task(0.5, compact_percent=60, fresh_percent=40) == "fresh"


def test_a_conversation_with_room_goes_on(worker: Office) -> None:
    finish(worker)
    worker.agent.used[DEV] = 0.5

    answer = pick_up(worker)

    assert (answer["sessionAction"], answer["context"]) == ("send", {"used": 0.5, "action": "keep"})
    assert worker.agent.compacted == []


def test_a_rather_full_one_is_compacted_before_the_task_is_offered(worker: Office) -> None:
    finish(worker)
    worker.agent.used[DEV] = 0.71

    answer = pick_up(worker)

    told = {"used": 0.71, "action": "compact", "compaction": "done"}
    assert (answer["sessionAction"], answer["context"]) == ("send", told)
    assert worker.agent.compacted == [DEV]
    assert worker.lines("task_pickup")[-1]["context"] == told
    assert "71 %" in answer["announcement"]


def test_the_limits_are_settings(tmp_path_factory: pytest.TempPathFactory) -> None:
    from devclaw_py.model.settings import LimitSettings, Settings
    from tests.conftest import make_office

    office = make_office(tmp_path_factory.mktemp("office"), settings=Settings(limits=LimitSettings(compact_percent=20)))
    office.agent.used[DEV] = 0.0
    finish(office)
    office.agent.used[DEV] = 0.3

    assert pick_up(office)["context"]["action"] == "compact"


def test_a_compaction_that_fails_does_not_keep_the_task_from_its_worker(worker: Office) -> None:
    finish(worker)
    worker.agent.used[DEV], worker.agent.compaction = 0.71, Compaction.FAILED

    answer = pick_up(worker)

    assert (answer["sessionAction"], answer["context"]["compaction"]) == ("send", "failed")
    assert worker.seat("dev").active
    assert "could not be compacted" in answer["announcement"]


def test_a_compaction_that_never_ends_gives_way_to_a_new_conversation(worker: Office) -> None:
    finish(worker)
    worker.agent.used[DEV], worker.agent.compaction = 0.71, Compaction.ENDLESS

    answer = pick_up(worker)

    told = {"used": 0.71, "action": "fresh", "compaction": "endless"}
    assert (answer["sessionAction"], answer["context"]) == ("spawn", told)
    assert worker.seat("dev").active


def test_a_full_one_is_left_and_the_first_task_of_the_new_one_hands_over(worker: Office) -> None:
    first = finish(worker, "Add a header", summary="It stands on the top")
    worker.agent.used[DEV] = 0.9

    answer = pick_up(worker)

    assert (answer["sessionAction"], answer["context"]) == ("spawn", {"used": 0.9, "action": "fresh"})
    message = worker.task_file()
    note = message.partition("<<<EARLIER")[2].partition("EARLIER>>>")[0]
    assert f"#{first} Add a header (attempt 1, branch {worker.branch(first)}): done. It stands on the top" in note
    assert "Your conversation is new." in message
    assert "hand-over" in answer["announcement"]


def test_the_second_task_of_the_new_conversation_hands_nothing_over(worker: Office) -> None:
    finish(worker)
    worker.agent.used[DEV] = 0.9
    finish(worker, "Second")
    assert "EARLIER" in worker.task_file()

    pick_up(worker, "Third")

    assert "EARLIER" not in worker.task_file()


def test_a_task_that_was_never_accepted_leaves_the_note_to_the_next(worker: Office) -> None:
    finish(worker, "Add a header")
    worker.agent.used[DEV] = 0.9
    worker.agent.accepts = False
    issue = worker.seed("Second")
    assert worker.refused("task_pickup", issueId=issue, role="dev", model="medior") == "delivery_unconfirmed"
    worker.agent.accepts = True

    worker.done("task_pickup", issueId=issue, role="dev", model="medior")

    assert "Add a header (attempt 1" in worker.task_file()


def test_an_agent_without_conversations_has_no_context_in_its_answer(office: Office) -> None:
    finish(office)

    answer = pick_up(office)

    assert "context" not in answer
    assert "context" not in office.lines("task_pickup")[-1]


def test_a_session_that_cannot_be_started_anew_leaves_the_task_in_its_queue(worker: Office) -> None:
    finish(worker)
    worker.agent.used[DEV] = 0.9
    worker.terminal.fail_next("start")
    issue = worker.seed("Second")

    assert worker.refused("task_pickup", issueId=issue, role="dev", model="medior") == "session_failed"

    assert [state.value for state in worker.states(issue)] == ["To Do"]
    assert worker.done("task_pickup", issueId=issue, role="dev", model="medior")["sessionAction"] == "spawn"


def test_a_note_is_short_however_long_the_reports_were() -> None:
    task = Earlier(issue=1, title="A\ntitle", attempt=2, branch=None, result="fail", summary="x " * 5000)

    assert len(text([task] * 5)) < 3000
    assert "\n" not in text([task])
