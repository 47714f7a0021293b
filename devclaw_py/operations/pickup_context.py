"""The row of task_pickup that makes the session's conversation fit for a task, and marks where its usage begins."""

from __future__ import annotations

from typing import Any

from devclaw_py.agents.base import Compaction
from devclaw_py.app import App
from devclaw_py.model.journal import Attempt, Intent
from devclaw_py.model.pipeline import ContextAction, SessionAction
from devclaw_py.model.usage import Meter
from devclaw_py.operations.shared import attempt_of, project_of, seat_of, sessions_in_use, workplace
from devclaw_py.rules.fullness import before_the_next_task
from devclaw_py.rules.handover import Earlier

EARLIER_TASKS = 5


def fit_conversation(app: App, intent: Intent) -> Intent:
    """Compact a conversation that is rather full and leave one that is full; a kind without any is left alone.

    Nothing of a task is in it yet, so whoever is killed here has lost nothing: the next pickup looks again.

    Raises:
        SessionError: the session is gone or cannot be used.
    """
    session = seat_of(intent)[4]
    found = app.sessions.context(session)
    if found is None:
        return intent
    limits = app.settings.limits
    action = before_the_next_task(
        found.used, compact_percent=limits.compact_percent, fresh_percent=limits.fresh_percent
    )
    told: dict[str, Any] = {"used": found.used, "action": action.value}
    if action is ContextAction.COMPACT:
        became = app.sessions.compact(session)
        told["compaction"] = became.value
        # A session that never ends to compact takes no task; its process ends with it.
        action = ContextAction.FRESH if became is Compaction.ENDLESS else action
        told["action"] = action.value
    if action is ContextAction.FRESH:
        _renew(app, intent)
        intent = intent.knowing(sessionAction=SessionAction.SPAWN)
        found = app.sessions.context(session) or found
    meter = _meter(app, intent)
    return intent.knowing(
        context=told,
        former=list(found.former),
        conversation=found.conversation,
        meter=meter.model_dump(mode="json") if meter else None,
    )


def _renew(app: App, intent: Intent) -> None:
    _, _, _, tier, session = seat_of(intent)
    place = workplace(app, project_of(app, intent), intent.key, tier, session)
    place = place.model_copy(update={"model": intent.payload["model"]})
    app.sessions.renew(place, keep=sessions_in_use(app))


def _meter(app: App, intent: Intent) -> Meter | None:
    """Return from where on the task's usage is counted: where the count of the session's last task ended.

    So what a session uses between two tasks (its words after a report, a compaction) is the later one's, and no token
    is left out of a sum.
    """
    session = seat_of(intent)[4]
    now, tries = app.sessions.meter(session), _tries(app, intent, session)
    counted = tries[-1].usage if tries else None
    if now is None or counted is None or counted.until is None:
        return now
    last = counted.until
    if last.file != now.file or last.size > now.size:
        return now
    # A process that began since has its own cost alone.
    cost = last.cost_usd if last.process == now.process else now.cost_usd
    return last.model_copy(update={"process": now.process, "cost_usd": cost})


def _tries(app: App, intent: Intent, session: str) -> list[Attempt]:
    """Return the tasks that the session had before, oldest first."""
    tries = app.store.journal.attempts(intent.group_id)
    return [one for one in tries if one.session == session and one.accepted is not None and one.op != intent.op]


def earlier_tasks(app: App, intent: Intent) -> tuple[Earlier, ...]:
    """Return what the conversations worked on in whose place devclaw began this one; empty for its later tasks."""
    former, now = intent.payload.get("former") or (), intent.payload.get("conversation")
    if not former:
        return ()
    tries = _tries(app, intent, attempt_of(app, intent).session)
    had = [one.meter.conversation if one.meter else None for one in tries]
    if now in had:
        return ()
    own = [one for one, conversation in zip(tries, had, strict=True) if conversation in former]
    return tuple(_earlier(one) for one in own[-EARLIER_TASKS:])


def _earlier(attempt: Attempt) -> Earlier:
    return Earlier(
        issue=attempt.issue,
        title=attempt.title,
        attempt=attempt.number,
        branch=attempt.branch,
        result=attempt.reason or (attempt.report.result if attempt.report else "not ended"),
        summary=attempt.report.summary if attempt.report else "",
    )
