"""journal.db: the SQLite file, its schema, and transactions that are durable when they return."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from devclaw_py.errors import ConfigError, DevClawError, Internal, ProjectBusy, StateCorrupt
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.kernel.files import folder
from devclaw_py.kernel.locks import POLL_S

VERSION = 2

# `body` is the whole record as JSON; the other columns are what is searched for and what must be unique.
SCHEMA = """
CREATE TABLE intent (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, op TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, group_id TEXT NOT NULL,
    issue INTEGER, attempt INTEGER, lined INTEGER NOT NULL DEFAULT 0, body TEXT NOT NULL);
CREATE UNIQUE INDEX intent_issue ON intent (group_id, issue) WHERE issue IS NOT NULL AND kind <> 'complete';
CREATE UNIQUE INDEX intent_report ON intent (group_id, issue, ifnull(attempt, 0)) WHERE kind = 'complete';
CREATE TABLE attempt (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, group_id TEXT NOT NULL, issue INTEGER NOT NULL, number INTEGER NOT NULL,
    body TEXT NOT NULL, UNIQUE (group_id, issue, number));
CREATE TABLE wish (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, group_id TEXT NOT NULL, issue INTEGER NOT NULL, role TEXT NOT NULL,
    body TEXT NOT NULL, UNIQUE (group_id, issue, role));
CREATE TABLE outbox (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL UNIQUE, group_id TEXT NOT NULL, sent TEXT,
    body TEXT NOT NULL);
CREATE INDEX outbox_unsent ON outbox (group_id, seq) WHERE sent IS NULL;
CREATE TABLE line (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, op TEXT NOT NULL, event TEXT NOT NULL, body TEXT NOT NULL,
    UNIQUE (op, event));
CREATE TABLE request (
    group_id TEXT NOT NULL, request_id TEXT NOT NULL, at TEXT NOT NULL, body TEXT NOT NULL,
    PRIMARY KEY (group_id, request_id));
CREATE TABLE event (session TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY (session, name));
"""
# What an attempt used, by the time of its end: sums over days must not read every attempt there was. NULL: not known.
USAGE = """
CREATE TABLE usage (
    group_id TEXT NOT NULL, issue INTEGER NOT NULL, number INTEGER NOT NULL, ended TEXT NOT NULL,
    input INTEGER, output INTEGER, cache_read INTEGER, cache_creation INTEGER, cost_usd REAL,
    PRIMARY KEY (group_id, issue, number));
CREATE INDEX usage_ended ON usage (ended, group_id);
"""
# What a file of an earlier version lacks, by that version.
UPGRADES = {0: SCHEMA, 1: USAGE}

FULL = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR})
CLOSED = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH})
BUSY = frozenset({sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED})
CORRUPT = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_SCHEMA})
PRIMARY_CODE = 0xFF


class Database:
    """One connection a process, shared by its threads; a forked child opens its own.

    ``path`` None keeps everything in memory.
    """

    def __init__(self, path: Path | None, *, busy_s: float) -> None:
        self._path, self._busy_s = path, busy_s
        self._owner, self._guard = os.getpid(), threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._inherited: list[sqlite3.Connection] = []

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Run the block as one transaction: durable when it ends, undone when it raises.

        Raises:
            StateCorrupt: the file is no journal, is damaged, or was written by a newer devclaw. It is left as it is.
            ConfigError: the machine refused the write.
            ProjectBusy: other processes kept the journal longer than ``busy_s``.
        """
        with self._own_guard(), self._translated():
            connection = self._open()
            connection.execute("BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Run the block on what is committed; a journal that does not exist yet reads as an empty one."""
        with self._own_guard(), self._translated():
            if self._connection is None and self._path is not None and not self._path.exists():
                yield from _empty()
                return
            yield self._open()

    def close(self) -> None:
        """Close this process's connection; the next transaction opens it again."""
        with self._own_guard():
            if self._connection is not None and self._path is not None:
                self._connection.close()
                self._connection = None

    @contextmanager
    def _own_guard(self) -> Iterator[None]:
        if self._owner != os.getpid() and self._path is not None:
            # After a fork: closing the parent's connection here would end its locks, and its guard may be taken.
            if self._connection is not None:
                self._inherited.append(self._connection)
            self._owner, self._guard, self._connection = os.getpid(), threading.RLock(), None
        with self._guard:
            yield

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            if self._path is not None:
                folder(self._path.parent)
            connection = sqlite3.connect(
                self._path or ":memory:", timeout=self._busy_s, isolation_level=None, check_same_thread=False
            )
            try:
                self._prepare_in_time(connection)
            except (sqlite3.Error, DevClawError):
                connection.close()
                raise
            self._connection = connection
        return self._connection

    def _prepare_in_time(self, connection: sqlite3.Connection) -> None:
        # SQLite does not wait by itself when two processes switch a new file to WAL at the same time.
        clock = SystemClock()
        deadline = clock.monotonic() + self._busy_s
        while True:
            try:
                return self._prepare(connection)
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode & PRIMARY_CODE not in BUSY or clock.monotonic() >= deadline:
                    raise
                clock.sleep(POLL_S)

    def _prepare(self, connection: sqlite3.Connection) -> None:
        connection.row_factory = sqlite3.Row
        if self._version(connection) != VERSION:
            # Outside a transaction by SQLite's rules, and lasting: the file remembers it.
            connection.execute("PRAGMA journal_mode = WAL")
            self._make(connection)
        connection.execute("PRAGMA synchronous = FULL")

    def _make(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        for version in range(self._version(connection), VERSION):
            for statement in UPGRADES[version].split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")

    def _version(self, connection: sqlite3.Connection) -> int:
        found = int(connection.execute("PRAGMA user_version").fetchone()[0])
        if found > VERSION:
            raise StateCorrupt(
                f"{self._path} has version {found}, this devclaw knows {VERSION}; install the newer devclaw again"
            )
        return found

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._error(error) from error

    def _error(self, error: sqlite3.Error) -> DevClawError:
        code = getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE
        if code in BUSY:
            return ProjectBusy(f"{self._path} is kept by other operations for over {self._busy_s:g} s; try again")
        if code in FULL:
            return ConfigError(f"{self._path} could not be written: {error}; free some space on that disk, then retry")
        if code in CLOSED:
            return ConfigError(f"{self._path} could not be written: {error}; make it and its folder writable")
        if code in CORRUPT:
            return StateCorrupt(
                f"{self._path} cannot be read: {error}; it is left as it is. Move it away, then run session_health"
            )
        return Internal(f"{self._path}: {error}")


def _empty() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    try:
        for script in UPGRADES.values():
            connection.executescript(script)
        yield connection
    finally:
        connection.close()
