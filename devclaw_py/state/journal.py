"""The journal over SQLite: every method is one durable transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TypeVar

from pydantic import BaseModel

from devclaw_py.errors import Internal, IssueClaimed
from devclaw_py.kernel.clock import Clock, timestamp
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
from devclaw_py.model.usage import Spending
from devclaw_py.state import spending
from devclaw_py.state.claims import claimed, clash, followed, reported
from devclaw_py.state.database import Database

Record = TypeVar("Record", bound=BaseModel)

ANSWERS_KEPT = timedelta(hours=24)


class SqliteJournal:
    """Open intents, attempts, wishes, the outbox, queued audit lines and answers."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def begin(self, intent: Intent, attempt: Attempt | None = None) -> None:
        """Write an intent before its first effect, and the attempt that it allots."""
        with self._database.transaction() as connection:
            self._insert(connection, intent)
            if attempt is not None:
                _put_attempt(connection, attempt)

    def mark(self, intent: Intent) -> None:
        """Save phase, payload, direction and ``next_try`` of an open intent."""
        with self._database.transaction() as connection:
            found = connection.execute("UPDATE intent SET body = ? WHERE op = ?", (_json(intent), intent.op))
            if found.rowcount == 0:
                raise Internal(f"operation {intent.op} is not open")

    def close(self, op: str, closing: Closing) -> None:
        """Delete the intent together with everything in ``closing``."""
        with self._database.transaction() as connection:
            row = connection.execute("DELETE FROM intent WHERE op = ? RETURNING group_id", (op,)).fetchone()
            if row is None:
                raise Internal(f"operation {op} is not open")
            if closing.attempt is not None:
                _change_attempt(connection, closing.attempt)
            if closing.fulfilled is not None:
                _drop_wish(connection, closing.fulfilled)
            if closing.wish is not None:
                _put_wish(connection, closing.wish)
            _queue(connection, closing.outbox)
            _queue_lines(connection, closing.lines)
            if closing.request_id is not None and closing.answer is not None:
                self._keep(connection, row[0], closing.request_id, closing.answer)

    def intents(self, group_id: str | None = None) -> list[Intent]:
        """Return open intents, oldest first."""
        return self._list(Intent, "SELECT body FROM intent WHERE ?1 IS NULL OR group_id = ?1 ORDER BY seq", group_id)

    def intent(self, op: str) -> Intent | None:
        """Return one open intent, or None when it is closed or never was."""
        return next(iter(self._list(Intent, "SELECT body FROM intent WHERE op = ?", op)), None)

    def report(self, intent: Intent, report: Report) -> bool:
        """Write a report into its attempt, and its intent, in one transaction; False when it stands already."""
        with self._database.transaction() as connection:
            attempts = _attempts(connection, intent.group_id, intent.issue)
            attempt = reported(intent, report, attempts)
            if attempt is None:
                return False
            _put_attempt(connection, attempt)
            self._insert(connection, intent)
        return True

    def change_attempt(self, change: AttemptChange) -> None:
        """Write what was learnt of an attempt, whatever else became of it meanwhile."""
        with self._database.transaction() as connection:
            _change_attempt(connection, change)

    def follow(self, following: Following) -> bool:
        """Write what is done about an attempt in one transaction; False when that is no longer called for."""
        with self._database.transaction() as connection:
            attempt = followed(following, _attempts(connection, following.group_id, following.issue))
            if attempt is None:
                return False
            _put_attempt(connection, attempt)
            _queue(connection, following.outbox)
            _queue_lines(connection, following.lines)
        return True

    def set_lined(self, op: str) -> None:
        """Note that the call of an open operation has its audit line; a closed one is no error."""
        with self._database.transaction() as connection:
            connection.execute("UPDATE intent SET lined = 1 WHERE op = ?", (op,))

    def lined(self, op: str) -> bool:
        """Say whether that was noted."""
        with self._database.reading() as connection:
            return connection.execute("SELECT 1 FROM intent WHERE op = ? AND lined", (op,)).fetchone() is not None

    def next_attempt(self, group_id: str, issue: int) -> int:
        """Return 1 + the highest attempt number known here for the issue."""
        with self._database.reading() as connection:
            highest = connection.execute(
                "SELECT max(known) FROM (SELECT max(number) AS known FROM attempt WHERE group_id = ?1 AND issue = ?2"
                " UNION ALL SELECT max(attempt) FROM intent WHERE group_id = ?1 AND issue = ?2)",
                (group_id, issue),
            ).fetchone()[0]
        return 1 + int(highest or 0)

    def attempts(self, group_id: str, issue: int | None = None) -> list[Attempt]:
        """Return attempts of a project or of one issue, oldest first."""
        with self._database.reading() as connection:
            return _attempts(connection, group_id, issue)

    def save_attempt(self, attempt: Attempt) -> None:
        """Replace one attempt by group, issue and number."""
        with self._database.transaction() as connection:
            _put_attempt(connection, attempt)

    def spending(
        self,
        group_id: str | None = None,
        *,
        since: datetime,
        until: datetime,
        issue: int | None = None,
        tier: Tier | None = None,
    ) -> Spending:
        """Add up what the attempts used that ended from ``since`` on and before ``until``."""
        with self._database.reading() as connection:
            return spending.between(connection, group_id, since, until, issue=issue, tier=tier)

    def wishes(self, group_id: str | None = None) -> list[Wish]:
        """Return waiting wishes, oldest first."""
        return self._list(Wish, "SELECT body FROM wish WHERE ?1 IS NULL OR group_id = ?1 ORDER BY seq", group_id)

    def drop_wish(self, wish: Wish) -> None:
        """Forget a wish; one that is gone already is no error."""
        with self._database.transaction() as connection:
            _drop_wish(connection, wish)

    def outbox(self, group_id: str | None = None) -> list[OutboxRow]:
        """Return unsent announcements, in the order they were queued."""
        sql = "SELECT body FROM outbox WHERE sent IS NULL AND (?1 IS NULL OR group_id = ?1) ORDER BY seq"
        return self._list(OutboxRow, sql, group_id)

    def announced(self, op: str) -> bool:
        """Say whether an announcement of the operation was ever queued, sent by now or not."""
        with self._database.reading() as connection:
            # ";" follows ":", so this is every key that begins with "<op>:", found by the index of the keys.
            sql = "SELECT 1 FROM outbox WHERE key > ? AND key < ? LIMIT 1"
            return connection.execute(sql, (f"{op}:", f"{op};")).fetchone() is not None

    def queue(self, *rows: OutboxRow) -> None:
        """Queue announcements outside an operation's end; a known key is passed over."""
        with self._database.transaction() as connection:
            _queue(connection, rows)

    def save_outbox(self, row: OutboxRow) -> None:
        """Save ``sent``, ``tries`` and ``next_try`` of one row."""
        sent = None if row.sent is None else timestamp(row.sent)
        with self._database.transaction() as connection:
            connection.execute("UPDATE outbox SET sent = ?, body = ? WHERE key = ?", (sent, _json(row), row.key))

    def queued_lines(self) -> list[AuditLine]:
        """Return audit lines that are queued and not yet known to be written, oldest first."""
        return self._list(AuditLine, "SELECT body FROM line ORDER BY seq")

    def drop_lines(self, lines: Sequence[AuditLine]) -> None:
        """Forget queued audit lines (by op and event) that have been written."""
        with self._database.transaction() as connection:
            connection.executemany(
                "DELETE FROM line WHERE op = ? AND event = ?", [(line.op, line.event) for line in lines]
            )

    def answer(self, group_id: str, request_id: str) -> dict[str, object] | None:
        """Return the answer kept under a request id within the last 24 hours, or None."""
        with self._database.reading() as connection:
            row = connection.execute(
                "SELECT body FROM request WHERE group_id = ? AND request_id = ? AND at > ?",
                (group_id, request_id, timestamp(self._clock.now() - ANSWERS_KEPT)),
            ).fetchone()
        if row is None:
            return None
        found: dict[str, object] = json.loads(row[0])
        return found

    def keep_answer(self, group_id: str, request_id: str, answer: dict[str, object]) -> None:
        """Keep a call's answer under its request id."""
        with self._database.transaction() as connection:
            self._keep(connection, group_id, request_id, answer)

    def first_seen(self, session: str, name: str) -> bool:
        """Note an agent's event by the name of its file; False when it was noted before."""
        with self._database.transaction() as connection:
            added = connection.execute("INSERT OR IGNORE INTO event VALUES (?, ?)", (session, name))
            return added.rowcount == 1

    def disconnect(self) -> None:
        """Close the connection; the next call opens it again."""
        self._database.close()

    def _insert(self, connection: sqlite3.Connection, intent: Intent) -> None:
        rows = connection.execute("SELECT body FROM intent WHERE group_id = ?", (intent.group_id,)).fetchall()
        other = clash(intent, [Intent.model_validate_json(row[0]) for row in rows])
        if other is not None:
            raise claimed(intent, other, self._clock.now())
        try:
            connection.execute(
                "INSERT INTO intent (op, kind, group_id, issue, attempt, body) VALUES (?, ?, ?, ?, ?, ?)",
                (intent.op, intent.kind, intent.group_id, intent.issue, intent.attempt, _json(intent)),
            )
        except sqlite3.IntegrityError as error:
            raise IssueClaimed(f"operation {intent.op} is open already") from error

    def _keep(self, connection: sqlite3.Connection, group_id: str, request_id: str, answer: dict[str, object]) -> None:
        now = self._clock.now()
        connection.execute("DELETE FROM request WHERE at <= ?", (timestamp(now - ANSWERS_KEPT),))
        connection.execute(
            "INSERT OR REPLACE INTO request VALUES (?, ?, ?, ?)",
            (group_id, request_id, timestamp(now), json.dumps(answer)),
        )

    def _list(self, record: type[Record], sql: str, *values: object) -> list[Record]:
        with self._database.reading() as connection:
            return [record.model_validate_json(row[0]) for row in connection.execute(sql, values)]


