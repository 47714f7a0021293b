"""A Store that ends with its process: for tests, the demo and the simulator. Safe between threads."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from devclaw_py.errors import ProjectBusy
from devclaw_py.kernel.clock import Clock, timestamp
from devclaw_py.kernel.locks import POLL_S
from devclaw_py.model.journal import AuditLine
from devclaw_py.state.audit import is_since
from devclaw_py.state.database import Database
from devclaw_py.state.journal import SqliteJournal
from devclaw_py.state.lines import decode, encode, stands
from devclaw_py.state.registry import StoredRegistry


class MemoryShelf:
    """The registry's text in memory, with the texts that were backed up."""

    name = "the registry in memory"

    def __init__(self) -> None:
        self.content: bytes | None = None
        self.backups: list[bytes] = []
        self._guard = threading.Lock()

    def read(self) -> bytes | None:
        """Return the text, or None when nothing was stored."""
        return self.content

    def write(self, content: bytes) -> None:
        """Replace the text."""
        self.content = content

    def back_up(self, content: bytes) -> None:
        """Keep the text."""
        self.backups.append(content)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other threads away."""
        with self._guard:
            yield


class MemoryAudit:
    """The audit log as a list of the lines that the file would hold."""

    def __init__(self, clock: Clock) -> None:
        self.lines: list[bytes] = []
        self._clock, self._guard = clock, threading.Lock()

    def append(self, line: AuditLine) -> None:
        """Append one line."""
        with self._guard:
            self.lines.append(encode(line, now=self._clock.now()))

    def append_once(self, line: AuditLine) -> bool:
        """Append unless a line of the same op and event stands from ``line.ts`` on."""
        with self._guard:
            if stands(line, reversed(self.lines)):
                return False
            self.lines.append(encode(line, now=self._clock.now()))
            return True

    def read(self, *, since: datetime | None = None) -> Iterator[dict[str, object]]:
        """Yield the lines as objects, oldest first."""
        for line in tuple(self.lines):
            entry = decode(line)
            if entry is not None and is_since(entry, since):
                yield entry


class MemoryStore:
    """Memory of one process; ``registry_shelf`` is open so that a test may put an older text there."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.registry_shelf = MemoryShelf()
        self._registry = StoredRegistry(self.registry_shelf)
        self._audit = MemoryAudit(clock)
        self._journal = SqliteJournal(Database(None, busy_s=0), clock)
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._holders: dict[str, str] = {}

    @property
    def registry(self) -> StoredRegistry:
        """The projects."""
        return self._registry

    @property
    def audit(self) -> MemoryAudit:
        """The audit log."""
        return self._audit

    @property
    def journal(self) -> SqliteJournal:
        """The journal."""
        return self._journal

    @contextmanager
    def hold(self, name: str, *, wait_s: float, holder: str) -> Iterator[None]:
        """Hold one named lock between threads; time passes on the store's clock."""
        lock, deadline = self._locks[name], self._clock.monotonic() + wait_s
        while not lock.acquire(blocking=False):
            if self._clock.monotonic() >= deadline:
                by = self._holders.get(name, "another operation")
                raise ProjectBusy(f"{name} is held by {by} and was not free within {wait_s:g} s; try again")
            self._clock.sleep(POLL_S)
        self._holders[name] = f"{holder} (since {timestamp(self._clock.now())})"
        try:
            yield
        finally:
            lock.release()
