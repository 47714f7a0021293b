"""How full a conversation is: what the status line was told last, where it is about this conversation as it is now."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from devclaw_py.agents import mailbox
from devclaw_py.agents.base import Context
from devclaw_py.agents.claude import conversation, events

FILE = "usage.json"
ENDINGS = ("Stop", "StopFailure", "PostCompact")


def context(folder: Path) -> Context | None:
    """Return the conversation and the share of its context that is used; None before its first event.

    The status line is written up to a second after a turn; until then the share is that of the turn's beginning, and
    ``current`` is False. After a compaction it is 0 until the next turn.
    """
    kept = conversation.load(folder)
    if kept is None:
        return None
    told = of(folder, kept.id)
    last = events.newest(events.read(folder, since=kept.started), *ENDINGS)
    return Context(
        conversation=kept.id,
        used=share(told),
        current=last is None or last.at <= written(folder),
        former=kept.former if kept.anew else (),
    )


def of(folder: Path, conversation_id: str) -> Mapping[str, Any]:
    """Return what the status line was told last; empty when that is of another conversation or was never told."""
    found = mailbox.read_record(folder / FILE) or {}
    return found if found.get("session_id") == conversation_id else {}


def written(folder: Path) -> float:
    """Return when the status line was told last, in seconds since 1970; 0 when it never was."""
    try:
        return (folder / FILE).stat().st_mtime
    except OSError:
        return 0.0


def share(told: Mapping[str, Any]) -> float | None:
    """Return the share of the context that is used, or None when the status line does not say.

    >>> share({"context_window": {"used_percentage": 71}})
    0.71
    """
    window = told.get("context_window")
    percent = window.get("used_percentage") if isinstance(window, dict) else None
    return percent / 100 if isinstance(percent, int | float) and not isinstance(percent, bool) else None


def cost_usd(told: Mapping[str, Any]) -> float | None:
    """Return what the process has cost so far, as Claude Code reckons it; None when it does not say."""
    cost = told.get("cost")
    total = cost.get("total_cost_usd") if isinstance(cost, dict) else None
    return float(total) if isinstance(total, int | float) and not isinstance(total, bool) else None
