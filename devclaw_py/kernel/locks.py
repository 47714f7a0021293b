"""Locks between processes: flock, which the kernel frees when its last holder dies.

A child that gets the descriptor keeps the lock alive, so a lock that can be taken has no living owner and no living
child with effects.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path

from devclaw_py.errors import ProjectBusy
from devclaw_py.kernel.clock import Clock, timestamp

HELD: ContextVar[tuple[int, ...]] = ContextVar("HELD", default=())

POLL_S = 0.01


@contextmanager
def hold(path: Path, *, wait_s: float, holder: str, clock: Clock) -> Iterator[None]:
    """Hold ``path`` exclusively; its descriptor is in `HELD` for programs that `kernel.proc` starts meanwhile.

    Raises:
        ProjectBusy: not free within ``wait_s`` seconds; the message names the holder and since when.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        _wait(descriptor, path, wait_s=wait_s, clock=clock)
        _sign(descriptor, holder, clock)
        token = HELD.set((*HELD.get(), descriptor))
        try:
            yield
        finally:
            HELD.reset(token)
    finally:
        os.close(descriptor)


def _wait(descriptor: int, path: Path, *, wait_s: float, clock: Clock) -> None:
    deadline = clock.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if clock.monotonic() >= deadline:
                raise ProjectBusy(
                    f"{path.stem} is held by {_signature(path)} and was not free within {wait_s:g} s; try again"
                ) from None
            clock.sleep(POLL_S)
        else:
            return


def _sign(descriptor: int, holder: str, clock: Clock) -> None:
    # Only a courtesy to whoever waits: a full disk must not keep the lock from being taken.
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
        line = json.dumps({"holder": holder, "pid": os.getpid(), "since": timestamp(clock.now())})
        os.pwrite(descriptor, line.encode(), 0)


def _signature(path: Path) -> str:
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        return f"{entry['holder']} (pid {entry['pid']}, since {entry['since']})"
    except (OSError, ValueError, KeyError, TypeError):
        return "another operation"
