"""What a measurement is, and how it is taken."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Goal:
    """The most that a figure may be, in milliseconds or the row's own unit; ``on`` names the figure."""

    ms: float
    on: str = "p95"


@dataclass
class Row:
    """One line of the table. All values in milliseconds, but where ``what`` names another unit.

    ``goal`` None: for information. ``compared`` was measured beside it in the same run, ``parts`` are pieces of it.
    """

    name: str
    what: str
    goal: Goal | None = None
    values: list[float] = field(default_factory=list)
    compared: dict[str, list[float]] = field(default_factory=dict)
    parts: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """How much is measured: the table's own numbers, or few of everything for a smoke test."""

    repeats: int
    processes: int
    rounds: int
    projects: int
    issues: int
    looked_over: int
    panes: int
    workers: int
    polled: int


FULL = Scale(
    repeats=60, processes=30, rounds=30, projects=1000, issues=1000, looked_over=100, panes=100, workers=12, polled=100,
)  # fmt: skip
QUICK = Scale(repeats=2, processes=1, rounds=1, projects=10, issues=10, looked_over=3, panes=3, workers=2, polled=3)


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the smallest value that at least ``percent`` per cent of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def ms_of(action: Callable[[], object]) -> float:
    """Return how long the action takes."""
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def wait_for(condition: Callable[[], bool], what: str, *, within_s: float = 60) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {within_s:g} s: {what}")
        time.sleep(0.01)
