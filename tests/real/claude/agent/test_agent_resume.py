"""A conversation outlives its process, and never has two."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devclaw_py.errors import SessionFailed
from devclaw_py.kernel import proc
from devclaw_py.model.pipeline import SessionAction

if TYPE_CHECKING:
    from tests.real.claude.agent.conftest import Desk


def test_a_killed_session_goes_on_with_its_conversation(desk: Desk) -> None:
    desk.ensure()
    desk.finish("42.1")
    conversation = desk.presence()["sessionId"]
    os.kill(desk.tmux.pane_pid(desk.place.session), signal.SIGKILL)
    desk.wait_for(lambda: desk.status() == "dead", "the session is dead")

    assert desk.ensure() is SessionAction.RESUME

    assert desk.presence()["sessionId"] == conversation
    desk.finish("43.1")
    last = desk.standin.turns[-1]
    assert last.session == conversation
    assert desk.line("42.1") in last.raw.decode()


def test_a_session_killed_in_its_turn_comes_back_idle_and_its_turn_is_known_to_be_over(desk: Desk) -> None:
    desk.ensure()
    desk.finish("41.1")
    turns = len(desk.standin.turns)
    desk.give("42.1", "[[standin: stall]]")
    desk.standin.wait_for(turns + 2)
    os.kill(desk.tmux.pane_pid(desk.place.session), signal.SIGKILL)
    desk.wait_for(lambda: desk.status() == "dead", "the session is dead")

    assert desk.ensure() is SessionAction.RESUME

    ended = desk.ended("42.1")
    assert ended == "its session was started again in the middle of its turn"


def test_a_session_put_to_sleep_comes_back_with_its_conversation(desk: Desk) -> None:
    desk.ensure()
    desk.finish("42.1")
    conversation = desk.presence()["sessionId"]
    desk.sessions.stop(desk.place.session)

    assert desk.ensure() is SessionAction.RESUME
    assert desk.presence()["sessionId"] == conversation


def test_a_session_that_never_had_a_turn_starts_a_conversation_of_its_own(desk: Desk) -> None:
    desk.ensure()
    desk.sessions.stop(desk.place.session)

    assert desk.ensure() is SessionAction.SPAWN
    desk.finish("42.1")
    assert desk.prompts() == [desk.line("42.1")]


def test_the_conversation_after_a_persons_clear_is_the_one_that_is_resumed(desk: Desk) -> None:
    desk.ensure()
    desk.finish("42.1")
    before = desk.presence()["sessionId"]
    desk.keys("-l", "/clear ")
    time.sleep(0.5)
    desk.keys("Enter")
    desk.wait_for(lambda: desk.presence()["sessionId"] != before, "there is a new conversation")
    desk.wait_idle()
    desk.finish("43.1")
    after = desk.presence()["sessionId"]
    desk.sessions.stop(desk.place.session)

    assert desk.ensure() is SessionAction.RESUME
    assert desk.presence()["sessionId"] == after
    assert before in (desk.folder / "conversation.json").read_text()


def test_a_conversation_that_claude_code_does_not_know_is_replaced_by_a_fresh_one(desk: Desk) -> None:
    desk.ensure()
    desk.finish("42.1")
    conversation = desk.presence()["sessionId"]
    desk.sessions.stop(desk.place.session)
    (transcript,) = desk.home.glob(f".claude/projects/*/{conversation}.jsonl")
    transcript.write_text("{}\n")

    assert desk.ensure() is SessionAction.SPAWN
    assert desk.presence()["sessionId"] != conversation
    assert conversation in (desk.folder / "conversation.json").read_text()


def test_a_conversation_that_another_process_drives_is_left_to_it(desk: Desk, tmp_path: Path) -> None:
    desk.ensure()
    desk.finish("42.1")
    desk.sessions.stop(desk.place.session)
    other = proc.start(
        ["sh", "-c", "sleep 60; :", "claude", "--resume", desk.conversation()],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"]},
        stdin=Path(os.devnull),
    )
    try:
        with pytest.raises(SessionFailed, match=f"process {other.pid}"):
            desk.ensure()
    finally:
        os.killpg(other.pid, signal.SIGKILL)
        other.wait()
