"""Waking a sleeping heartbeat early: somebody touches a file, the sleeper sees its time change."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from devclaw_py.kernel.clock import Clock

LOOK_S = 0.1


def ring(bell: Path) -> None:
    """Wake whoever sleeps by this bell; nobody need be there, and a full disk is no error.

    The file stays: only its time counts, so that ringing needs no more than one system call.
    """
    try:
        os.utime(bell)
    except FileNotFoundError:
        try:
            bell.touch(mode=0o600)
        except OSError:
            return
    except OSError:
        return


def sleep_until_rung(clock: Clock, seconds: float, bells: Iterable[Path]) -> bool:
    """Sleep, at most ``seconds``; True when one of the files or folders has changed meanwhile.

    What changed before the call does not count: the caller has to look at it first.
    """
    watched = tuple(bells)
    before = _times(watched)
    end = clock.monotonic() + seconds
    while (left := end - clock.monotonic()) > 0:
        clock.sleep(min(LOOK_S, left))
        if _times(watched) != before:
            return True
    return False


def _times(paths: Iterable[Path]) -> list[int]:
    return [_time(path) for path in paths]


def _time(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
