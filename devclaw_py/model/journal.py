"""What survives a crash: intents, attempts, wishes and what still has to be told."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Self

from pydantic import Field

from devclaw_py.model.announcement import Announcement
from devclaw_py.model.base import Stored, Value
from devclaw_py.model.following import Followed
from devclaw_py.model.pipeline import Result, Role, SeatKey, State, Tier
from devclaw_py.model.usage import Meter, TaskUsage


class Intent(Stored):
    """An operation begun. Written before its first effect, marked after each, deleted with its audit line.

    ``phase`` is the last row whose effect is known to have happened, row 1 being the intent itself; the row after it
    may have happened. ``undoing`` is set before the first undo and never taken back. ``next_try`` is set when the
    intent is parked.
    """

    op: str
    kind: str
    tool: str
    group_id: str
    issue: int | None = None
    role: Role | None = None
    seat: int = 1
    tier: Tier | None = None
    session: str | None = None
    attempt: int | None = None
    source: State | None = None
    target: State | None = None
    payload: dict[str, Any] = Field(default_factory=dict)
    phase: int = 1
    undoing: bool = False
    caller: str = ""
    owner: int = 0
    at: datetime
    next_try: datetime | None = None
    tries: int = 0

    @property
    def named(self) -> str:
        """The operation in words: its tool, and its issue where it has one."""
        return self.tool if self.issue is None else f"{self.tool} of #{self.issue}"

    @property
    def key(self) -> SeatKey:
        """The seat that the operation is about."""
        assert self.role is not None
        return SeatKey(self.role, self.seat)

    def knowing(self, **facts: object) -> Self:
        """Return the intent with further facts in its payload; they are saved with the next mark."""
        return self.model_copy(update={"payload": {**self.payload, **facts}})


class Report(Stored):
    """What a worker says of its task."""

    result: Result
    summary: str = ""


class Attempt(Stored):
    """One pickup of one task. ``number`` is the fence: only the newest attempt's report counts.

    ``ended`` with ``reason`` "void" means that the worker never saw it. Title and url are the task's at the pickup.
    ``given_up`` is set when the issue was left to people after it: what they give back to a queue counts anew.
    ``branch`` is what it works on or tests, ``commit`` where it began. ``outcome`` is the first answer to its report,
    ``followed`` what was done while there was none. ``meter`` is where its usage is counted from, ``usage`` what was
    counted at its end. ``waived`` says that a person picked it up although a budget was used up: none ends it. ``text``
    is the digest of title and description as the worker was last told them.
    """

    group_id: str
    issue: int
    number: int
    role: Role
    seat: int = 1
    tier: Tier
    session: str
    op: str
    title: str = ""
    url: str = ""
    branch: str | None = None
    commit: str | None = None
    accepted: datetime | None = None
    started: datetime
    ended: datetime | None = None
    reason: str | None = None
    given_up: datetime | None = None
    report: Report | None = None
    outcome: dict[str, Any] | None = None
    followed: Followed | None = None
    meter: Meter | None = None
    usage: TaskUsage | None = None
    waived: bool = False
    text: str | None = None

    @property
    def key(self) -> SeatKey:
        """The seat that had it."""
        return SeatKey(self.role, self.seat)

    def ended_by(self, reason: str, at: datetime) -> AttemptChange:
        """Return the change that ends it without an outcome."""
        return AttemptChange(group_id=self.group_id, issue=self.issue, number=self.number, ended=at, reason=reason)


class AttemptChange(Value):
    """What an operation learnt of an attempt. What is None is left as it stands when the change is written.

    ``accepted`` stands as it was first known. A change, not a copy of the attempt: a report may be written at any time.
    """

    group_id: str
    issue: int
    number: int
    branch: str | None = None
    commit: str | None = None
    accepted: datetime | None = None
    ended: datetime | None = None
    reason: str | None = None
    given_up: datetime | None = None
    outcome: dict[str, Any] | None = None
    meter: Meter | None = None
    usage: TaskUsage | None = None
    text: str | None = None

    def applied(self, attempt: Attempt) -> Attempt:
        """Return the attempt with the change."""
        learnt = ("branch", "commit", "ended", "reason", "given_up", "outcome", "meter", "usage", "text")
        known = {name: getattr(self, name) for name in learnt}
        update = {name: value for name, value in known.items() if value is not None}
        return attempt.model_copy(update={**update, "accepted": attempt.accepted or self.accepted})


class Wish(Stored):
    """A pickup that should follow; it waits until the seat is free."""

    group_id: str
    issue: int
    role: Role
    tier: Tier | None = None
    cause: str = "chain"
    at: datetime


class OutboxRow(Stored):
    """One announcement that a group has yet to be told. ``key`` is unique: the same row is queued once."""

    key: str
    group_id: str
    announcement: Announcement
    at: datetime
    sent: datetime | None = None
    tries: int = 0
    next_try: datetime | None = None


class AuditLine(Stored):
    """One line of audit.log. ``facts`` follow the named fields; see `memory/README.md` for the events."""

    ts: datetime
    event: str
    op: str
    caller: str
    project: str | None = None
    group_id: str | None = None
    issue: int | None = None
    facts: dict[str, Any] = Field(default_factory=dict)


class Closing(Value):
    """Everything that becomes true in the transaction that ends an operation.

    ``facts`` go into the audit line that every operation has under its tool's name; ``lines`` are further ones.
    """

    facts: dict[str, Any] = Field(default_factory=dict)
    lines: tuple[AuditLine, ...] = ()
    outbox: tuple[OutboxRow, ...] = ()
    wish: Wish | None = None
    fulfilled: Wish | None = None
    attempt: AttemptChange | None = None
    request_id: str | None = None
    answer: dict[str, Any] | None = None


class Following(Value):
    """One more thing that is done about an attempt without a report, and what becomes true with it.

    ``followed`` has the number after the one that was read: of two that are done at once only one is written.
    """

    group_id: str
    issue: int
    number: int
    followed: Followed
    lines: tuple[AuditLine, ...] = ()
    outbox: tuple[OutboxRow, ...] = ()
