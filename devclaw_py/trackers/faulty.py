"""Ports that fail when told to: once before an effect, once after it, or until they are up again.

`Faults` knows no port; `FaultyTracker` and `FaultyRequests` put it around theirs, and another port takes a class like
them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import TypeVar

from devclaw_py.errors import Outside, TrackerUnavailable
from devclaw_py.model.finding import Finding
from devclaw_py.model.request import Request
from devclaw_py.model.task import Comment, LabelEvent, Task
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.requests import RequestProvider

T = TypeVar("T")


class Faults:
    """Which calls fail, with ``error``, and what somebody else does between two calls."""

    def __init__(self, error: Callable[[str], Outside]) -> None:
        self._error = error
        self._armed: dict[tuple[str, bool], int] = {}
        self._interruptions: dict[int, Callable[[], None]] = {}
        self._is_down = False
        self._lock = Lock()
        self.calls: list[str] = []

    def arm(self, method: str, *, after: bool, times: int = 1) -> None:
        """Let the next ``times`` calls of ``method`` fail, before the effect or after it."""
        with self._lock:
            self._armed[method, after] = times

    def interrupt(self, call: int, act: Callable[[], None]) -> None:
        """Do ``act`` right before the call of that number, counted from 1 over `calls`."""
        with self._lock:
            self._interruptions[call] = act

    def down(self) -> None:
        """Let every call fail before its effect."""
        self._is_down = True

    def up(self) -> None:
        """End `down`."""
        self._is_down = False

    @property
    def is_down(self) -> bool:
        """Whether `down` is in force."""
        return self._is_down

    def around(self, method: str, effect: Callable[[], T]) -> T:
        """Carry out one call of the port."""
        with self._lock:
            self.calls.append(method)
            act = self._interruptions.pop(len(self.calls), None)
        if act is not None:
            act()
        if self._is_down or self._spent(method, after=False):
            raise self._error(f"{method} was made to fail before its effect")
        outcome = effect()
        if self._spent(method, after=True):
            raise self._error(f"{method} was made to fail after its effect")
        return outcome

    def _spent(self, method: str, *, after: bool) -> bool:
        with self._lock:
            left = self._armed.get((method, after), 0)
            self._armed[method, after] = max(0, left - 1)
            return left > 0


class FaultyTracker(Faults):
    """An `IssueProvider` around another one that fails with `TrackerUnavailable` when told to."""

    def __init__(self, inner: IssueProvider) -> None:
        super().__init__(TrackerUnavailable)
        self.inner = inner

    @property
    def swaps(self) -> bool:
        """Whether the inner tracker swaps; this never fails."""
        return self.inner.swaps

    def where(self) -> str:
        """Return the inner tracker's name; this never fails."""
        return self.inner.where()

    def get(self, number: int) -> Task:
        """Return one issue."""
        return self.around("get", lambda: self.inner.get(number))

    def list_by_label(self, label: str) -> list[Task]:
        """Return all open issues that carry ``label``."""
        return self.around("list_by_label", lambda: self.inner.list_by_label(label))

    def pulse(self) -> str | None:
        """Return the inner tracker's."""
        return self.around("pulse", self.inner.pulse)

    def list_all(self, *, newest: int | None = None) -> list[Task]:
        """Return issues, lowest number first."""
        return self.around("list_all", lambda: self.inner.list_all(newest=newest))

    def create(self, title: str, body: str, *, labels: Sequence[str], assignees: Sequence[str] = ()) -> Task:
        """Create an open issue."""
        return self.around("create", lambda: self.inner.create(title, body, labels=labels, assignees=assignees))

    def take(self, number: int, label: str) -> frozenset[str] | None:
        """Take one label off."""
        return self.around("take", lambda: self.inner.take(number, label))

    def put(self, number: int, label: str) -> frozenset[str]:
        """Add one label."""
        return self.around("put", lambda: self.inner.put(number, label))

    def swap(self, number: int, source: str, target: str) -> frozenset[str]:
        """Take one label off and add another."""
        return self.around("swap", lambda: self.inner.swap(number, source, target))

    def comment(self, number: int, body: str) -> Comment:
        """Add a comment."""
        return self.around("comment", lambda: self.inner.comment(number, body))

    def comments(self, number: int) -> list[Comment]:
        """Return all comments."""
        return self.around("comments", lambda: self.inner.comments(number))

    def close(self, number: int) -> None:
        """Close an issue."""
        self.around("close", lambda: self.inner.close(number))

    def reopen(self, number: int) -> None:
        """Open an issue."""
        self.around("reopen", lambda: self.inner.reopen(number))

    def ensure_labels(self, colours: Mapping[str, str]) -> None:
        """Create the labels that are missing."""
        self.around("ensure_labels", lambda: self.inner.ensure_labels(colours))

    def last_event(self, number: int, label: str) -> LabelEvent | None:
        """Return the newest event of ``label``."""
        return self.around("last_event", lambda: self.inner.last_event(number, label))

    def label_events(self, number: int) -> list[LabelEvent]:
        """Return all label events."""
        return self.around("label_events", lambda: self.inner.label_events(number))

    def diagnose(self) -> list[Finding]:
        """Return what doctor should say."""
        return self.around("diagnose", self.inner.diagnose)


class FaultyRequests(Faults):
    """A `RequestProvider` around another one that fails with `TrackerUnavailable` when told to."""

    def __init__(self, inner: RequestProvider) -> None:
        super().__init__(TrackerUnavailable)
        self.inner = inner

    def find(self, branch: str) -> Request | None:
        """Return the newest request from ``branch``."""
        return self.around("find", lambda: self.inner.find(branch))

    def open(self, *, branch: str, base: str, title: str, body: str) -> Request:
        """Open a request."""
        return self.around("open", lambda: self.inner.open(branch=branch, base=base, title=title, body=body))

    def merge(self, number: int, *, head: str) -> Request:
        """Merge a request."""
        return self.around("merge", lambda: self.inner.merge(number, head=head))
