"""What is wrong in a project and what mends it: decided from one look, without touching anything.

The labels of an issue are decided here, its worker in `rules.health_seats`. A person's choice is never reverted, and
what could not be asked is never concluded from.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from devclaw_py.model.finding import Severity
from devclaw_py.model.pipeline import Role, SeatKey, State, StateKind
from devclaw_py.model.task import LabelEvent
from devclaw_py.rules import workflow
from devclaw_py.rules.diagnosis import Diagnosis, Fix, Issue, Release, Snapshot, diagnosis
from devclaw_py.rules.health_seats import came_from, holder, strays, worker
from devclaw_py.rules.labels import state_of

# An operation that goes well is over by then, also one that starts a session.
UNDER_WAY = timedelta(minutes=5)

UNTESTED = "This issue was closed in {was}, and its work is not in {base}. It was put into {kept}: a person decides."
UNTRACED = (
    "Neither the labels of this issue nor its history say how it stands. It was put into {kept}: a person decides."
)


def diagnose(snapshot: Snapshot) -> list[Diagnosis]:
    """Return what is wrong, open intents apart, with at most one change of an issue's labels each."""
    found = []
    if snapshot.workers is None:
        message = f"worker sessions could not be asked: {snapshot.terminal_trouble}"
        found.append(diagnosis(snapshot, "terminal_unknown", message, severity=Severity.UNKNOWN))
    if snapshot.issues is None:
        message = f"the tracker could not be asked: {snapshot.tracker_trouble}"
        found.append(diagnosis(snapshot, "tracker_unknown", message, severity=Severity.UNKNOWN))
        return found + [each for key in snapshot.project.seats() for each in _without_tracker(snapshot, key)]
    for number in sorted(snapshot.issues):
        if number not in snapshot.claimed:
            found += _issue(snapshot, number, snapshot.issues[number])
    return found + [each for key in snapshot.project.seats() for each in _empty(snapshot, key)]


def unsettled(snapshot: Snapshot) -> list[Diagnosis]:
    """Return the open intents that wait or were left behind; one that is under way is no finding."""
    found = []
    for each in snapshot.opened:
        intent = each.intent
        age = snapshot.now - intent.at
        if intent.next_try is None and each.living and age < UNDER_WAY:
            continue
        since = f"{int(age.total_seconds() // 60)} min"
        if intent.next_try is not None:
            message = f"{intent.named} waits since {since}: {intent.payload.get('waits', 'no reason was kept')}"
        else:
            message = f"{intent.named} was left unfinished {since} ago"
        found.append(
            diagnosis(
                snapshot,
                "open_intent",
                message,
                severity=Severity.WARNING,
                role=intent.role,
                issue=intent.issue,
                mend="it is settled",
                op=intent.op,
            )
        )
    return found


def is_odd(project_holds: Sequence[Role], issue: Issue) -> bool:
    """Whether the history of an issue's labels has to be known to say what is right."""
    active = [state for state in issue.standing if workflow.KIND[state] is StateKind.ACTIVE]
    held = {workflow.ACTIVE[role] for role in project_holds}
    return len(issue.standing) != 1 or set(active) != held or (issue.task is not None and issue.task.closed)


def _issue(snapshot: Snapshot, number: int, issue: Issue) -> list[Diagnosis]:
    keys = [key for key, seat in snapshot.project.seats().items() if seat.holds(number, None)]
    if issue.trouble:
        message = f"#{number} could not be asked about: {issue.trouble}"
        return [diagnosis(snapshot, "issue_unknown", message, severity=Severity.UNKNOWN, issue=number)]
    if issue.task is None:
        return [_gone(snapshot, key, number) for key in (*keys, *strays(snapshot, number))]

    kept, comment = _kept(snapshot, number, issue, keys)
    staying = [key for key in keys if workflow.ACTIVE[key.role] is kept]
    found = _seatless(snapshot, number, issue) if not keys else []
    if not found:
        found += _labels(snapshot, number, issue, kept, comment, [key for key in keys if key not in staying])
    return found + [each for key in staying for each in worker(snapshot, key, number, issue)]


