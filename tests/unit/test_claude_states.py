"""Facts in, state out."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.agents.base import AgentState
from devclaw_py.agents.claude.events import Event
from devclaw_py.agents.claude.presence import Presence
from devclaw_py.agents.claude.states import AS_AGENT, ClaudeState, fold

NOW = 1000.0
LINE = "devclaw-task 4.1: Read the file `/x` and do the task in it."


def event(name: str, ago: float = 10, **payload: Any) -> Event:
    return Event(name=name, at=NOW - ago, file=f"{NOW - ago}-{name}", given=payload)


def idle(ago: float) -> Presence:
    return Presence(status="idle", since=NOW - ago)


START = event("SessionStart", 60)
PROMPT = event("UserPromptSubmit", 10, prompt=LINE)
ASKED = event("PermissionRequest", 5, tool_name="Bash")
STOP = event("Stop", 5, last_assistant_message="done", background_tasks=[])
LEFT = event("Stop", 5, background_tasks=[{"id": "a"}])
LIMIT = event("StopFailure", 5, error="rate_limit")
DOWN = event("StopFailure", 5, error="server_error")
BUSY = Presence(status="busy", since=NOW - 3)


def waiting(what: str) -> Presence:
    return Presence(status="waiting", waiting_for=what, since=NOW - 3)


@pytest.mark.parametrize(
    ("events", "presence", "state"),
    [
        ([], None, ClaudeState.STARTING),
        ([START], idle(60), ClaudeState.READY),
        ([], idle(1), ClaudeState.STARTING),
        ([], idle(60), ClaudeState.UNKNOWN_SCREEN),
        ([event("SessionStart", 1)], None, ClaudeState.STARTING),
        ([START], None, ClaudeState.UNKNOWN_SCREEN),
        ([START], Presence(status="dancing"), ClaudeState.UNKNOWN_SCREEN),
        ([START], waiting("dialog open"), ClaudeState.DIALOG),
        ([START, PROMPT], BUSY, ClaudeState.WORKING),
        ([START, PROMPT, STOP], BUSY, ClaudeState.WORKING),
        ([START, event("UserPromptSubmit", 1)], idle(60), ClaudeState.SUBMITTING),
        ([START, PROMPT, ASKED], waiting("permission prompt"), ClaudeState.WAITING_PERMISSION),
        ([START, PROMPT], waiting("input needed"), ClaudeState.WAITING_QUESTION),
        ([START, PROMPT, STOP], waiting("dialog open"), ClaudeState.DIALOG),
        ([START, PROMPT, STOP], idle(4), ClaudeState.READY),
        ([START, PROMPT, STOP], idle(10), ClaudeState.READY),
        ([START, PROMPT, LEFT], Presence(status="shell", since=NOW - 4), ClaudeState.BACKGROUND),
        ([START, PROMPT, LEFT], idle(10), ClaudeState.BACKGROUND),
        ([START, PROMPT, LEFT], idle(3), ClaudeState.READY),
        ([START, PROMPT, LIMIT], idle(4), ClaudeState.LIMITED),
        ([START, PROMPT, LIMIT, event("UserPromptSubmit", 1)], BUSY, ClaudeState.WORKING),
        ([START, PROMPT, DOWN], idle(4), ClaudeState.READY),
        ([START, PROMPT, event("PromptBlocked", 9)], idle(60), ClaudeState.READY),
        ([START, PROMPT, STOP, event("SessionStart", 3, source="clear")], idle(3), ClaudeState.READY),
    ],
)
def test_facts_make_a_state(events: list[Event], presence: Presence | None, state: ClaudeState) -> None:
    assert fold(events, presence, now=NOW, asking=None).state is state


def test_a_turn_that_was_broken_off_is_over_once_the_state_file_rests() -> None:
    assert fold([START, PROMPT], idle(1), now=NOW, asking=None).state is ClaudeState.SUBMITTING
    assert fold([START, PROMPT], idle(3), now=NOW, asking=None).state is ClaudeState.READY


def test_what_the_screen_asks_is_a_dialog_with_its_text() -> None:
    reading = fold([], None, now=NOW, asking="Do you trust this?")

    assert (reading.state, reading.source) == (ClaudeState.DIALOG, "screen")
    assert "Do you trust this?" in reading.detail


def test_a_session_waits_for_its_tools_only_for_a_while_and_only_before_its_first_turn() -> None:
    fresh, old = event("SessionStart", 1), START

    assert fold([fresh], idle(1), now=NOW, asking=None, connected=False).state is ClaudeState.STARTING
    assert fold([old], idle(60), now=NOW, asking=None, connected=False).state is ClaudeState.READY
    assert fold([fresh, event("Stop", 0.5)], idle(0), now=NOW, asking=None, connected=False).state is ClaudeState.READY


def test_every_state_of_a_live_session_means_something_to_devclaw() -> None:
    assert set(ClaudeState) - set(AS_AGENT) == {ClaudeState.ABSENT, ClaudeState.DEAD}


@pytest.mark.parametrize("state", [ClaudeState.DIALOG, ClaudeState.UNKNOWN_SCREEN, ClaudeState.BACKGROUND])
def test_no_task_is_typed_where_a_person_is_asked_or_something_runs(state: ClaudeState) -> None:
    assert AS_AGENT[state] is not AgentState.IDLE
