"""Pickups that should follow: tried at once, at each call that may have freed a seat, and by the heartbeat."""

from __future__ import annotations

import secrets
from typing import Any

from devclaw_py.app import App
from devclaw_py.errors import (
    AttemptsUsedUp,
    Broken,
    DevClawError,
    Outside,
    ProjectBusy,
    TrackerError,
    UnknownProject,
    UnknownTask,
    WorkerBusy,
)
from devclaw_py.model.caller import CHAIN, Caller
from devclaw_py.model.journal import AuditLine, OutboxRow, Wish
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.operations.pickup import pick_up
from devclaw_py.operations.steps import Call
from devclaw_py.rules import announce, workflow
from devclaw_py.rules.labels import states_in

# What a wish outlives: the seat, the project or the outside may be free later, and people mend what is broken.
PATIENT = (WorkerBusy, ProjectBusy, Outside, Broken)


def new_op() -> str:
    """Return the id of a new operation."""
    return secrets.token_hex(8)


def carry_out(
    app: App, group_id: str, *, caller: Caller = CHAIN, own_session: str | None = None
) -> list[dict[str, Any]]:
    """Try every wish of the project once; say for each whether it was dispatched, waits or was dropped.

    ``own_session`` is the session in which this very call runs: a wish for it would wait for its own end, so it is
    left to the next call or the heartbeat.
    """
    wishes = app.store.journal.wishes(group_id)
    return [_try(app, wish, caller) for wish in wishes if own_session is None or _sessions(app, wish) != {own_session}]


def _sessions(app: App, wish: Wish) -> set[str]:
    """Return the sessions that a wish could be for now; none when its tier has yet to be chosen."""
    tier = Tier.QA if wish.role is Role.QA else wish.tier
    if tier is None:
        return set()
    project = app.store.registry.get(wish.group_id)
    return {app.work.desk(project, key.role, tier, key.number).session for key in project.open_seats(wish.role)}


def _try(app: App, wish: Wish, caller: Caller) -> dict[str, Any]:
    call = Call(op=new_op(), tool="task_pickup", caller=caller, at=app.clock.now())
    what = {"issueId": wish.issue, "role": wish.role.value, "cause": wish.cause}
    try:
        answer = pick_up(app, call, group_id=wish.group_id, role=wish.role, issue=wish.issue, tier=wish.tier)
    except DevClawError as error:
        waiting = isinstance(error, PATIENT) or error.retryable or _still_waits(app, wish, error)
        if waiting:
            _note_refusal(app, wish, call, error)
        else:
            _drop(app, wish, call, error)
        return what | {"dispatched": False, "waiting": waiting, "reason": str(error)}
    told = {name: answer[name] for name in ("model", "sessionAction", "attempt", "labelTransition", "announcement")}
    return what | {"dispatched": True} | told


def _note_refusal(app: App, wish: Wish, call: Call, error: DevClawError) -> None:
    """Leave the refused pickup's line, once for each reason that a wish waits for: it is tried at every tick."""
    kept = f"{wish.group_id}#{wish.issue}.{wish.role}"
    if app.store.journal.first_seen(kept, f"{wish.at.isoformat()} {error.code}"):
        app.store.audit.append_once(_refusal(app, wish, call, error, event=call.tool))


def _refusal(app: App, wish: Wish, call: Call, error: DevClawError, *, event: str) -> AuditLine:
    project = app.store.registry.all().get(wish.group_id)
    return AuditLine(
        ts=call.at,
        event=event,
        op=call.op,
        caller=str(call.caller),
        project=project.name if project else None,
        group_id=wish.group_id,
        issue=wish.issue,
        facts={"ok": False, "error": error.code, "role": wish.role.value, "cause": wish.cause},
    )


def _still_waits(app: App, wish: Wish, error: DevClawError) -> bool:
    """Whether the issue is in a queue of the role all the same: what refuses it there can be mended."""
    if isinstance(error, AttemptsUsedUp):
        return False
    try:
        task = app.open_tracker(app.store.registry.get(wish.group_id)).get(wish.issue)
    except (UnknownTask, UnknownProject):
        return False
    except TrackerError:
        return True
    return not task.closed and any(state in workflow.queues_of(wish.role) for state in states_in(task.labels))


def _drop(app: App, wish: Wish, call: Call, error: DevClawError) -> None:
    """Forget a wish for good, and tell the group that nothing will follow."""
    journal = app.store.journal
    told = announce.will_not_follow(wish.issue, wish.role, str(error))
    journal.queue(OutboxRow(key=f"{call.op}:dropped", group_id=wish.group_id, announcement=told, at=call.at))
    journal.drop_wish(wish)
    app.store.audit.append_once(_refusal(app, wish, call, error, event="wish_dropped"))
