"""The rows of task_pickup: what nobody sees first, the claim next, the message last."""

from __future__ import annotations

from contextlib import suppress

from devclaw_py.agents.look import LookStatus
from devclaw_py.app import App
from devclaw_py.errors import RepositoryError, SessionError, UnknownTask
from devclaw_py.model.journal import Intent
from devclaw_py.model.pipeline import Provider, Role, Tier
from devclaw_py.model.project import Project
from devclaw_py.operations.messages import task_text
from devclaw_py.operations.pickup_context import earlier_tasks, fit_conversation
from devclaw_py.operations.pickup_ending import picked_up, put_back
from devclaw_py.operations.shared import (
    attempt_of,
    change_of,
    desk_of,
    offer_of,
    project_of,
    restore_seat,
    seat_of,
    seated_sessions,
    sessions_in_use,
    source_of,
    target_of,
    tracker_of,
    workplace,
)
from devclaw_py.operations.steps import Operation, Step, never, note
from devclaw_py.trackers import move
from devclaw_py.work.base import Desk

UNUSED = frozenset({LookStatus.ABSENT, LookStatus.DEAD})
AT_WORK = frozenset({LookStatus.WORKING, LookStatus.STARTING, LookStatus.UNKNOWN})


def _desk(app: App, intent: Intent) -> Intent:
    project = project_of(app, intent)
    cleared = app.work.ensure_desk(project, desk_of(app, project, intent))
    return intent.knowing(cleared=list(cleared))


def _session(app: App, intent: Intent) -> Intent:
    _, _, _, tier, session = seat_of(intent)
    project = project_of(app, intent)
    if app.sessions.look(session).status in UNUSED:
        intent = note(app, intent.knowing(starts=True))
    place = workplace(app, project, intent.key, tier, session).model_copy(update={"model": intent.payload["model"]})
    action = app.sessions.ensure(place, keep=sessions_in_use(app))
    return intent.knowing(sessionAction=action)


def _stop_session(app: App, intent: Intent) -> None:
    """Stop the session if this pickup started it and no later task has moved in."""
    _, _, _, _, session = seat_of(intent)
    if intent.payload.get("starts") and session not in seated_sessions(app):
        app.sessions.leave(session)


def _worktree(app: App, intent: Intent) -> Intent:
    issue, _, role, _, session = seat_of(intent)
    project = project_of(app, intent)
    desk = desk_of(app, project, intent)
    leaving = _left_by(app, intent, session)
    if role is Role.QA:
        prepared = app.work.prepare_qa(project, desk, branch=intent.payload["branch"], leaving=leaving)
    else:
        _bring_base_forward(app, project)
        prepared = app.work.prepare_dev(
            project,
            desk,
            issue=issue,
            branch=intent.payload["branch"],
            leaving=leaving,
            free=frozenset(free.worktree for free in _free_desks(app, project)),
        )
    app.store.journal.change_attempt(change_of(intent, branch=prepared.branch, commit=prepared.commit))
    return intent.knowing(
        commit=prepared.commit,
        worktree=str(desk.worktree),
        standsOn=prepared.branch,
        rescued=[rescue.model_dump(mode="json") for rescue in prepared.rescued],
        cleared=[*intent.payload.get("cleared", []), *prepared.cleared],
    )


def _bring_base_forward(app: App, project: Project) -> None:
    """Let the base branch follow the forge's, where people and devclaw merge: a new branch begins there.

    A remote that does not answer is no reason to leave a task undone: the work then starts from what is known here.
    """
    if project.provider is not Provider.LOCAL:
        with suppress(RepositoryError):
            app.work.follow(project)


def _left_by(app: App, intent: Intent, session: str) -> tuple[int, int] | None:
    """Return issue and attempt of the task that was at this desk last.

    An attempt that failed before its checkout has left nothing there; one of the original's has a start and no commit.
    """
    tries = app.store.journal.attempts(intent.group_id)
    came = [a for a in tries if a.commit is not None or a.accepted is not None]
    before = [a for a in came if a.session == session and a.op != intent.op]
    return (before[-1].issue, before[-1].number) if before else None


