"""What is wrong with a busy seat whose label is right: its attempt, its session, its worker."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from devclaw_py.model.finding import Severity
from devclaw_py.model.journal import Attempt
from devclaw_py.model.pipeline import Mode, Role, SeatKey, State
from devclaw_py.model.task import LabelEvent
from devclaw_py.rules import workflow
from devclaw_py.rules.attempts import dev_attempts, tests_in_a_row
from devclaw_py.rules.diagnosis import Case, Diagnosis, Fix, Issue, Pulse, Release, Snapshot, Worker, diagnosis
from devclaw_py.rules.labels import state_of

STALE = timedelta(hours=2)
OVERSPENT = "over_budget"


def worker(snapshot: Snapshot, key: SeatKey, number: int, issue: Issue) -> list[Diagnosis]:
    """Return what is wrong with the worker that holds the issue. The issue's label is the role's active one."""
    outdated = _outdated(snapshot, key, number, issue)
    if outdated is not None:
        return [outdated]
    found = snapshot.workers.get(key) if snapshot.workers is not None else None
    if found is None:
        return _stale(snapshot, key, number)
    if found.pulse is Pulse.GONE:
        return [_dead(snapshot, key, number, issue, found)]
    if found.pulse is Pulse.UNKNOWN:
        message = f"the session of {key}, {found.session}, could not be asked about #{number}: {found.detail}"
        return [diagnosis(snapshot, "session_unknown", message, severity=Severity.UNKNOWN, role=key.role, issue=number)]
    if found.spent:
        return [_overspent(snapshot, key, number, found)]
    if found.case is not None:
        return [_case(snapshot, key, number, issue, found.case)]
    return _stale(snapshot, key, number)


def holder(snapshot: Snapshot, key: SeatKey) -> Release:
    """Return the release of a seat as it is held."""
    seat = snapshot.project.seat(*key)
    tier = seat.tier or workflow.default_tier(key.role)
    return Release(role=key.role, seat=key.number, attempt=seat.attempt, tier=tier, session=seat.session(tier))


def strays(snapshot: Snapshot, number: int) -> list[SeatKey]:
    """Return the seats that are idle and still name the issue."""
    seats = snapshot.project.seats()
    return [key for key, seat in seats.items() if not seat.active and seat.issue == number]


def came_from(snapshot: Snapshot, key: SeatKey, number: int, events: Sequence[LabelEvent]) -> State:
    """Return the queue that the role's task was picked up from: seat and history know, else it is the home queue."""
    queues = workflow.queues_of(key.role)
    seat = snapshot.project.seat(*key)
    if seat.issue == number and seat.previous_state is not None and seat.previous_state in queues:
        return seat.previous_state
    for event in reversed(events):
        state = state_of(event.label)
        if state in queues and state is not None and not event.added:
            return state
    return workflow.HOME_QUEUE[workflow.ACTIVE[key.role]]


def _back(snapshot: Snapshot, key: SeatKey, number: int, issue: Issue, *, reason: str, wish: bool = True) -> Fix:
    """Return the fix that puts the task back where it came from and frees the seat."""
    target, release = came_from(snapshot, key, number, issue.events), holder(snapshot, key)
    count = dev_attempts if key.role is Role.DEV else tests_in_a_row
    limited = count(snapshot.tries(number)) >= snapshot.limit
    return Fix(
        takes=(workflow.ACTIVE[key.role],),
        put=target,
        release=release,
        reason=reason,
        wish=wish and snapshot.project.auto_chain and not limited,
    )


