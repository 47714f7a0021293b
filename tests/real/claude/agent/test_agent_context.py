"""A conversation that fills up: compacted, left for a new one, and what its tasks cost."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from devclaw_py.agents.base import Compaction
from devclaw_py.agents.standin.directives import refusal
from devclaw_py.agents.standin.script import Break, Fault
from devclaw_py.errors import DeliveryUnconfirmed, SessionFailed
from devclaw_py.model.pipeline import SessionAction
from devclaw_py.model.usage import Meter, Tokens

if TYPE_CHECKING:
    from tests.real.claude.agent.conftest import Compactions, Desk

NAME = "shop-dev-medior"
# What the stand-in's model has as its window.
WINDOW = 200_000


def used(desk: Desk) -> float | None:
    found = desk.sessions.context(NAME)
    return found.used if found else None


def mark(desk: Desk) -> Meter:
    found = desk.sessions.meter(NAME)
    assert found is not None
    return found


def test_how_full_the_conversation_is_comes_with_its_turn(desk: Desk) -> None:
    desk.ensure()
    assert used(desk) is None

    desk.finish("42.1", f"[[standin: usage {WINDOW * 71 // 100}]]\n[[standin: say done]]")

    assert used(desk) == 0.71


def test_a_compacted_conversation_goes_on_under_its_id_with_a_summary_for_what_was_said(
    desk: Desk, compactions: Compactions
) -> None:
    desk.ensure()
    desk.finish("41.1")
    desk.finish("42.1", f"[[standin: usage {WINDOW * 71 // 100}]]\n[[standin: say done]]")
    before, turns = desk.conversation(), len(desk.standin.turns)

    assert desk.sessions.compact(NAME) is Compaction.DONE

    assert desk.status() == "idle"
    assert used(desk) == 0
    desk.finish("43.1")
    asked, *later = desk.standin.turns[turns:]
    assert compactions.are_asked_for(asked.conversation.messages)
    assert {turn.session for turn in later} == {before}
    told = later[0].raw.decode()
    assert compactions.summary in told
    assert desk.line("43.1") in told
    assert desk.line("41.1") not in told
    assert desk.line("42.1") not in told


@pytest.mark.parametrize("fault", [refusal(400), Break.DROP], ids=["refused", "dropped"])
def test_a_compaction_that_fails_leaves_a_session_that_takes_its_task(
    desk: Desk, compactions: Compactions, fault: Fault
) -> None:
    compactions.fault = fault
    desk.ensure()
    desk.finish("42.1", "[[standin: say first words]]")

    assert desk.sessions.compact(NAME) is Compaction.FAILED

    desk.finish("43.1")
    assert "first words" in desk.standin.turns[-1].raw.decode()


def test_a_conversation_too_short_to_be_compacted_is_left_as_it_is(desk: Desk) -> None:
    desk.ensure()

    assert desk.sessions.compact(NAME) is Compaction.FAILED

    desk.finish("43.1")


def test_a_compaction_that_never_ends_gives_way_to_a_new_conversation(
    make_desk: Callable[..., Desk], compactions: Compactions
) -> None:
    desk = make_desk(compact_s=6)
    compactions.fault = Break.STALL
    desk.ensure()
    desk.finish("42.1", "[[standin: say first words]]")
    before = desk.conversation()

    assert desk.sessions.compact(NAME) is Compaction.ENDLESS
    desk.sessions.renew(desk.place, keep=frozenset())

    found = desk.sessions.context(NAME)
    assert found is not None
    assert found.former == (before,)
    desk.finish("43.1")
    assert "first words" not in desk.standin.turns[-1].raw.decode()


def test_a_draft_of_a_person_is_back_in_the_box_after_a_compaction(desk: Desk, compactions: Compactions) -> None:
    desk.ensure()
    desk.finish("42.1")
    desk.keys("-l", "half a thought")
    desk.wait_for(lambda: "half a thought" in desk.box(), "the draft stands in the box")

    assert desk.sessions.compact(NAME) is Compaction.DONE

    desk.wait_for(lambda: "half a thought" in desk.box(), "the draft is back")


def test_nothing_is_typed_for_a_compaction_while_a_dialog_is_open(make_desk: Callable[..., Desk]) -> None:
    desk = make_desk(receipt_s=2)
    desk.ensure()
    desk.finish("42.1")
    desk.keys("-l", "/help ")
    desk.wait_for(lambda: "/help" in desk.box(), "the command stands in the box")
    desk.keys("Enter")
    desk.wait_for(lambda: desk.presence()["status"] == "waiting", "a dialog is open")
    turns = len(desk.standin.turns)

    with pytest.raises(DeliveryUnconfirmed):
        desk.sessions.compact(NAME)

    assert len(desk.standin.turns) == turns


def test_tokens_of_a_task_are_those_that_the_api_was_told(desk: Desk) -> None:
    desk.ensure()
    desk.finish("41.1", "[[standin: usage 5000]]\n[[standin: say an earlier task]]")
    desk.sessions.context(NAME)
    since = mark(desk)
    desk.finish(
        "42.1",
        '[[standin: say I look]]\n[[standin: usage 20000]]\n[[standin: tool Bash {"command": "ls"}]]\n'
        '[[standin: also Bash {"command": "pwd"}]]\n[[standin: usage 30000]]\n[[standin: say done]]',
    )
    desk.sessions.context(NAME)
    desk.wait_for(lambda: len(_counted(desk, since)) == 1, "the transcript was written")

    total = _counted(desk, since)["claude-sonnet-4-5"]
    # The first of three messages reads the task's file; its size is that of its request.
    first = total.cache_read - (20000 - 10) - (30000 - 10)
    assert total.input == 3 * 10
    assert 5000 < first < 100_000
    usage = desk.sessions.usage(since, mark(desk))
    assert usage.cost_usd is not None
    assert usage.cost_usd > 0


def test_what_a_sub_agent_uses_is_its_tasks(desk: Desk) -> None:
    desk.ensure()
    since = mark(desk)
    agent = {"description": "look", "prompt": "[[standin: usage 7010]] [[standin: say seen]]"}
    desk.finish("42.1", f"[[standin: tool Agent {json.dumps({**agent, 'subagent_type': 'general-purpose'})}]]")
    desk.sessions.context(NAME)

    desk.wait_for(lambda: bool(_counted(desk, since)), "the transcript was written")
    alone = desk.sessions.usage(since, mark(desk).model_copy(update={"at": since.at})).total

    with_it = desk.sessions.usage(since, mark(desk)).total
    assert alone is not None
    assert with_it is not None
    assert with_it.cache_read - alone.cache_read == 7000


def _gone(desk: Desk) -> bool:
    """Say whether the session is gone; a server that ends while it is asked answers nothing."""
    try:
        return desk.status() == "absent"
    except SessionFailed:
        return False


def _counted(desk: Desk, since: Meter) -> dict[str, Tokens]:
    return desk.sessions.usage(since, mark(desk)).models or {}


def test_after_the_death_of_the_whole_tmux_server_the_conversation_goes_on(desk: Desk) -> None:
    desk.ensure()
    desk.finish("42.1", "[[standin: say first words]]")
    before = desk.conversation()
    desk.tmux.run("kill-server")
    desk.wait_for(lambda: _gone(desk), "the server is gone")

    assert desk.ensure() is SessionAction.RESUME

    desk.finish("43.1")
    assert desk.standin.turns[-1].session == before
    assert "first words" in desk.standin.turns[-1].raw.decode()


def test_at_the_limit_the_session_that_slept_longest_ago_used_comes_back_with_its_conversation(
    make_desk: Callable[..., Desk],
) -> None:
    desk = make_desk(sessions=1)
    other = desk.place.model_copy(
        update={"session": "shop-dev-senior", "folder": desk.sessions.folder("shop-dev-senior")}
    )
    desk.ensure()
    desk.finish("42.1", "[[standin: say first words]]")
    before = desk.conversation()
    desk.sessions.ensure(other, keep=frozenset())
    assert desk.status() == "absent"

    assert desk.ensure() is SessionAction.RESUME

    desk.finish("43.1")
    assert desk.standin.turns[-1].session == before
    assert "first words" in desk.standin.turns[-1].raw.decode()
    assert desk.sessions.look("shop-dev-senior").status.value == "absent"
    desk.sessions.stop("shop-dev-senior")


def test_a_new_process_finds_live_sessions_without_starting_any(desk: Desk, make_desk: Callable[..., Desk]) -> None:
    desk.ensure()
    desk.finish("42.1")
    pid = desk.tmux.pane_pid(NAME)

    assert make_desk().ensure() is SessionAction.SEND
    assert desk.tmux.pane_pid(NAME) == pid
    os.kill(pid, 0)