def _seatless(snapshot: Snapshot, number: int, issue: Issue) -> list[Diagnosis]:
    """Return what an idle seat that names the issue gets: the task back where label and journal agree."""
    tries = snapshot.tries(number)
    for key in strays(snapshot, number):
        newest = tries[-1] if tries else None
        if (
            newest is not None
            and newest.ended is None
            and newest.key == key
            and issue.standing == (workflow.ACTIVE[key.role],)
            and not (issue.task and issue.task.closed)
        ):
            fix = Fix(seats=newest, previous=came_from(snapshot, key, number, issue.events))
            message = (
                f"{key} is idle, but #{number} is in {workflow.ACTIVE[key.role]} and attempt {newest.number} goes on"
            )
            return [diagnosis(snapshot, "inactive_with_issue", message, role=key.role, issue=number, fix=fix)]
    return []


def _kept(snapshot: Snapshot, number: int, issue: Issue, keys: Sequence[SeatKey]) -> tuple[State | None, str]:
    """Return the state that the issue ends in, None to leave it without one, and what is written on it."""
    chosen, comment = _chosen(snapshot, number, issue, keys)
    if chosen is None or workflow.KIND[chosen] is not StateKind.ACTIVE:
        return chosen, comment
    role = workflow.ROLE[chosen]
    held = [key for key in keys if key.role is role]
    if held and (issue.standing or not _taken_off(issue.events)):
        return chosen, comment
    beside = next((queue for queue in workflow.queues_of(role) if queue in issue.standing), None)
    return beside or came_from(snapshot, held[0] if held else SeatKey(role), number, issue.events), comment


def _chosen(snapshot: Snapshot, number: int, issue: Issue, keys: Sequence[SeatKey]) -> tuple[State | None, str]:
    standing = issue.standing
    newest = _newest(issue.events, standing)
    if issue.task is not None and issue.task.closed:
        return _closed(snapshot, issue, newest)
    if len(standing) == 1:
        return standing[0], ""
    held = [state for state in standing if state in {workflow.ACTIVE[key.role] for key in keys}]
    known = newest or (held[0] if held else None) or _last_known(snapshot, number)
    if known is not None:
        return known, ""
    return State.REFINING, UNTRACED.format(kept=State.REFINING)


def _closed(snapshot: Snapshot, issue: Issue, newest: State | None) -> tuple[State | None, str]:
    working = [s for s in issue.standing if workflow.KIND[s] in (StateKind.QUEUE, StateKind.ACTIVE)]
    if not working:
        return (issue.standing[0] if len(issue.standing) == 1 else None), ""
    if len(issue.standing) > 1 and newest is not None and newest not in working:
        return newest, ""
    if issue.merged:
        return State.DONE, ""
    was, base = " and ".join(working), snapshot.project.base_branch
    return State.REFINING, UNTESTED.format(was=was, base=base, kept=State.REFINING)


def _newest(events: Sequence[LabelEvent], standing: tuple[State, ...]) -> State | None:
    """Return the state that was put on last of those that stand, or the one that was touched last if none stands."""
    for event in reversed(events):
        state = state_of(event.label)
        if state is not None and (not standing or (event.added and state in standing)):
            return state
    return None


def _taken_off(events: Sequence[LabelEvent]) -> bool:
    """Whether a person took the last state label off: that is a move, too."""
    last = next((event for event in reversed(events) if state_of(event.label) is not None), None)
    return last is not None and not last.added and not last.ours


def _last_known(snapshot: Snapshot, number: int) -> State | None:
    """Return where the journal left the issue."""
    tries = snapshot.tries(number)
    if not tries:
        return None
    last = tries[-1]
    result = (last.outcome or {}).get("result")
    reached = [to for (role, word), to in workflow.COMPLETIONS.items() if role is last.role and word == result]
    return reached[0] if reached else workflow.ACTIVE[last.role]


