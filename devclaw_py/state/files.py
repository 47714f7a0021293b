"""The Store of a workspace on disk: memory/projects.json, audit.log, journal.db and locks/."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from devclaw_py.kernel.clock import Clock
from devclaw_py.model.settings import Settings
from devclaw_py.state.audit import FileAudit
from devclaw_py.state.database import Database
from devclaw_py.state.journal import SqliteJournal
from devclaw_py.state.locking import Locks
from devclaw_py.state.registry import FileShelf, StoredRegistry


class FilesStore:
    """One workspace's memory. Making it touches nothing; folders appear with the first write."""

    def __init__(self, workspace: Path, clock: Clock, settings: Settings) -> None:
        memory, wait_s = workspace / "memory", settings.timeouts.lock_s
        self._locks = Locks(memory / "locks", clock)
        self._registry = StoredRegistry(FileShelf(memory / "projects.json", self._locks, wait_s=wait_s))
        self._audit = FileAudit(
            memory / "audit.log", self._locks, clock, max_bytes=settings.audit.max_bytes, wait_s=wait_s
        )
        self._journal = SqliteJournal(Database(memory / "journal.db", busy_s=wait_s), clock)

    @property
    def registry(self) -> StoredRegistry:
        """The projects."""
        return self._registry

    @property
    def audit(self) -> FileAudit:
        """The audit log."""
        return self._audit

    @property
    def journal(self) -> SqliteJournal:
        """The journal."""
        return self._journal

    def hold(self, name: str, *, wait_s: float, holder: str) -> AbstractContextManager[None]:
        """Hold one named lock between processes."""
        return self._locks.hold(name, wait_s=wait_s, holder=holder)

    def disconnect(self) -> None:
        """Let go of the journal's file; the store stays usable."""
        self._journal.disconnect()
