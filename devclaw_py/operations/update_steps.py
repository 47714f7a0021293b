"""The rows of task_update and of each fix of session_health: one issue, its label, its seat, its worker."""

from __future__ import annotations

from typing import Any

from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.errors import Conflict
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.journal import Attempt, Closing, Intent, OutboxRow
from devclaw_py.model.pipeline import State
from devclaw_py.model.project import Project
from devclaw_py.operations.shared import project_of, tracker_of
from devclaw_py.operations.steps import Operation, Step, never
from devclaw_py.rules.comments import marker
from devclaw_py.rules.labels import states_in

# What the payload of these operations holds:
#   takes     states that are taken off, found when the operation was decided
#   closed    whether the issue ends closed; None leaves it as it is
#   comment   what is written on the issue, if anything
#   notice    what the worker of the released seat is told
#   stops     whether that worker's session is ended
#   reason    why the attempt of the released seat ended
# The intent's role, tier, session and attempt are those of the seat that is released, or None.


def _number(intent: Intent) -> int:
    assert intent.issue is not None
    return intent.issue


def _takes(intent: Intent) -> tuple[State, ...]:
    return tuple(State(word) for word in intent.payload.get("takes", ()))


def _take(app: App, intent: Intent) -> Intent:
    tracker = tracker_of(app, intent)
    for state in _takes(intent):
        tracker.take(_number(intent), state)
    if intent.target is not None:
        _check_nobody_else(intent, states_in(tracker.get(_number(intent)).labels))
    return intent


def _check_nobody_else(intent: Intent, found: tuple[State, ...]) -> None:
    others = [state for state in found if state is not intent.target]
    if others:
        raise Conflict(
            f"issue #{intent.issue} was to move to {intent.target}, but somebody has just moved it to {others[0]}; "
            "theirs stays"
        )


def _give_back(app: App, intent: Intent) -> None:
    """Put the labels back that were taken, unless somebody else's stands there now."""
    tracker = tracker_of(app, intent)
    found = states_in(tracker.get(_number(intent)).labels)
    if all(state is intent.target for state in found):
        for state in _takes(intent):
            tracker.put(_number(intent), state)
    if intent.target is not None and intent.target in found and not intent.payload.get("stood"):
        tracker.take(_number(intent), intent.target)


def _put(app: App, intent: Intent) -> Intent:
    if intent.target is not None:
        found = states_in(tracker_of(app, intent).put(_number(intent), intent.target))
        _check_nobody_else(intent, found)
    return intent


def _put_stands(app: App, intent: Intent) -> Intent | None:
    found = states_in(tracker_of(app, intent).get(_number(intent)).labels)
    return intent if intent.target is None or found == (intent.target,) else None


def _issue(app: App, intent: Intent) -> Intent:
    closed = intent.payload.get("closed")
    if closed is True:
        tracker_of(app, intent).close(_number(intent))
    elif closed is False:
        tracker_of(app, intent).reopen(_number(intent))
    return intent


def _comment(app: App, intent: Intent) -> Intent:
    if text := intent.payload.get("comment"):
        tracker_of(app, intent).comment(_number(intent), f"{text}\n\n{marker(intent.op)}")
    return intent


def _commented(app: App, intent: Intent) -> Intent | None:
    if not intent.payload.get("comment"):
        return intent
    comments = tracker_of(app, intent).comments(_number(intent))
    return intent if any(marker(intent.op) in comment.body for comment in comments) else None


def _seat(app: App, intent: Intent) -> Intent:
    role = intent.role
    if role is not None:

        def free(project: Project) -> Project:
            seat = project.seat(role)
            mine = seat.issue == intent.issue and intent.attempt in (None, seat.attempt)
            return project.with_seat(role, seat.release()) if mine else project

        app.store.registry.change(intent.group_id, free)
    return intent


def _tell(app: App, intent: Intent) -> Intent:
    if intent.session is not None and intent.payload.get("stops"):
        app.sessions.stop(intent.session)
    elif intent.session is not None and intent.payload.get("notice"):
        app.sessions.tell(intent.session, intent.payload["notice"])
    return intent


def _finish(app: App, intent: Intent) -> Closing:
    project, facts = project_of(app, intent), intent.payload
    announcement = Announcement.model_validate(facts["told"]) if facts.get("told") else None
    answer: dict[str, Any] = {**facts.get("answer", {}), "success": True, "project": project.name}
    answer |= {"groupId": intent.group_id, "issueId": intent.issue}
    rows: tuple[OutboxRow, ...] = ()
    if announcement is not None:
        answer["announcement"] = plain(announcement)
        row = OutboxRow(
            key=f"{intent.op}:told", group_id=intent.group_id, announcement=announcement, at=app.clock.now()
        )
        rows = (row,)
    return Closing(facts=facts.get("audit", {}), outbox=rows, attempt=_ended(app, intent), answer=answer)


def _ended(app: App, intent: Intent) -> Attempt | None:
    for attempt in app.store.journal.attempts(intent.group_id, intent.issue):
        if attempt.number == intent.attempt and attempt.role is intent.role and attempt.ended is None:
            return attempt.model_copy(
                update={"ended": app.clock.now(), "reason": intent.payload.get("reason", "moved")}
            )
    return None


def _undone(app: App, intent: Intent) -> Closing:
    return Closing(facts={**intent.payload.get("audit", {}), "undone": True})


def _operation(kind: str) -> Operation:
    return Operation(
        kind=kind,
        first="intent",
        steps=(
            Step(2, "take", _take, never, _give_back),
            Step(3, "put", _put, _put_stands, _give_back),
            Step(4, "issue", _issue, never),
            Step(5, "comment", _comment, _commented),
            Step(6, "seat", _seat, never),
            Step(7, "tell", _tell, never),
        ),
        # Once the new label stands the rest can only follow; before that the old ones are put back.
        committed=lambda app, intent: not intent.undoing and intent.phase >= 3,
        finish=_finish,
        undone=_undone,
    )


UPDATE = _operation("update")
HEALTH = _operation("health")
