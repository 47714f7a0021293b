"""The Store port: what every operation remembers, and the locks that keep processes apart.

Adapters: `state.files` (projects.json, audit.log, journal.db) and `state.memory`. One contract suite holds both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from devclaw_py.model.journal import (
    Attempt,
    AttemptChange,
    AuditLine,
    Closing,
    Following,
    Intent,
    OutboxRow,
    Report,
    Wish,
)
from devclaw_py.model.pipeline import Tier
from devclaw_py.model.project import Project
from devclaw_py.model.usage import Spending


class Registry(Protocol):
    """The projects, keyed by chat group id. Readers never lock and never see half a file.

    Every method raises `StateCorrupt` when what is stored cannot be read, and changes nothing then.
    """

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored; an absent registry reads as an empty one, and callers say so."""
        ...

    def all(self) -> dict[str, Project]:
        """Return every project by group id, in the order of registration; empty when nothing is stored."""
        ...

    def get(self, group_id: str) -> Project:
        """Return one project.

        Raises:
            UnknownProject: with the known ones in its message.
        """
        ...

    def change(self, group_id: str, edit: Callable[[Project], Project]) -> Project:
        """Apply ``edit`` to the project as it is now, under the registry lock, and return what was written.

        Raises:
            UnknownProject: the project is gone.
        """
        ...

    def add(self, project: Project) -> None:
        """Add a project under the registry lock.

        Raises:
            AlreadyRegistered: its group has one, or another project has its slug. An empty slug is filled in.
        """
        ...

    def remove(self, group_id: str) -> Project:
        """Remove and return a project.

        Raises:
            UnknownProject: there is none.
        """
        ...


class Audit(Protocol):
    """The audit log: one JSON object a line, appended, never rewritten."""

    def append(self, line: AuditLine) -> None:
        """Append one line with a single write under the audit lock; a line lost half-way is ended first."""
        ...

    def append_once(self, line: AuditLine) -> bool:
        """Append unless a line of the same ``op`` and ``event`` stands from ``line.ts`` on.

        Returns whether the line was added now.
        """
        ...

    def read(self, *, since: datetime | None = None) -> Iterator[dict[str, object]]:
        """Yield the lines as objects, oldest first, rotated files included; unreadable lines are passed over."""
        ...


class Journal(Protocol):
    """Open intents, attempts, wishes, the outbox and the audit queue. Each method is one durable transaction."""

    def begin(self, intent: Intent, attempt: Attempt | None = None) -> None:
        """Write an intent before its first effect, and the attempt that it allots.

        Raises:
            IssueClaimed: another open intent keeps the issue. A report ("complete") and the pickup it ends do not
                exclude each other.
        """
        ...

    def mark(self, intent: Intent) -> None:
        """Save phase, payload, direction and ``next_try`` of an open intent."""
        ...

    def close(self, op: str, closing: Closing) -> None:
        """Delete the intent together with everything in ``closing``.

        The attempt is changed, the wish added (one for each group, issue and role), the fulfilled wish dropped,
        outbox rows with a known key passed over, audit lines queued, the answer kept under the request id.
        """
        ...

    def intents(self, group_id: str | None = None) -> list[Intent]:
        """Return open intents, oldest first."""
        ...

    def intent(self, op: str) -> Intent | None:
        """Return one open intent, or None when it is closed or never was."""
        ...

    def report(self, intent: Intent, report: Report) -> bool:
        """Write a report into its attempt, and its intent, in one transaction; the attempt counts as accepted.

        The attempt is found by group, issue and number of the intent. Returns False, and writes nothing, when it
        carries the same report already, ended or not.

        Raises:
            NotActive: no attempt of that number was ever allotted.
            StaleAttempt: the attempt has ended, a newer one exists, or another report stands.
        """
        ...

    def change_attempt(self, change: AttemptChange) -> None:
        """Write what was learnt of an attempt, whatever else became of it meanwhile."""
        ...

    def follow(self, following: Following) -> bool:
        """Write what is done about an attempt, with its audit lines and announcements, in one transaction.

        Returns False, and writes nothing, when the attempt has ended or has a report, or when something else was
        done about it since it was read.
        """
        ...

    def set_lined(self, op: str) -> None:
        """Note that the call of an open operation has its audit line; a closed one is no error."""
        ...

    def lined(self, op: str) -> bool:
        """Say whether that was noted."""
        ...

    def next_attempt(self, group_id: str, issue: int) -> int:
        """Return 1 + the highest attempt number known here for the issue."""
        ...

    def attempts(self, group_id: str, issue: int | None = None) -> list[Attempt]:
        """Return attempts of a project or of one issue, oldest first."""
        ...

    def save_attempt(self, attempt: Attempt) -> None:
        """Replace one attempt by group, issue and number."""
        ...

    def spending(
        self,
        group_id: str | None = None,
        *,
        since: datetime,
        until: datetime,
        issue: int | None = None,
        tier: Tier | None = None,
    ) -> Spending:
        """Add up what the attempts used that ended from ``since`` on and before ``until``, without reading them.

        None counts every group, issue or tier.
        """
        ...

    def wishes(self, group_id: str | None = None) -> list[Wish]:
        """Return waiting wishes, oldest first."""
        ...

    def drop_wish(self, wish: Wish) -> None:
        """Forget a wish; one that is gone already is no error."""
        ...

    def outbox(self, group_id: str | None = None) -> list[OutboxRow]:
        """Return unsent announcements, in the order they were queued."""
        ...

    def announced(self, op: str) -> bool:
        """Say whether an announcement of the operation was ever queued, sent by now or not."""
        ...

    def queue(self, *rows: OutboxRow) -> None:
        """Queue announcements outside an operation's end; a known key is passed over."""
        ...

    def save_outbox(self, row: OutboxRow) -> None:
        """Save ``sent``, ``tries`` and ``next_try`` of one row."""
        ...

    def queued_lines(self) -> list[AuditLine]:
        """Return audit lines that are queued and not yet known to be written, oldest first."""
        ...

    def drop_lines(self, lines: Sequence[AuditLine]) -> None:
        """Forget queued audit lines (by op and event) that have been written."""
        ...

    def answer(self, group_id: str, request_id: str) -> dict[str, object] | None:
        """Return the answer kept under a request id within the last 24 hours, or None."""
        ...

    def keep_answer(self, group_id: str, request_id: str, answer: dict[str, object]) -> None:
        """Keep a call's answer under its request id; a fuller or a later one of the same call replaces it."""
        ...

    def first_seen(self, session: str, name: str) -> bool:
        """Note an agent's event by the name of its file, or why a wish waits; False when it was noted before."""
        ...


class Store(Protocol):
    """One workspace's memory."""

    @property
    def registry(self) -> Registry:
        """The projects."""
        ...

    @property
    def audit(self) -> Audit:
        """The audit log."""
        ...

    @property
    def journal(self) -> Journal:
        """The journal."""
        ...

    def hold(self, name: str, *, wait_s: float, holder: str) -> AbstractContextManager[None]:
        """Hold one named lock: ``project:<group id>``, ``session:<name>``, ``outbox:<group id>`` ...

        Freed when the block ends or the process dies; children with effects inherit it. ``holder`` is written beside
        the lock for the message of whoever waits in vain. Not reentrant.

        Raises:
            ProjectBusy: not free within ``wait_s``; names the holder and its age.
        """
        ...
