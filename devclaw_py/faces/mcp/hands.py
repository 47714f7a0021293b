"""Threads that carry blocking calls out, so that two go side by side and none is broken off half-way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

AT_ONCE = 8
WAITING = 64

# What may still end when the client has gone or the server is stopped: an operation whose process dies is settled by
# the next one.
FINISH_S = 30.0

Found = TypeVar("Found")


class TooMany(Exception):
    """So many calls wait already that this one was not begun."""


class Hands:
    """A few threads. A call whose client lost interest goes on to its end, or is never begun."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="call")
        self._open: set[Future[object]] = set()

    async def run(self, deed: Callable[[], Found]) -> Found:
        """Return what the deed returns.

        Raises:
            TooMany: nothing was done.
        """
        if len(self._open) >= AT_ONCE + WAITING:
            raise TooMany
        begun = self._pool.submit(deed)
        self._open.add(begun)  # type: ignore[arg-type]  # kept to be waited for, never to be read
        begun.add_done_callback(self._open.discard)
        return await asyncio.wrap_future(begun)

    def finish(self) -> None:
        """Begin nothing more, and wait a while for what was begun."""
        self._pool.shutdown(wait=False, cancel_futures=True)
        wait(list(self._open), timeout=FINISH_S)
