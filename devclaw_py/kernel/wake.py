"""Waking a sleeping heartbeat early: somebody touches a file, the sleeper sees its time change."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

from devclaw_py.kernel.clock import Clock

LOOK_S = 0.1


def ring(bell: Path) -> None:
    """Wake whoever sleeps by this bell; nobody need be there, and a full disk is no error."""
    with suppress(OSError):
        bell.touch(mode=0o600)


class Sleeper:
    """Sleeps until a file or folder of ``bells`` has changed.

    What changed since `listen` counts, also while the sleeper was still at work: nothing is missed in between.
    """

    def __init__(self, clock: Clock, bells: Callable[[], Iterable[Path]]) -> None:
        self._clock, self._bells = clock, bells
        self._heard: dict[Path, int] = {}

    def listen(self) -> None:
        """Take note of how the bells stand, before looking at what they tell of."""
        self._heard = self._times()

    def sleep(self, seconds: float, *, enough: Callable[[], bool] = lambda: False) -> bool:
        """Sleep at most so long; True when a bell was rung. ``enough`` ends the sleep, too."""
        end = self._clock.monotonic() + seconds
        while (left := end - self._clock.monotonic()) > 0 and not enough():
            if self._times() != self._heard:
                return True
            self._clock.sleep(min(LOOK_S, left))
        return False

    def _times(self) -> dict[Path, int]:
        return {path: _time(path) for path in self._bells()}


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
