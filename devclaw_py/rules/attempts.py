"""How often a task has come to its workers."""

from __future__ import annotations

from collections.abc import Iterable

from devclaw_py.model.journal import Attempt
from devclaw_py.model.pipeline import Role


def dev_attempts(attempts: Iterable[Attempt]) -> int:
    """Return how many of an issue's attempts a developer has accepted: what ``limits.attempts`` counts."""
    return sum(attempt.role is Role.DEV and attempt.accepted is not None for attempt in attempts)