def _free_desks(app: App, project: Project) -> list[Desk]:
    """Return the desks whose seat holds no task and whose session has no turn running."""
    free, looks = [], app.sessions.looks()
    for (role, number), seat in project.seats().items():
        for tier in (tier for tier in Tier if tier.role is role):
            desk = app.work.desk(project, role, tier, number)
            seated = seat.active and seat.tier is tier
            at_work = desk.session in looks and looks[desk.session].status in AT_WORK
            if not seated and not at_work:
                free.append(desk)
    return free


def _take(app: App, intent: Intent) -> Intent:
    move.take(tracker_of(app, intent), *source_of(intent))
    return intent


def _taken(app: App, intent: Intent) -> Intent | None:
    tracker = tracker_of(app, intent)
    return intent if move.taken(tracker, *source_of(intent), since=intent.at) else None


def _put(app: App, intent: Intent) -> Intent:
    move.put(tracker_of(app, intent), *target_of(intent), source=source_of(intent)[1])
    return intent


def _stands(app: App, intent: Intent) -> Intent | None:
    issue, source = source_of(intent)
    _, target = target_of(intent)
    happened = move.put_happened(tracker_of(app, intent), issue, source=source, target=target, since=intent.at)
    return intent if happened else None


def _put_back(app: App, intent: Intent) -> None:
    issue, source = source_of(intent)
    _, target = target_of(intent)
    tracker = tracker_of(app, intent)
    with suppress(UnknownTask):  # an issue that was deleted meanwhile carries nothing of ours
        move.put_back(tracker, issue, source=source, target=target, since=intent.at)


def _seat(app: App, intent: Intent) -> Intent:
    issue, attempt, _, tier, session = seat_of(intent)
    key, source = intent.key, source_of(intent)[1]

    def take(project: Project) -> Project:
        seat = project.seat(*key).take(
            issue, tier=tier, session=session, attempt=attempt, previous_state=source, at=app.clock.now()
        )
        return project.with_seat(key, seat)

    app.store.registry.change(intent.group_id, take)
    return intent


def _seated(app: App, intent: Intent) -> Intent | None:
    issue, attempt, *_ = seat_of(intent)
    return intent if project_of(app, intent).seat(*intent.key).holds(issue, attempt) else None


def _offer(app: App, intent: Intent) -> Intent:
    _, _, _, _, session = seat_of(intent)
    text = task_text(app, project_of(app, intent), intent, earlier=earlier_tasks(app, intent))
    try:
        app.sessions.offer(session, offer_of(intent), text)
    except SessionError:
        # The line may have arrived all the same: what the worker has accepted goes on.
        if not app.sessions.accepted(session, offer_of(intent)):
            raise
    return intent


def _accepted(app: App, intent: Intent) -> Intent | None:
    _, _, _, _, session = seat_of(intent)
    reported = attempt_of(app, intent).report is not None
    return intent if reported or app.sessions.accepted(session, offer_of(intent)) else None


def _void(app: App, intent: Intent) -> None:
    _, _, _, _, session = seat_of(intent)
    if app.sessions.void(session, offer_of(intent)):
        app.sessions.clear(session)


def _accept(app: App, intent: Intent) -> Intent:
    _, _, _, _, session = seat_of(intent)
    try:
        app.sessions.wait_accepted(session, offer_of(intent))
    except SessionError as error:
        # The worker may accept while the last wait runs out: the rename decides, not the clock.
        if app.sessions.void(session, offer_of(intent)):
            error.hint = error.hint or "the offer was taken back; call again, or look at the session if it repeats"
            raise
    return intent


def _committed(app: App, intent: Intent) -> bool:
    """Say whether the worker has the task; an offer that it has not accepted is void afterwards."""
    if intent.undoing:
        return False
    if _accepted(app, intent):
        return True
    _, _, _, _, session = seat_of(intent)
    return not app.sessions.void(session, offer_of(intent))


PICKUP = Operation(
    kind="pickup",
    first="intent",
    steps=(
        Step(2, "desk", _desk, never),
        Step(3, "session", _session, never, _stop_session),
        Step(4, "context", fit_conversation, never),
        Step(5, "worktree", _worktree, never),
        Step(6, "take", _take, _taken, _put_back),
        Step(7, "put", _put, _stands, _put_back),
        Step(8, "seat", _seat, _seated, restore_seat),
        Step(9, "offer", _offer, _accepted, _void),
        Step(10, "accept", _accept, _accepted),
    ),
    committed=_committed,
    finish=picked_up,
    undone=put_back,
)
