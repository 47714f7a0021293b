"""A sleeper that is woken by a file."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.kernel.wake import Sleeper, ring


class ActingClock(VirtualClock):
    """A clock that lets something happen in the third sleep."""

    def __init__(self, act: Callable[[], None]) -> None:
        super().__init__()
        self._act, self._sleeps = act, 0

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self._sleeps += 1
        if self._sleeps == 3:
            self._act()


def later(bell: Path) -> None:
    """Ring, and be sure that the file's time differs: two rings may fall into one tick of the disk's clock."""
    ring(bell)
    stamp = bell.stat().st_mtime_ns + 1_000_000
    os.utime(bell, ns=(stamp, stamp))


def test_a_bell_that_is_rung_ends_the_sleep(tmp_path: Path) -> None:
    bell = tmp_path / "bell"
    clock = ActingClock(lambda: later(bell))
    sleeper, began = Sleeper(clock, lambda: [bell]), clock.monotonic()

    sleeper.listen()

    assert sleeper.sleep(60)
    assert clock.monotonic() - began < 1


def test_a_bell_that_was_rung_at_work_is_not_missed(tmp_path: Path) -> None:
    bell, clock = tmp_path / "bell", VirtualClock()
    sleeper = Sleeper(clock, lambda: [bell])
    sleeper.listen()
    later(bell)

    assert sleeper.sleep(60)


def test_nobody_rings_and_the_time_runs_out(tmp_path: Path) -> None:
    clock = VirtualClock()
    sleeper, began = Sleeper(clock, lambda: [tmp_path / "bell"]), clock.monotonic()
    sleeper.listen()

    assert not sleeper.sleep(60)
    assert clock.monotonic() - began >= 60


def test_a_file_that_comes_into_a_watched_folder_rings(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    folder.mkdir()
    sleeper = Sleeper(ActingClock(lambda: later(folder / "one")), lambda: [*tmp_path.iterdir()])
    sleeper.listen()
    os.utime(folder, ns=(1, 1))
    sleeper.listen()

    assert sleeper.sleep(60)


def test_ringing_where_nothing_can_be_written_is_no_error(tmp_path: Path) -> None:
    ring(tmp_path / "absent" / "bell")
