"""task_pickup: read, decide, allot the attempt; the rows do the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from devclaw_py.agents import mailbox
from devclaw_py.app import App
from devclaw_py.errors import AttemptsUsedUp, HeldBack, IssueClaimed, QueueEmpty, WorkerBusy, WrongState
from devclaw_py.model.budget import Reached
from devclaw_py.model.caller import CallerKind
from devclaw_py.model.journal import Attempt, Intent
from devclaw_py.model.pipeline import Role, RoleExecution, SeatKey, State, Tier
from devclaw_py.model.project import Project, Seat
from devclaw_py.model.task import Task
from devclaw_py.operations.budget import Ledger, tell
from devclaw_py.operations.pickup_steps import AT_WORK, PICKUP
from devclaw_py.operations.recovery import project_held
from devclaw_py.operations.runner import perform
from devclaw_py.operations.steps import Call, begun
from devclaw_py.rules import budget, tiers, workflow
from devclaw_py.rules.attempts import dev_attempts
from devclaw_py.rules.labels import states_in
from devclaw_py.rules.schedule import held_back
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.work.base import desk_name

# The operation of an attempt that devclaw learnt from a seat, not by a pickup of its own.
ADOPTED = "adopted"

UNATTENDED = frozenset({CallerKind.CHAIN, CallerKind.HEARTBEAT, CallerKind.RECOVERY})


def pick_up(
    app: App, call: Call, *, group_id: str, role: Role, issue: int | None = None, tier: str | None = None
) -> dict[str, Any]:
    """Give one queued task to an idle worker and deliver it to the worker's session.

    All or nothing: until the worker accepts the message, a failure puts label and seat back. Without ``issue`` the
    next one by queue order is taken.

    Raises:
        WorkerBusy: the role holds a task, or its session is at work.
        WrongState, RoleMismatch, UnknownTier, QueueEmpty, IssueClaimed: the pipeline refuses; nothing has changed.
        Conflict: somebody moved the issue meanwhile.
        TrackerError, SessionError, RepositoryError: the outside failed and everything was put back.
    """
    with project_held(app, group_id, call) as project:
        _check_seats(project, role)
        app.sessions.check_not_parked()
        task, source = _choose_task(app, project, role, issue)
        choice = tiers.choose(workflow.ROLE[source], given=tier, labels=task.labels, title=task.title, body=task.body)
        spent = Ledger(app).reached(project, task.number, choice.tier)
        if call.caller.kind in UNATTENDED:
            _check_unattended(app, project, task, source, spent)
        intent, attempt = _allot(app, call, project, task, source, choice)
        attempt = attempt.model_copy(update={"waived": spent is not None})
        return perform(app, PICKUP, intent, attempt)


def _check_seats(project: Project, role: Role) -> None:
    if not project.open_seats(role):
        held = " and ".join(f"#{seat.issue}" for seat in project.seats(role).values() if seat.active)
        raise WorkerBusy(
            f"{role} of {project.name} already holds {held}; each worker takes one task at a time",
            hint="wait for a report, or call session_health if a worker is gone",
        )
    busy = [seat.issue for seat in project.seats(role.other).values() if seat.active]
    if project.role_execution is RoleExecution.SEQUENTIAL and busy:
        raise WorkerBusy(
            f"{project.name} works on one role at a time and {role.other} holds #{busy[0]}", hint="wait for its report"
        )


def _choose_task(app: App, project: Project, role: Role, issue: int | None) -> tuple[Task, State]:
    tracker = app.open_tracker(project)
    if issue is None:
        task = next(_waiting(app, tracker, project, role), None)
        if task is None:
            queues = " and ".join(workflow.queues_of(role))
            raise QueueEmpty(
                f"no issue of {project.name} waits for {role}: nothing in {queues} can be picked up",
                hint="queue_status shows what there is; task_update moves an issue into a queue",
            )
    else:
        task = tracker.get(issue)
        check_unclaimed(app, project, issue)
        _check_unseated(project, task)
    if task.closed:
        found = f"issue #{task.number} is closed; {role} can only pick up open ones"
        raise WrongState(found, hint=f"task_update to {workflow.queues_of(role)[-1]} reopens it")
    return task, workflow.pickup_source(role, task.number, states_in(task.labels))


def _waiting(app: App, tracker: IssueProvider, project: Project, role: Role) -> Iterator[Task]:
    """Yield what the role could pick up next, in queue order; claimed and inconsistent issues are passed over."""
    kept = {intent.issue for intent in app.store.journal.intents(project.group_id)}
    seated = {seat.issue for seat in project.seats().values()}
    for state in workflow.queues_of(role):
        for task in tracker.list_by_label(state):
            if task.number not in kept | seated and len(states_in(task.labels)) == 1:
                yield task


def check_unclaimed(app: App, project: Project, issue: int) -> None:
    """Refuse an issue that an unfinished operation keeps.

    Raises:
        IssueClaimed: names the operation and what it waits for.
    """
    for intent in app.store.journal.intents(project.group_id):
        if intent.issue == issue:
            raise IssueClaimed(
                f"issue #{issue} is kept by a {intent.tool} that waits: {intent.payload.get('waits', 'unfinished')}",
                hint="it is tried again by itself; devclaw recover tries it now",
            )


def _check_unseated(project: Project, task: Task) -> None:
    for key, seat in project.seats().items():
        if seat.issue == task.number:
            how = "holds" if seat.active else "is idle and names"
            raise WrongState(
                f"{key} of {project.name} still {how} #{task.number}, although its label says otherwise",
                hint="call session_health with autoFix",
            )


def _check_unattended(app: App, project: Project, task: Task, source: State, spent: Reached | None) -> None:
    """Stop what only a person may do: in a paused project, without money, of a task that pauses or is used up."""
    tries = app.store.journal.attempts(project.group_id, task.number)
    held = held_back(project.mode, source, tries, app.clock.now())
    held = held or _kept_by_another(app, project)
    if held is not None:
        raise HeldBack(f"#{task.number} is not handed out now: {held}", hint="a person's pickup is not held back")
    if spent is not None:
        tell(app, project, spent)
        found = f"#{task.number} is not handed out now: {budget.words(spent)}"
        raise HeldBack(found, hint=f"more money: {budget.to_raise(spent, project.group_id)}")
    limit, used = app.settings.limits.attempts, dev_attempts(tries)
    if workflow.ROLE[source] is Role.DEV and used >= limit:
        raise AttemptsUsedUp(
            f"issue #{task.number} has had {used} dev attempts, the limit for unattended pickups is {limit}",
            hint="read why it keeps failing, then pick it up by hand",
        )


def _kept_by_another(app: App, project: Project) -> str | None:
    """Return why nothing is begun here while another project is at work, where one at a time is to be."""
    if app.settings.heartbeat.project_execution == "parallel":
        return None
    for other in app.store.registry.all().values():
        if other.group_id != project.group_id and any(seat.active for seat in other.seats().values()):
            return f"one project works at a time, and {other.name} does"
    return None


def _allot(
    app: App, call: Call, project: Project, task: Task, source: State, choice: tiers.Choice
) -> tuple[Intent, Attempt]:
    role = workflow.ROLE[source]
    key = _seat_for(app, project, role, choice.tier, task.number)
    desk = app.work.desk(project, role, choice.tier, key.number)
    number = next_attempt(app, project, task.number)
    intent = begun(
        app,
        call,
        PICKUP,
        project.group_id,
        {
            "project": project.name,
            "title": task.title,
            "url": task.url,
            "branch": app.work.branch(project, task.number, task.title),
            "model": app.model_of(project, choice.tier),
            "tierSource": choice.source,
            "tierReason": choice.reason,
            "seatBefore": _memory_of(project.seat(*key), choice.tier),
        },
        issue=task.number,
        role=role,
        seat=key.number,
        tier=choice.tier,
        session=desk.session,
        attempt=number,
        source=source,
        target=workflow.ACTIVE[role],
    )
    attempt = Attempt(
        group_id=project.group_id,
        issue=task.number,
        number=number,
        role=role,
        seat=key.number,
        tier=choice.tier,
        session=desk.session,
        op=call.op,
        title=task.title,
        url=task.url,
        started=intent.at,
    )
    return intent, attempt


def _seat_for(app: App, project: Project, role: Role, tier: Tier, issue: int) -> SeatKey:
    """Return the open seat that knows most of the task: had it before, else has a session of the tier, else the first.

    A session that does not rest is passed over for one that may, and one that has just not accepted the task for
    another one that might.
    """
    seats = project.open_seats(role)
    if len(seats) == 1:
        return next(iter(seats))
    looks = app.sessions.looks()
    tries = [a for a in app.store.journal.attempts(project.group_id, issue) if (a.role, a.tier) == (role, tier)]
    before = [a.seat for a in tries if a.accepted is not None]
    deaf = [a.seat for a in tries[-1:] if a.accepted is None]

    def rank(key: SeatKey) -> tuple[bool, bool, bool, bool, int]:
        session = seats[key].session(tier)
        at_work = session in looks and looks[session].status in AT_WORK
        return at_work, key.number in deaf, key.number not in before[-1:], session is None, key.number

    return min(seats, key=rank)


def _memory_of(seat: Seat, tier: Tier) -> dict[str, str | None]:
    """Return what an idle seat remembers and a pickup of ``tier`` overwrites."""
    kept = {"session": seat.sessions[tier.value]} if tier.value in seat.sessions else {}
    return {"model": seat.model, **kept}


def next_attempt(app: App, project: Project, issue: int) -> int:
    """Return 1 + the highest attempt that journal, registry, sessions or audit know: no number is given twice.

    The journal may be lost or an old copy. What a session has been offered counts, because an old acceptance would
    be taken for that of the new offer.
    """
    known = [seat.attempt or 0 for seat in project.seats().values() if seat.issue == issue]
    sessions = [
        f"{project.slug}-{desk_name(role, tier, number)}"
        for role, number in project.seats()
        for tier in Tier
        if tier.role is role
    ]
    known += [mailbox.newest(app.sessions.folder(session), issue) for session in sessions]
    if _journal_was_lost(app, project, issue):
        known += [_number(entry.get("attempt")) for entry in app.store.audit.read() if _is_about(entry, project, issue)]
    return max(app.store.journal.next_attempt(project.group_id, issue), 1 + max(known, default=0))


def _journal_was_lost(app: App, project: Project, issue: int) -> bool:
    """Say whether the journal lacks the oldest pickup that the audit log has; only then is the whole log read."""
    tries = app.store.journal.attempts(project.group_id)
    if any(known.issue == issue for known in tries) and tries[0].op != ADOPTED:
        return False
    known = {attempt.op for attempt in tries}
    oldest = next((entry for entry in app.store.audit.read() if _is_pickup(entry, project)), None)
    return oldest is not None and oldest.get("op") not in known


def _is_pickup(entry: dict[str, object], project: Project) -> bool:
    named = (entry.get("event"), entry.get("groupId")) == ("task_pickup", project.group_id)
    return named and isinstance(entry.get("attempt"), int)


def _is_about(entry: dict[str, object], project: Project, issue: int) -> bool:
    return entry.get("groupId") == project.group_id and entry.get("issue") == issue


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
