"""What an attempt used, counted when it ends and kept in the transaction that ends it."""

from __future__ import annotations

from typing import Any

from devclaw_py.app import App
from devclaw_py.model.journal import Attempt, AttemptChange, AuditLine, Closing, Intent
from devclaw_py.model.usage import Meter, TaskUsage
from devclaw_py.operations.steps import line
from devclaw_py.rules.attempts import ending
from devclaw_py.rules.budget import priced

VOID = "void"


def with_usage(app: App, intent: Intent, closing: Closing) -> Closing:
    """Return the closing with the usage of the attempt that it ends, and a line that tells it.

    An attempt that no worker accepted, or whose agent counts nothing, has none. Counting never fails: what could not
    be read is null.
    """
    change = closing.attempt
    if change is None or change.ended is None or change.reason == VOID:
        return closing
    tries = app.store.journal.attempts(change.group_id)
    place = next((at for at, one in enumerate(tries) if (one.issue, one.number) == (change.issue, change.number)), None)
    if place is None or (since := tries[place].meter) is None:
        return closing
    until = _next(tries[place + 1 :], tries[place].session) or app.sessions.meter(tries[place].session)
    usage = app.sessions.usage(since, until) if until else TaskUsage()
    usage = priced(usage, app.settings.budget.prices)
    return closing.model_copy(
        update={
            "attempt": change.model_copy(update={"usage": usage}),
            "lines": (*closing.lines, _line(app, intent, tries[place], change, usage)),
        }
    )


def _next(later: list[Attempt], session: str) -> Meter | None:
    """Return where the next task of the session began: a report that had to wait is counted after that."""
    return next((one.meter for one in later if one.session == session and one.meter is not None), None)


def _line(app: App, intent: Intent, attempt: Attempt, change: AttemptChange, usage: TaskUsage) -> AuditLine:
    told: dict[str, Any] | None = None
    if usage.models is not None:
        told = {model: tokens.model_dump(by_alias=True) for model, tokens in usage.models.items()}
    found = line(
        app,
        intent,
        "task_usage",
        role=attempt.role,
        tier=attempt.tier,
        attempt=attempt.number,
        ended=change.reason,
        ending=ending(attempt, change.reason),
        tokens=told,
        costUsd=usage.cost_usd,
        **({"estimated": True} if usage.estimated else {}),
    )
    return found.model_copy(update={"issue": attempt.issue})
