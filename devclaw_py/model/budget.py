"""What may be spent: limits, sums, and a limit that is reached."""

from __future__ import annotations

from enum import StrEnum

from devclaw_py.model.base import Value


class Scope(StrEnum):
    """What a limit is about."""

    TASK = "task"
    """One issue: all its attempts, whenever they were."""
    PROJECT = "project"
    """One project in one day."""
    TIER = "tier"
    """One tier in one day, over all projects."""
    DAY = "day"
    """All projects in one day."""


class Unit(StrEnum):
    """What is counted."""

    TOKENS = "tokens"
    USD = "usd"


class Sum(Value):
    """What was spent."""

    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Sum) -> Sum:
        """Return both together."""
        return Sum(tokens=self.tokens + other.tokens, usd=self.usd + other.usd)

    def of(self, unit: Unit) -> float:
        """Return one of the two figures."""
        return self.tokens if unit is Unit.TOKENS else self.usd


class Limit(Value):
    """The most that may be spent of one thing."""

    scope: Scope
    unit: Unit
    most: float


class Reached(Value):
    """A limit, and what was spent of it. ``about`` is which task or tier; empty for projects and days."""

    limit: Limit
    spent: float
    about: str = ""
