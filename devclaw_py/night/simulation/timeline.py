"""The night's clock: whoever waits on it lets the others act."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from datetime import datetime

from devclaw_py.kernel.clock import VirtualClock

Act = Callable[[], object]

# An operation that waits lets others act, and those again. What is due beyond that waits for them to end.
DEEPEST = 3


class Timeline(VirtualClock):
    """A virtual clock with appointments: each is kept when time comes to it, also while somebody waits.

    So a worker reports and a person moves a label in the middle of another operation, wherever that waits or asks the
    outside. ``after`` is called after each appointment that interrupted nobody.
    """

    def __init__(self, start: datetime) -> None:
        super().__init__(start)
        self._heap: list[tuple[float, int, str, Act]] = []
        self._made = 0
        self._depth = 0
        self.kept = 0
        self.after: Callable[[str], None] = lambda name: None

    @property
    def interrupting(self) -> bool:
        """Whether something acts right now that was not there when the current appointment began."""
        return self._depth > 1

    def later(self, seconds: float, name: str, act: Act) -> None:
        """Make an appointment so many seconds from now."""
        self._made += 1
        heapq.heappush(self._heap, (self.monotonic() + max(seconds, 0.0), self._made, name, act))

    def at(self, when: datetime, name: str, act: Act) -> None:
        """Make an appointment; one in the past is kept at once."""
        self.later((when - self.now()).total_seconds(), name, act)

    def sleep(self, seconds: float) -> None:
        """Let ``seconds`` pass, and everything that is due in them happen."""
        until = self.monotonic() + seconds
        while self._depth < DEEPEST and self._heap and self._heap[0][0] <= until:
            self._keep_next()
        if until > self.monotonic():
            super().sleep(until - self.monotonic())

    def run_until(self, end: datetime) -> None:
        """Keep every appointment up to ``end``."""
        while self._heap and self.now() < end:
            left = (end - self.now()).total_seconds()
            if self._heap[0][0] > self.monotonic() + left:
                break
            self._keep_next()
        if self.now() < end:
            super().sleep((end - self.now()).total_seconds())

    def _keep_next(self) -> None:
        due, _, name, act = heapq.heappop(self._heap)
        if due > self.monotonic():
            super().sleep(due - self.monotonic())
        self._depth += 1
        try:
            act()
        finally:
            self._depth -= 1
        self.kept += 1
        if not self._depth:
            self.after(name)