def _attempts(connection: sqlite3.Connection, group_id: str, issue: int | None) -> list[Attempt]:
    rows = connection.execute(
        "SELECT body FROM attempt WHERE group_id = ?1 AND (?2 IS NULL OR issue = ?2) ORDER BY seq", (group_id, issue)
    )
    return [Attempt.model_validate_json(row[0]) for row in rows]


def _put_attempt(connection: sqlite3.Connection, attempt: Attempt) -> None:
    connection.execute(
        "INSERT INTO attempt (group_id, issue, number, body) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (group_id, issue, number) DO UPDATE SET body = excluded.body",
        (attempt.group_id, attempt.issue, attempt.number, _json(attempt)),
    )


def _change_attempt(connection: sqlite3.Connection, change: AttemptChange) -> None:
    for attempt in _attempts(connection, change.group_id, change.issue):
        if attempt.number == change.number:
            _put_attempt(connection, change.applied(attempt))
            if change.usage is not None and change.ended is not None:
                spending.put(connection, change, change.usage, change.ended)


def _put_wish(connection: sqlite3.Connection, wish: Wish) -> None:
    connection.execute(
        "INSERT INTO wish (group_id, issue, role, body) VALUES (?, ?, ?, ?)"
        " ON CONFLICT (group_id, issue, role) DO UPDATE SET body = excluded.body",
        (wish.group_id, wish.issue, wish.role, _json(wish)),
    )


def _drop_wish(connection: sqlite3.Connection, wish: Wish) -> None:
    connection.execute(
        "DELETE FROM wish WHERE group_id = ? AND issue = ? AND role = ?", (wish.group_id, wish.issue, wish.role)
    )


def _queue(connection: sqlite3.Connection, rows: Sequence[OutboxRow]) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO outbox (key, group_id, sent, body) VALUES (?, ?, ?, ?)",
        [(row.key, row.group_id, None if row.sent is None else timestamp(row.sent), _json(row)) for row in rows],
    )


def _queue_lines(connection: sqlite3.Connection, lines: Sequence[AuditLine]) -> None:
    connection.executemany(
        "INSERT OR IGNORE INTO line (op, event, body) VALUES (?, ?, ?)",
        [(line.op, line.event, _json(line)) for line in lines],
    )


def _json(record: BaseModel) -> str:
    return record.model_dump_json(by_alias=True)
