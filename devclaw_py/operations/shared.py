"""What the steps of several operations read out of an intent."""

from __future__ import annotations

from devclaw_py.agents.base import Workplace
from devclaw_py.app import App
from devclaw_py.model.journal import Attempt, AttemptChange, Intent
from devclaw_py.model.pipeline import Role, SeatKey, State, Tier
from devclaw_py.model.project import Project
from devclaw_py.model.task import TaskRef
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.work.base import Desk


def project_of(app: App, intent: Intent) -> Project:
    """Return the project as it is now."""
    return app.store.registry.get(intent.group_id)


def tracker_of(app: App, intent: Intent) -> IssueProvider:
    """Return the project's tracker."""
    return app.open_tracker(project_of(app, intent))


def seat_of(intent: Intent) -> tuple[int, int, Role, Tier, str]:
    """Return issue, attempt, role, tier and session of an operation that has a seat."""
    assert intent.issue is not None
    assert intent.attempt is not None
    assert intent.role is not None
    assert intent.tier is not None
    assert intent.session is not None
    return intent.issue, intent.attempt, intent.role, intent.tier, intent.session


def source_of(intent: Intent) -> tuple[int, State]:
    """Return the issue and the state it is moved from."""
    assert intent.issue is not None
    assert intent.source is not None
    return intent.issue, intent.source


def target_of(intent: Intent) -> tuple[int, State]:
    """Return the issue and the state it is moved to."""
    assert intent.issue is not None
    assert intent.target is not None
    return intent.issue, intent.target


def offer_of(intent: Intent) -> str:
    """Return the name of the offer's file: issue and attempt."""
    return f"{intent.issue}.{intent.attempt}"


def ref_of(intent: Intent) -> TaskRef:
    """Return the task's number, title and link as they were when the operation began."""
    assert intent.issue is not None
    return TaskRef(number=intent.issue, title=intent.payload["title"], url=intent.payload["url"])


def desk_of(app: App, project: Project, intent: Intent) -> Desk:
    """Return the desk that the intent is about."""
    _, _, role, tier, _ = seat_of(intent)
    return app.work.desk(project, role, tier, intent.seat)


def workplace(app: App, project: Project, key: SeatKey, tier: Tier, session: str) -> Workplace:
    """Return where the worker of a seat lives."""
    return Workplace(
        session=session,
        workspace=app.workspace,
        group_id=project.group_id,
        project=project.name,
        role=key.role,
        seat=key.number,
        tier=tier,
        model=app.model_of(project, tier),
        worktree=app.work.desk(project, key.role, tier, key.number).worktree,
        folder=app.sessions.folder(session),
        permission_mode=project.permission_mode,
        allow=project.allow,
        test_command=project.test_command,
    )


def attempt_of(app: App, intent: Intent) -> Attempt:
    """Return the attempt that the intent is about, as the journal has it."""
    return next(a for a in app.store.journal.attempts(intent.group_id, intent.issue) if a.number == intent.attempt)


def change_of(intent: Intent, **learnt: object) -> AttemptChange:
    """Return what an operation learnt of its attempt."""
    issue, number, *_ = seat_of(intent)
    return AttemptChange.model_validate({"group_id": intent.group_id, "issue": issue, "number": number, **learnt})


def release_seat(app: App, intent: Intent) -> None:
    """Free the seat if it still holds this attempt; sessions are kept."""
    issue, attempt, *_ = seat_of(intent)
    key = intent.key

    def free(project: Project) -> Project:
        seat = project.seat(*key)
        return project.with_seat(key, seat.release()) if seat.holds(issue, attempt) else project

    if project_of(app, intent).seat(*key).holds(issue, attempt):
        app.store.registry.change(intent.group_id, free)


def restore_seat(app: App, intent: Intent) -> None:
    """Give the seat back as it was before a pickup took it: with the tier and the session it had then."""
    issue, attempt, _, tier, _ = seat_of(intent)
    key, before = intent.key, intent.payload.get("seatBefore", {})

    def restore(project: Project) -> Project:
        seat = project.seat(*key)
        if not seat.holds(issue, attempt):
            return project
        sessions = {name: key for name, key in seat.sessions.items() if name != tier.value}
        if "session" in before:
            sessions = {**seat.sessions, tier.value: before["session"]}
        freed = seat.release().model_copy(update={"sessions": sessions, "model": before.get("model", seat.model)})
        return project.with_seat(key, freed)

    if project_of(app, intent).seat(*key).holds(issue, attempt):
        app.store.registry.change(intent.group_id, restore)


def seated_sessions(app: App) -> frozenset[str]:
    """Return the sessions whose seats hold a task."""
    seats = [seat for project in app.store.registry.all().values() for seat in project.seats().values()]
    named = [seat.session(seat.tier) for seat in seats if seat.active and seat.tier is not None]
    return frozenset(name for name in named if name is not None)


def sessions_in_use(app: App) -> frozenset[str]:
    """Return the sessions that hold a task or that an open operation is about: none of them is put to sleep."""
    open_now = [intent.session for intent in app.store.journal.intents()]
    return seated_sessions(app) | frozenset(name for name in open_now if name is not None)
