"""Time, handed in so that tests and the simulator can own it."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """The time of day, and waiting."""

    def now(self) -> datetime:
        """Return the time of day in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        ...

    def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """Return the time of day in UTC, in whole milliseconds as every file holds it."""
        now = datetime.now(UTC)
        return now.replace(microsecond=now.microsecond // 1000 * 1000)

    def monotonic(self) -> float:
        """Return the machine's monotonic seconds."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Wait in real time."""
        time.sleep(seconds)


class VirtualClock:
    """A clock that moves only when somebody waits on it or sets it forward."""

    def __init__(self, start: datetime = datetime(2026, 3, 1, 12, tzinfo=UTC)) -> None:
        self._start, self._passed = start, 0.0

    def now(self) -> datetime:
        """Return the start plus what has passed."""
        return self._start + timedelta(seconds=round(self._passed, 3))

    def monotonic(self) -> float:
        """Return what has passed."""
        return self._passed

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass at once."""
        self._passed += seconds


def timestamp(at: datetime) -> str:
    """Return UTC, ISO 8601, milliseconds, ``Z``: the form of every file.

    >>> timestamp(datetime(2026, 2, 8, 10, 30, tzinfo=UTC))
    '2026-02-08T10:30:00.000Z'
    """
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{at.microsecond // 1000:03d}Z"
