"""What an operation is made of."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from devclaw_py.app import App
from devclaw_py.errors import DevClawError
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.caller import Caller
from devclaw_py.model.journal import AuditLine, Closing, Intent, OutboxRow
from devclaw_py.model.pipeline import Role, State, Tier

# Intents need a group; the workspace itself has none, and no chat has an empty id.
NO_GROUP = ""


class Waits(DevClawError):
    """An operation past its commit point that cannot go on yet; it is parked with this reason."""

    code = "pending"
    retryable = True


class Answered(Exception):
    """The call's request id has an answer already; nothing is to be done."""

    def __init__(self, answer: dict[str, Any]) -> None:
        self.answer = answer
        super().__init__()


@dataclass
class Call:
    """One call through the door: its operation id, when it began, and what was settled before it could run."""

    op: str
    tool: str
    caller: Caller
    at: datetime
    request_id: str | None = None
    settled: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Step:
    """One effect: ``do`` makes it, ``ask`` says whether it happened, ``undo`` is harmless if it did not.

    Each is a function of (app, intent) alone and returns the intent with the facts it learnt. ``ask`` returns None
    when the effect did not happen, or when making it again does no harm.
    """

    row: int
    word: str
    do: Callable[[App, Intent], Intent]
    ask: Callable[[App, Intent], Intent | None]
    undo: Callable[[App, Intent], None] | None = None


@dataclass(frozen=True)
class Operation:
    """Steps in their order, and what becomes true at the end.

    ``committed`` says whether the operation can only go forward; asking may settle the question for good (an offer
    that was not accepted is void afterwards). ``finish`` and ``undone`` return the closing transaction. ``parked``
    is called when an operation that can only go forward has to wait.
    """

    kind: str
    first: str
    steps: tuple[Step, ...]
    committed: Callable[[App, Intent], bool]
    finish: Callable[[App, Intent], Closing]
    undone: Callable[[App, Intent], Closing]
    parked: Callable[[App, Intent, str], None] = lambda app, intent, reason: None

    def point(self, step: Step) -> str:
        """Return a step's fail point."""
        return f"{self.kind}.{step.row}.{step.word}"

    @property
    def points(self) -> tuple[str, ...]:
        """All fail points in their order; the last one lies between the closing transaction and the audit line."""
        last = self.steps[-1].row + 1
        return (f"{self.kind}.1.{self.first}", *map(self.point, self.steps), f"{self.kind}.{last}.close")


def begun(
    app: App,
    call: Call,
    operation: Operation,
    group_id: str,
    payload: dict[str, Any],
    *,
    issue: int | None = None,
    role: Role | None = None,
    seat: int = 1,
    tier: Tier | None = None,
    session: str | None = None,
    attempt: int | None = None,
    source: State | None = None,
    target: State | None = None,
) -> Intent:
    """Return the intent of an operation that a call begins in this process, now; nothing is written yet."""
    return Intent(
        op=call.op,
        kind=operation.kind,
        tool=call.tool,
        group_id=group_id,
        issue=issue,
        role=role,
        seat=seat,
        tier=tier,
        session=session,
        attempt=attempt,
        source=source,
        target=target,
        payload={**payload, "requestId": call.request_id},
        caller=str(call.caller),
        owner=os.getpid(),
        at=app.clock.now(),
    )


def telling(app: App, intent: Intent, word: str, told: Announcement) -> OutboxRow:
    """Return the row that tells the operation's group; ``word`` names it among the rows of the operation."""
    return OutboxRow(key=f"{intent.op}:{word}", group_id=intent.group_id, announcement=told, at=app.clock.now())


def never(app: App, intent: Intent) -> Intent | None:
    """``ask`` of a step that may be made again without harm."""
    return None


def nothing(app: App, intent: Intent) -> Closing:
    """``undone`` of an operation that has nothing to say but its audit line."""
    return Closing()


def interrupted(app: App, intent: Intent) -> Closing:
    """``undone`` of an operation whose begun effects do no harm and stay; it is never made again by itself."""
    return Closing(facts={"interrupted": True})


def note(app: App, intent: Intent) -> Intent:
    """Save facts before the effect that they are about."""
    app.store.journal.mark(intent)
    return intent


def line(app: App, intent: Intent, event: str, **facts: object) -> AuditLine:
    """Return an audit line of an operation."""
    name = intent.payload.get("project")
    if name is None and intent.group_id != NO_GROUP:
        known = app.store.registry.all().get(intent.group_id)
        name = known.name if known else None
    return AuditLine(
        ts=app.clock.now(),
        event=event,
        op=intent.op,
        caller=intent.caller,
        project=name,
        group_id=intent.group_id,
        issue=intent.issue,
        facts=facts,
    )
