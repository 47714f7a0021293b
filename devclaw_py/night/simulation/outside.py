"""What the night's devclaw meets: trackers that take their time, groups that hear, processes that are killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeVar

from devclaw_py.errors import SessionFailed
from devclaw_py.kernel.clock import Clock
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.model.journal import OutboxRow
from devclaw_py.model.project import Project
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.faulty import FaultyTracker

T = TypeVar("T")


class Killed(BaseException):
    """What SIGKILL is for a process: nothing in the package catches it."""


class Trap(FailPoints):
    """Kills whoever comes to the so manyth place at which a process can be stopped: a fail point, a tracker's call."""

    def __init__(self) -> None:
        super().__init__()
        self._left: int | None = None
        self.kills = 0

    def set(self, places: int) -> None:
        """Let the process be killed that comes to the place of this number, counted from 1 from now on."""
        self._left = places

    def spring(self) -> None:
        """Take the trap away."""
        self._left = None

    def hit(self, name: str) -> None:
        """Be one place further."""
        if self._left is None:
            return
        self._left -= 1
        if self._left <= 0:
            self._left = None
            self.kills += 1
            raise Killed


class SlowTracker(FaultyTracker):
    """A tracker whose every call takes ``seconds``, in the middle of which the effect happens."""

    def __init__(self, inner: IssueProvider, clock: Clock, trap: Trap, *, seconds: float) -> None:
        super().__init__(inner)
        self._clock, self._trap, self._seconds = clock, trap, seconds

    def around(self, method: str, effect: Callable[[], T]) -> T:
        """Carry out one call; others act before its effect and after it."""
        self._wait()
        outcome = super().around(method, effect)
        self._wait()
        self.calls.clear()  # a night has hundreds of thousands
        return outcome

    def _wait(self) -> None:
        if self._seconds:
            self._clock.sleep(self._seconds / 2)
        self._trap.hit("tracker")


class Groups:
    """A `Notifier` that keeps count: which announcement arrived how often, and how many each issue had."""

    def __init__(self) -> None:
        self.is_down = False
        self.heard: Counter[str] = Counter()
        self.by_issue: Counter[tuple[str, int]] = Counter()
        self.order: dict[str, list[OutboxRow]] = {}

    def deliver(self, row: OutboxRow, project: Project | None) -> None:
        """Take an announcement.

        Raises:
            SessionFailed: nobody can be reached now.
        """
        if self.is_down:
            raise SessionFailed("the chat cannot be reached")
        self.heard[row.key] += 1
        self.order.setdefault(row.group_id, []).append(row)
        if row.announcement.task is not None:
            self.by_issue[row.group_id, row.announcement.task.number] += 1