def _labels(
    snapshot: Snapshot, number: int, issue: Issue, kept: State | None, comment: str, released: Sequence[SeatKey]
) -> list[Diagnosis]:
    """Return what becomes of labels that do not agree with ``kept``, and of the seats that lose the issue."""
    takes = tuple(state for state in issue.standing if state is not kept) if kept else ()
    put = kept if kept and issue.standing != (kept,) else None
    idle = strays(snapshot, number)
    if put is None and not released:
        return [_cleared(snapshot, key, number) for key in idle]

    kind, message = _named(snapshot, number, issue, released)
    notice = f"Task #{number} was moved to {kept or 'no state'}: stop working on it."
    releases = [holder(snapshot, key) for key in released] or _left_open(snapshot, number, kept)
    first = releases[0] if releases else None
    fix = Fix(
        takes=takes if put else (),
        put=put,
        comment=comment,
        release=first,
        notice=notice if first and first.session else "",
        reason="moved" if released else "unseated",
    )
    role = first.role if first else None
    found = [diagnosis(snapshot, kind, message, role=role, issue=number, fix=fix)]
    for other in releases[1:]:
        also = Fix(release=other, notice=notice, reason="moved")
        found.append(diagnosis(snapshot, "label_moved", message, role=other.role, issue=number, fix=also))
    return found + [_cleared(snapshot, key, number) for key in idle]


def _named(snapshot: Snapshot, number: int, issue: Issue, released: Sequence[SeatKey]) -> tuple[str, str]:
    standing = " and ".join(issue.standing) or "no state label"
    held = f", while {' and '.join(map(str, released))} holds it" if released else ""
    if issue.task is not None and issue.task.closed:
        return "issue_closed", f"#{number} is closed and in {standing}{held}"
    if len(issue.standing) > 1:
        return "several_labels", f"#{number} has several state labels: {standing}{held}"
    if not issue.standing:
        return "no_label", f"#{number} has {standing}{held}"
    if released:
        return "label_moved", f"somebody moved #{number} to {standing}{held}"
    return "orphan_label", f"#{number} is in {standing}, and no worker holds it"


def _left_open(snapshot: Snapshot, number: int, kept: State | None) -> list[Release]:
    """Return the attempt that is still open although no seat holds it; it ends with the label's move."""
    tries = snapshot.tries(number)
    if not tries or tries[-1].ended is not None or kept is workflow.ACTIVE[tries[-1].role]:
        return []
    last = tries[-1]
    return [Release(role=last.role, seat=last.seat, attempt=last.number, tier=last.tier, session=last.session)]


def _gone(snapshot: Snapshot, key: SeatKey, number: int) -> Diagnosis:
    release = holder(snapshot, key)
    notice = f"Task #{number} does not exist any more: stop working on it."
    fix = Fix(release=release, notice=notice if release.session else "", reason="issue_gone")
    message = f"{key} holds #{number}, which the tracker does not have"
    return diagnosis(snapshot, "issue_gone", message, role=key.role, issue=number, fix=fix)


def _cleared(snapshot: Snapshot, key: SeatKey, number: int) -> Diagnosis:
    fix = Fix(
        release=Release(role=key.role, seat=key.number, attempt=snapshot.project.seat(*key).attempt), reason="unseated"
    )
    message = f"{key} is idle and still names #{number}"
    return diagnosis(
        snapshot,
        "inactive_with_issue",
        message,
        severity=Severity.WARNING,
        role=key.role,
        issue=number,
        fix=fix,
    )


def _empty(snapshot: Snapshot, key: SeatKey) -> list[Diagnosis]:
    if not snapshot.project.seat(*key).active or snapshot.project.seat(*key).issue is not None:
        return []
    fix = Fix(release=Release(role=key.role, seat=key.number), reason="unseated")
    return [diagnosis(snapshot, "seat_without_issue", f"{key} is busy with no issue", role=key.role, fix=fix)]


def _without_tracker(snapshot: Snapshot, key: SeatKey) -> list[Diagnosis]:
    """Return what can be said of a worker when nobody knows its issue's label: no fix may touch that."""
    seat = snapshot.project.seat(*key)
    if not seat.active or seat.issue is None or seat.issue in snapshot.claimed:
        return []
    found = worker(snapshot, key, seat.issue, Issue(task=None))
    return [each.model_copy(update={"fix": _without_labels(each.fix), "otherwise": None}) for each in found]


def _without_labels(fix: Fix | None) -> Fix | None:
    return fix if fix is not None and fix.resumes else None
