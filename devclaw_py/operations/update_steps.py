"""The rows of task_update and of each fix of session_health: one issue, its label, its seat, its worker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from devclaw_py.agents.look import LookStatus
from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.errors import CommentRefused, Conflict, UnknownTask
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.journal import AttemptChange, Closing, Intent, OutboxRow, Wish
from devclaw_py.model.pipeline import Role, State
from devclaw_py.model.project import Project
from devclaw_py.operations.shared import project_of, seat_of, sessions_in_use, tracker_of, workplace
from devclaw_py.operations.steps import Operation, Step, never, note, telling
from devclaw_py.rules.comments import marker
from devclaw_py.rules.labels import states_in
from devclaw_py.trackers.base import IssueProvider

UNUSED = frozenset({LookStatus.ABSENT, LookStatus.DEAD})

# What the payload of these operations holds:
#   takes     states that are taken off, found when the operation was decided
#   closed    whether the issue ends closed; None leaves it as it is
#   comment   what is written on the issue, if anything
#   notice    what the worker of the released seat is told
#   stops     whether that worker's session is ended
#   reason    why the attempt of the released seat ended
#   resumes   the seat keeps its task: its dead session is continued, and told so
#   seats     whether the seat is given the intent's attempt instead of being released
#   wish      whether the task is to be picked up again by the same role
# The intent's role, tier, session and attempt are those of the seat that is released, or None.


def _number(intent: Intent) -> int:
    assert intent.issue is not None
    return intent.issue


def _takes(intent: Intent) -> tuple[State, ...]:
    return tuple(State(word) for word in intent.payload.get("takes", ()))


def _keeps(intent: Intent) -> bool:
    """Whether the worker goes on with its task."""
    return bool(intent.payload.get("resumes") or intent.payload.get("seats"))


def _resume(app: App, intent: Intent) -> Intent:
    if not intent.payload.get("resumes"):
        return intent
    project = project_of(app, intent)
    _, _, _, tier, session = seat_of(intent)
    if app.sessions.look(session).status not in UNUSED:
        raise Conflict(f"the session {session} lives again; nothing was changed")
    intent = note(app, intent.knowing(starts=True))
    action = app.sessions.ensure(workplace(app, project, intent.key, tier, session), keep=sessions_in_use(app))
    return intent.knowing(sessionAction=action.value)


def _sleep_again(app: App, intent: Intent) -> None:
    """Stop a session that was resumed and never told what to do, so that it is found dead again."""
    if intent.payload.get("starts") and intent.session is not None:
        app.sessions.stop(intent.session)


def _take(app: App, intent: Intent) -> Intent:
    tracker = tracker_of(app, intent)
    swapped = _swapped(tracker, intent)
    with _issue_there(intent):
        for state in _takes(intent):
            if state is not swapped:
                tracker.take(_number(intent), state)
        if intent.target is not None:
            found = states_in(tracker.get(_number(intent)).labels)
            _check_nobody_else(intent, tuple(state for state in found if state is not swapped))
    return intent


def _swapped(tracker: IssueProvider, intent: Intent) -> State | None:
    """Return the label that goes in the same write in which the target comes, or None where each is a write."""
    return next(iter(_takes(intent)), None) if tracker.swaps and intent.target is not None else None


@contextmanager
def _issue_there(intent: Intent) -> Iterator[None]:
    """Take a deletion for what it is: somebody else has decided about the issue."""
    try:
        yield
    except UnknownTask as error:
        raise Conflict(f"issue #{intent.issue} was to move to {intent.target}, but somebody has deleted it") from error


def _check_nobody_else(intent: Intent, found: tuple[State, ...]) -> None:
    others = [state for state in found if state is not intent.target]
    if others:
        raise Conflict(
            f"issue #{intent.issue} was to move to {intent.target}, but somebody has just moved it to {others[0]}; "
            "theirs stays"
        )


def _give_back(app: App, intent: Intent) -> None:
    """Put the labels back that were taken, unless somebody else's stands there now.

    Where the target stood already there is nothing to go back to: to put ours again would make it the newer one.
    """
    if intent.payload.get("stood"):
        return
    with suppress(UnknownTask):
        _put_ours_back(tracker_of(app, intent), intent)


def _put_ours_back(tracker: IssueProvider, intent: Intent) -> None:
    found = states_in(tracker.get(_number(intent)).labels)
    swapped = _swapped(tracker, intent)
    if all(state in (intent.target, swapped) for state in found):
        for state in _takes(intent):
            if state not in found:
                tracker.put(_number(intent), state)
    elif swapped is not None and swapped in found:
        tracker.take(_number(intent), swapped)
    if intent.target is not None and intent.target in found:
        tracker.take(_number(intent), intent.target)


def _put(app: App, intent: Intent) -> Intent:
    if intent.target is not None:
        tracker, number = tracker_of(app, intent), _number(intent)
        swapped = _swapped(tracker, intent)
        with _issue_there(intent):
            left = tracker.swap(number, swapped, intent.target) if swapped else tracker.put(number, intent.target)
        _check_nobody_else(intent, states_in(left))
    return intent


def _put_stands(app: App, intent: Intent) -> Intent | None:
    if intent.target is None:
        return intent
    found = states_in(tracker_of(app, intent).get(_number(intent)).labels)
    return intent if found == (intent.target,) else None


def _issue(app: App, intent: Intent) -> Intent:
    closed = intent.payload.get("closed")
    with suppress(UnknownTask):  # deleted once the label stood: seat and worker follow all the same
        if closed is True:
            tracker_of(app, intent).close(_number(intent))
        elif closed is False:
            tracker_of(app, intent).reopen(_number(intent))
    return intent


def _comment(app: App, intent: Intent) -> Intent:
    if text := intent.payload.get("comment"):
        with suppress(UnknownTask, CommentRefused):  # the reason stands in the audit log
            tracker_of(app, intent).comment(_number(intent), f"{text}\n\n{marker(intent.op)}")
    return intent


def _commented(app: App, intent: Intent) -> Intent | None:
    if not intent.payload.get("comment"):
        return intent
    try:
        comments = tracker_of(app, intent).comments(_number(intent))
    except UnknownTask:
        return intent
    return intent if any(marker(intent.op) in comment.body for comment in comments) else None


def _seat(app: App, intent: Intent) -> Intent:
    if intent.role is not None and not intent.payload.get("resumes"):
        edit = _reseated if intent.payload.get("seats") else _released
        app.store.registry.change(intent.group_id, lambda project: edit(intent, project))
    return intent


def _released(intent: Intent, project: Project) -> Project:
    seat = project.seat(*intent.key)
    mine = seat.issue == intent.issue and intent.attempt in (None, seat.attempt)
    return project.with_seat(intent.key, seat.release()) if mine else project


def _reseated(intent: Intent, project: Project) -> Project:
    issue, attempt, _, tier, session = seat_of(intent)
    seat = project.seat(*intent.key)
    if seat.active and seat.issue != issue:
        return project
    since, previous = datetime.fromisoformat(intent.payload["since"]), State(intent.payload["previous"])
    taken = seat.take(issue, tier=tier, session=session, attempt=attempt, previous_state=previous, at=since)
    return project.with_seat(intent.key, taken)


def _tell(app: App, intent: Intent) -> Intent:
    if intent.session is None:
        return intent
    if intent.payload.get("stops"):
        _put_to_rest(app, intent.session)
    elif intent.payload.get("notice"):
        return intent.knowing(workerTold=app.sessions.tell(intent.session, intent.payload["notice"]))
    return intent


def _put_to_rest(app: App, session: str) -> None:
    """End what a dead session has left behind; one that lives again belongs to a later task."""
    if app.sessions.look(session).status in UNUSED:
        app.sessions.save_screen(session)
        app.sessions.stop(session)


def _finish(app: App, intent: Intent) -> Closing:
    project, facts = project_of(app, intent), intent.payload
    announcement = Announcement.model_validate(facts["told"]) if facts.get("told") else None
    answer: dict[str, Any] = {**facts.get("answer", {}), "success": True, "project": project.name}
    answer |= {"groupId": intent.group_id, "issueId": intent.issue}
    rows: tuple[OutboxRow, ...] = ()
    if announcement is not None:
        answer["announcement"] = plain(announcement)
        rows = (telling(app, intent, "told", announcement),)
    told = {"workerTold": facts["workerTold"]} if "workerTold" in facts else {}
    answer |= told
    return Closing(
        facts=facts.get("audit", {}) | told,
        outbox=rows,
        attempt=_ended(app, intent),
        wish=_wish(app, intent),
        answer=answer,
    )


def _wish(app: App, intent: Intent) -> Wish | None:
    if intent.role is None or intent.issue is None or not intent.payload.get("wish"):
        return None
    tier = intent.tier if intent.role is Role.DEV else None
    now = app.clock.now()
    return Wish(group_id=intent.group_id, issue=intent.issue, role=intent.role, tier=tier, cause=intent.kind, at=now)


def _ended(app: App, intent: Intent) -> AttemptChange | None:
    if intent.issue is None or _keeps(intent):
        return None
    for attempt in app.store.journal.attempts(intent.group_id, intent.issue):
        if attempt.number == intent.attempt and attempt.role is intent.role and attempt.ended is None:
            return attempt.ended_by(intent.payload.get("reason", "moved"), app.clock.now())
    return None


def _undone(app: App, intent: Intent) -> Closing:
    return Closing(facts={**intent.payload.get("audit", {}), "undone": True})


def _operation(kind: str, *before: Step) -> Operation:
    row = 2 + len(before)
    return Operation(
        kind=kind,
        first="intent",
        steps=(
            *before,
            Step(row, "take", _take, never, _give_back),
            Step(row + 1, "put", _put, _put_stands, _give_back),
            Step(row + 2, "issue", _issue, never),
            Step(row + 3, "comment", _comment, _commented),
            Step(row + 4, "seat", _seat, never),
            Step(row + 5, "tell", _tell, never),
        ),
        # Once the new label stands the rest can only follow; before that the old ones are put back.
        committed=lambda app, intent: not intent.undoing and intent.phase >= row + 1,
        finish=_finish,
        undone=_undone,
    )


UPDATE = _operation("update")
HEALTH = _operation("health", Step(2, "resume", _resume, never, _sleep_again))
