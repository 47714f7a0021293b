"""How often a task has come to its workers."""

from __future__ import annotations

from collections.abc import Iterable

from devclaw_py.model.journal import Attempt
from devclaw_py.model.pipeline import Role


def dev_attempts(attempts: Iterable[Attempt]) -> int:
    """Return how many of an issue's attempts a developer has accepted: what ``limits.attempts`` counts."""
    return sum(attempt.role is Role.DEV and attempt.accepted is not None for attempt in attempts)


def tests_in_a_row(attempts: Iterable[Attempt]) -> int:
    """Return how many QA attempts have been accepted since the last developer's; silent ones must have an end."""
    row = 0
    for attempt in attempts:
        if attempt.accepted is not None:
            row = 0 if attempt.role is Role.DEV else row + 1
    return row