def _outdated(snapshot: Snapshot, key: SeatKey, number: int, issue: Issue) -> Diagnosis | None:
    seat, tries = snapshot.project.seat(*key), snapshot.tries(number)
    if seat.attempt is None or not tries or tries[-1].number < seat.attempt:
        return None
    newest = tries[-1]
    if newest.number == seat.attempt and newest.ended is None:
        return None
    if newest.ended is None and newest.key == key:
        fix = Fix(seats=newest, previous=came_from(snapshot, key, number, issue.events))
        message = f"{key} holds attempt {seat.attempt} at #{number}, and attempt {newest.number} is the newest"
    else:
        fix = _back(snapshot, key, number, issue, reason="outdated", wish=False)
        message = f"{key} holds attempt {seat.attempt} at #{number}, which has ended: {_how(newest)}"
    return diagnosis(snapshot, "attempt_outdated", message, role=key.role, issue=number, fix=fix)


def _how(newest: Attempt) -> str:
    return f"attempt {newest.number} of {newest.role}, the newest, is {newest.reason or 'open'}"


def _dead(snapshot: Snapshot, key: SeatKey, number: int, issue: Issue, found: Worker) -> Diagnosis:
    stopped = snapshot.project.mode is Mode.STOPPED
    reason = _why_gone(snapshot, found)
    ends = _back(snapshot, key, number, issue, reason=reason, wish=not stopped).model_copy(update={"stops": True})
    if found.spent and not stopped:
        return diagnosis(snapshot, OVERSPENT, found.spent, role=key.role, issue=number, fix=ends)
    if reason == "stalled" and found.case is not None:
        message = f"{key} held #{number} and was stuck: {found.case.words}; nobody came, so it was stopped"
        return diagnosis(snapshot, found.case.kind, message, role=key.role, issue=number, fix=ends)
    message = f"{key} holds #{number}, and its session is gone: {found.detail or found.session}"
    if stopped or not found.resumable:
        return diagnosis(snapshot, "session_dead", message, role=key.role, issue=number, fix=ends)
    # The worker is told to go on by the look at its ended turn that follows: once for each resume.
    resume = Fix(resumes=True, release=holder(snapshot, key))
    return diagnosis(snapshot, "session_dead", message, role=key.role, issue=number, fix=resume, otherwise=ends)


def _why_gone(snapshot: Snapshot, found: Worker) -> str:
    if snapshot.project.mode is Mode.STOPPED:
        return "stopped"
    if found.spent:
        return "budget"
    return "stalled" if found.case is not None and found.case.kind == "stalled_worker" else "session_dead"


def _overspent(snapshot: Snapshot, key: SeatKey, number: int, found: Worker) -> Diagnosis:
    """Report a worker that spends more than it may; it is put to rest before anything is decided about its task."""
    message = f"{key} is at work on #{number}, and {found.spent}"
    mend = "it is put to rest and its task goes back into its queue"
    return diagnosis(snapshot, OVERSPENT, message, role=key.role, issue=number, mend=mend)


def _case(snapshot: Snapshot, key: SeatKey, number: int, issue: Issue, case: Case) -> Diagnosis:
    """Report what a living worker does, and take its task from it only where nothing else is left to do."""
    reason = "stalled" if case.kind == "stalled_worker" else case.kind
    fix = _back(snapshot, key, number, issue, reason=reason) if case.over else None
    message = f"{key} has ended its turn at #{number} without a report: {case.words}"
    if case.kind == "stalled_worker":
        message = f"{key} holds #{number} and seems stalled: {case.words}"
    return diagnosis(
        snapshot,
        case.kind,
        message,
        severity=case.severity,
        role=key.role,
        issue=number,
        fix=fix,
        mend="" if fix else case.mend,
    )


def _stale(snapshot: Snapshot, key: SeatKey, number: int) -> list[Diagnosis]:
    """Report a long task; it is never taken from its worker."""
    tries = snapshot.tries(number)
    since = snapshot.project.seat(*key).start_time or (tries[-1].started if tries else None)
    if since is None or snapshot.now - since <= STALE:
        return []
    hours = (snapshot.now - since).total_seconds() / 3600
    message = f"{key} has worked on #{number} for {hours:.1f} hours"
    mend = "look at its session; nothing is done about it"
    return [
        diagnosis(snapshot, "stale_worker", message, severity=Severity.WARNING, role=key.role, issue=number, mend=mend)
    ]
