"""What is done about a conversation before its next task."""

from __future__ import annotations

from devclaw_py.model.pipeline import ContextAction


def before_the_next_task(used: float | None, *, compact_percent: int, fresh_percent: int) -> ContextAction:
    """Return what to do about a conversation that uses this share of its context; an unknown share is left alone.

    >>> before_the_next_task(0.6, compact_percent=60, fresh_percent=85).value
    'compact'
    """
    if used is None or round(used * 100, 6) < min(compact_percent, fresh_percent):
        return ContextAction.KEEP
    return ContextAction.FRESH if round(used * 100, 6) >= fresh_percent else ContextAction.COMPACT
