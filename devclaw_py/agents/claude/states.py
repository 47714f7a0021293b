"""From facts to the state of a session: no file is read and no clock is asked here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from devclaw_py.agents.base import AgentState
from devclaw_py.agents.claude import endings
from devclaw_py.agents.claude.events import Event, shown
from devclaw_py.agents.claude.presence import Presence
from devclaw_py.model.base import Value

# Claude Code writes "busy" a moment after the prompt's event, and "idle" a moment after the turn's.
SETTLE_S = 2.0
SUBMIT_S = 10.0
# A process that has told its start and keeps no state file, or keeps one and runs no hooks.
ODD_S = 5.0
# A client takes less than a second to get devclaw's tools.
CONNECT_S = 6.0
OPEN = ("UserPromptSubmit", "PermissionRequest")


class ClaudeState(StrEnum):
    """How a session is."""

    ABSENT = "absent"
    STARTING = "starting"
    DIALOG = "dialog"
    READY = "ready"
    SUBMITTING = "submitting"
    WORKING = "working"
    WAITING_PERMISSION = "waiting-permission"
    WAITING_QUESTION = "waiting-question"
    BACKGROUND = "background"
    LIMITED = "limited"
    UNKNOWN_SCREEN = "unknown-screen"
    DEAD = "dead"


WAITING = (ClaudeState.WAITING_PERMISSION, ClaudeState.WAITING_QUESTION)
AS_AGENT = {
    ClaudeState.STARTING: AgentState.STARTING,
    ClaudeState.DIALOG: AgentState.UNKNOWN,
    ClaudeState.READY: AgentState.IDLE,
    ClaudeState.SUBMITTING: AgentState.WORKING,
    ClaudeState.WORKING: AgentState.WORKING,
    ClaudeState.WAITING_PERMISSION: AgentState.WORKING,
    ClaudeState.WAITING_QUESTION: AgentState.WORKING,
    ClaudeState.BACKGROUND: AgentState.WORKING,
    ClaudeState.LIMITED: AgentState.IDLE,
    ClaudeState.UNKNOWN_SCREEN: AgentState.UNKNOWN,
}


class Reading(Value):
    """A state, which source decided it, and what that source said. ``until`` is when a limit ends, if that is known."""

    state: ClaudeState
    source: str
    evidence: str = ""
    detail: str = ""
    until: datetime | None = None


def fold(
    events: Sequence[Event],
    presence: Presence | None,
    *,
    now: float,
    asking: str | None,
    connected: bool = True,
    usage: Mapping[str, Any] | None = None,
) -> Reading:
    """Return the state of a live process.

    ``events`` are those of this start, oldest first; ``now`` is in seconds since 1970; ``asking`` is what the screen
    asks a person, where it was read; ``connected`` says whether the client has devclaw's tools; ``usage`` is what the
    status line was told last.
    """
    last = endings.newest_turn(events)
    if presence is None:
        return _without_presence(last, now, asking)
    if presence.status == "waiting":
        return _waiting(last, presence)
    if presence.status == "busy":
        return Reading(state=ClaudeState.WORKING, source="state file", evidence="busy")
    if presence.status == "shell":
        return Reading(state=ClaudeState.BACKGROUND, source="state file", evidence="shell", detail="a shell runs on")
    if presence.status == "idle":
        reading = _idle(last, presence, now, usage or {})
        return reading if connected else _without_tools(reading, last, now)
    return _unknown("state file", presence.status, f"its state file says {presence.status!r}, which is not known here")


def _without_presence(last: Event | None, now: float, asking: str | None) -> Reading:
    if last is None and asking is None:
        return Reading(state=ClaudeState.STARTING, source="hooks", evidence="no event yet")
    if last is None or asking is not None:
        asked = asking or ""
        return Reading(state=ClaudeState.DIALOG, source="screen", evidence=asked, detail=f"asks a person: {asked}")
    if now - last.at < ODD_S:
        return Reading(state=ClaudeState.STARTING, source="hooks", evidence=shown(last))
    return _unknown("hooks", shown(last), "keeps no state file; this version of Claude Code is not understood")


def _waiting(last: Event | None, presence: Presence) -> Reading:
    said = presence.waiting_for or "something"
    if last is not None and last.name in OPEN and "permission" in said:
        tool = last.text("tool_name")
        detail = f"waits for permission{f' to use {tool}' if tool else ''}"
        return Reading(state=ClaudeState.WAITING_PERMISSION, source="state file", evidence=said, detail=detail)
    if last is not None and last.name in OPEN and "input" in said:
        detail = "waits for a person's answer"
        return Reading(state=ClaudeState.WAITING_QUESTION, source="state file", evidence=said, detail=detail)
    return Reading(state=ClaudeState.DIALOG, source="state file", evidence=said, detail=f"waits for a person: {said}")


def _idle(last: Event | None, presence: Presence, now: float, usage: Mapping[str, Any]) -> Reading:
    rests = now - presence.since >= SETTLE_S
    if last is None:
        if now - presence.since < ODD_S:
            return Reading(state=ClaudeState.STARTING, source="state file", evidence="idle, no SessionStart yet")
        return _unknown("state file", "idle", "is idle and runs no hooks: a policy may forbid them")
    if last.name in OPEN:
        return _open(last, presence, now)
    if last.name == "Stop" and last.payload.get("background_tasks") and not (rests and presence.since > last.at):
        running = len(last.payload["background_tasks"])
        detail = f"{running} background tasks run on"
        return Reading(state=ClaudeState.BACKGROUND, source="hooks", evidence=shown(last), detail=detail)
    if last.name == "StopFailure" and last.text("error") == "rate_limit":
        return _limited(last, usage)
    return Reading(state=ClaudeState.READY, source="hooks and state file", evidence=shown(last))


def _limited(last: Event, usage: Mapping[str, Any]) -> Reading:
    until = endings.limit(last, usage)
    detail = endings.failure(last) + (f"; until {until:%Y-%m-%d %H:%M} UTC" if until else "")
    return Reading(state=ClaudeState.LIMITED, source="hooks", evidence=shown(last), detail=detail, until=until)


def _without_tools(reading: Reading, last: Event | None, now: float) -> Reading:
    """Wait a while for the tools, so that the first request names them; a worker can report without them too."""
    if reading.state is not ClaudeState.READY or last is None or last.name != "SessionStart":
        return reading
    if now - last.at < CONNECT_S:
        return Reading(state=ClaudeState.STARTING, source="files", evidence="devclaw's tools are not connected yet")
    return reading.model_copy(update={"detail": "devclaw's tools are not connected"})


def _open(last: Event, presence: Presence, now: float) -> Reading:
    """Tell a turn that has not begun to be busy from one that a person broke off: of that there is no event."""
    broken_off = presence.since > last.at and now - presence.since >= SETTLE_S
    if broken_off or now - max(last.at, presence.since) >= SUBMIT_S:
        return Reading(state=ClaudeState.READY, source="state file", evidence=f"idle after {last.name}, no Stop")
    return Reading(state=ClaudeState.SUBMITTING, source="hooks", evidence=shown(last))


def _unknown(source: str, evidence: str, detail: str) -> Reading:
    return Reading(state=ClaudeState.UNKNOWN_SCREEN, source=source, evidence=evidence, detail=detail)
