"""How the turn of a task ended, from the events of a session that is idle. Nothing is asked here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from devclaw_py.agents.claude import failures
from devclaw_py.agents.claude.events import BLOCKED, Event
from devclaw_py.model.following import End, Ended

PROMPT = "UserPromptSubmit"
TURNS = ("SessionStart", PROMPT, "PermissionRequest", "Stop", "StopFailure", BLOCKED)
# What devclaw and Claude Code themselves begin a turn with.
OWN = ("devclaw-task", "devclaw-notice", "<task-notification>")
SHOWN_CHARS = 200


def ended(
    events: Sequence[Event],
    line: str,
    *,
    accepted: float | None = None,
    idle_since: float = 0.0,
    full: bool = False,
    usage: Mapping[str, Any] | None = None,
) -> Ended | None:
    """Return how the newest turn ended since ``line`` was submitted; None when it never was.

    A turn without an event of its end was broken off. ``accepted`` is when the task was accepted, in seconds since
    1970: it stands in for a prompt whose event could not be written. ``idle_since`` is when the session became idle
    last; ``full`` says that its last words were about the size of its context, ``usage`` is the status line's payload.
    """
    turns = _turns(events)
    begun = [i for i, event in enumerate(turns) if event.name == PROMPT and _is(event, line)]
    if begun:
        turns = turns[begun[-1] :]
    elif accepted is not None:
        turns = [event for event in turns if event.at >= accepted]
    else:
        return None
    if not turns:
        return _broken_off(turns, accepted or 0.0, idle_since, full)
    last = turns[-1]
    if last.name in (PROMPT, "PermissionRequest"):
        return _broken_off(turns, last.at, idle_since, full)
    how, words, until = _said(last, usage or {})
    return Ended(how=how, key=last.file, at=_time(last.at), words=words, until=until, by_person=_by_person(turns))


def newest_turn(events: Sequence[Event]) -> Event | None:
    """Return the newest event that begins or ends a turn, a blocked prompt too; a compaction in a turn does neither."""
    return next((event for event in reversed(events) if event.name in TURNS and not _compacted(event)), None)


def failure(event: Event) -> str:
    """Return the error that ended a turn, in words."""
    said = " ".join((event.text("last_assistant_message") or event.text("error_details")).split())[:SHOWN_CHARS]
    return f"its turn failed with the API error {event.text('error') or 'unknown'}{f': {said}' if said else ''}"


def limit(event: Event, usage: Mapping[str, Any]) -> datetime | None:
    """Return when the limit ends that a StopFailure is about; None when it is about none or names no time."""
    if event.text("error") != "rate_limit":
        return None
    words = f"{event.text('last_assistant_message')}\n{event.text('error_details')}"
    at = _time(event.at)
    return failures.reset(words, at=at) or failures.spent(usage, at=at)


def _turns(events: Sequence[Event]) -> list[Event]:
    """Return what begins and ends turns; a blocked prompt began none, and a compacted conversation goes on."""
    found: list[Event] = []
    for event in events:
        if event.name == BLOCKED:
            if found and found[-1].name == PROMPT:
                found.pop()
        elif event.name in TURNS and not _compacted(event):
            found.append(event)
    return found


def _compacted(event: Event) -> bool:
    return event.name == "SessionStart" and event.text("source") == "compact"


def _broken_off(turns: Sequence[Event], began: float, idle_since: float, full: bool) -> Ended:
    key = turns[-1].file if turns else f"idle-{idle_since:.3f}"
    at = _time(max(turns[-1].at if turns else began, idle_since))
    if full:
        words = "its conversation does not fit into the model's context any more"
        return Ended(how=End.FULL, key=key, at=at, words=words)
    return Ended(how=End.BROKEN_OFF, key=key, at=at, words="its turn was broken off", by_person=_by_person(turns))


def _said(last: Event, usage: Mapping[str, Any]) -> tuple[End, str, datetime | None]:
    if last.name == "SessionStart":
        if last.text("source") == "clear":
            return End.CLEARED, "its conversation was cleared", None
        how = End.CLEARED if last.text("source") == "startup" else End.RESTARTED
        return how, "its session was started again in the middle of its turn", None
    if last.name == "StopFailure":
        until = limit(last, usage)
        words = f"{last.text('last_assistant_message')}\n{last.text('error_details')}"
        return failures.kind(last.text("error"), words, until=until), failure(last), until
    said = " ".join(last.text("last_assistant_message").split())[:SHOWN_CHARS]
    return End.QUIET, f"its turn ended without a report; its last words: {said or 'none'}", None


def _by_person(turns: Sequence[Event]) -> bool:
    newest = next((event for event in reversed(turns) if event.name == PROMPT), None)
    return newest is not None and not newest.text("prompt").lstrip().startswith(OWN)


def _is(event: Event, line: str) -> bool:
    return event.text("prompt").strip() == line.strip()


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)
