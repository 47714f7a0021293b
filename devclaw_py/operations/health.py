"""session_health: look without a lock; with autoFix look again under it, and mend one thing after another."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from devclaw_py.agents.look import LookStatus
from devclaw_py.app import App
from devclaw_py.chat.pump import pump
from devclaw_py.chat.text import plain
from devclaw_py.errors import Conflict, DevClawError, ProjectBusy
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.journal import Attempt, Intent
from devclaw_py.model.pipeline import State
from devclaw_py.model.project import Project
from devclaw_py.model.task import TaskRef
from devclaw_py.operations.edits import tell_of_edits
from devclaw_py.operations.following import follow
from devclaw_py.operations.health_look import Panes, look_at, opened
from devclaw_py.operations.recovery import project_held, settle
from devclaw_py.operations.resting import put_to_rest
from devclaw_py.operations.runner import perform
from devclaw_py.operations.steps import Call, begun
from devclaw_py.operations.update_steps import HEALTH
from devclaw_py.operations.wishes import carry_out, new_op
from devclaw_py.rules import announce
from devclaw_py.rules.diagnosis import Diagnosis, Fix, Release, Snapshot
from devclaw_py.rules.health import diagnose, unsettled

TOOL = "health_fix"

# Findings about a worker that something may have been done for by following it up.
FOLLOWED = frozenset({"silent_worker", "worker_failing", "worker_limited", "stalled_worker"})

# As which the session of a worker must still be seen when its task is taken from it.
STILL = {
    "session_dead": frozenset({LookStatus.DEAD, LookStatus.ABSENT}),
    "stalled_worker": frozenset({LookStatus.DEAD, LookStatus.ABSENT}),
    "over_budget": frozenset({LookStatus.DEAD, LookStatus.ABSENT}),
    "silent_worker": frozenset({LookStatus.IDLE}),
}


def check_health(app: App, call: Call, *, group_id: str | None, auto_fix: bool) -> dict[str, Any]:
    """Find what is wrong in one project or in all; with ``auto_fix`` mend what can be mended.

    Each fix is an operation of its own, and one that fails does not stop the others. What could not be asked is
    reported as unknown, and so is a project that cannot be looked at; the others are looked at all the same.

    Raises:
        UnknownProject: there is none of that group.
        ProjectBusy: the one project that was named is held by another operation.
    """
    registry, panes = app.store.registry, Panes(app)
    projects = [registry.get(group_id)] if group_id is not None else list(registry.all().values())
    findings: list[Finding] = []
    for project in projects:
        try:
            findings += _mend(app, call, project, panes) if auto_fix else _look(app, project, panes)
        except DevClawError as error:
            if group_id is not None and isinstance(error, ProjectBusy):
                raise
            findings.append(_unknown(project, error))
    answer = _answer(_once(findings))
    if not registry.exists:
        answer["note"] = "there is no projects.json yet: no project is registered"
    if auto_fix and group_id is None:
        answer |= _follow(app, call, projects)
    return answer


def _answer(findings: list[Finding]) -> dict[str, Any]:
    return {
        "success": True,
        "healthy": not findings,
        "issuesFound": len(findings),
        "fixesApplied": sum(finding.fixed is True for finding in findings),
        "issues": [finding.model_dump(mode="json", by_alias=True, exclude_none=True) for finding in findings],
        "announcement": plain(announce.health(findings)),
    }


def _once(findings: list[Finding]) -> list[Finding]:
    """Return the findings with the terminal's silence said once: all projects share it."""
    kept, told = [], False
    for finding in findings:
        if finding.type == "terminal_unknown":
            if told:
                continue
            told = True
            finding = finding.model_copy(update={"project": None, "group_id": None})
        kept.append(finding)
    return kept


def _unknown(project: Project, error: DevClawError) -> Finding:
    return Finding(
        type="project_unknown",
        severity=Severity.UNKNOWN,
        message=f"it could not be looked at: {error}",
        mend=error.hint or "",
        project=project.name,
        group_id=project.group_id,
    )


def _look(app: App, project: Project, panes: Panes) -> list[Finding]:
    snapshot = look_at(app, project.group_id, panes)
    return [found.finding for found in (*unsettled(snapshot), *diagnose(snapshot))]


def _mend(app: App, call: Call, project: Project, panes: Panes) -> list[Finding]:
    findings = mend(app, call, project, panes, force=True)
    # Last, and without the project's lock: a session that was just resumed is told to go on.
    followed = follow(app, project.group_id, caller=call.caller, fresh=timedelta())
    urged = {(done["issueId"], done["role"]) for done in followed}
    return [_helped(finding, urged) for finding in findings]


def mend(
    app: App, call: Call, project: Project, panes: Panes, *, force: bool, wait_s: float | None = None
) -> list[Finding]:
    """Settle what is open, also what waits for a time to come where ``force``; then mend what stands wrong.

    Raises:
        ProjectBusy: another operation holds the project for longer than ``wait_s``.
    """
    group_id = project.group_id
    before = unsettled(Snapshot(project=project, now=app.clock.now(), opened=opened(app, group_id)))
    with project_held(app, group_id, call, wait_s=wait_s):
        call.settled += settle(app, group_id, force=force)
        snapshot = put_to_rest(app, look_at(app, group_id, panes))
        left = unsettled(snapshot)
        known = {found.op for found in left}
        findings = [_marked(found, fixed=False) for found in left]
        findings += [_marked(found, fixed=True) for found in before if found.op not in known]
        findings += [_treat(app, call, snapshot, found) for found in diagnose(snapshot)]
        findings += tell_of_edits(app, call, snapshot)
    return findings


def _helped(finding: Finding, urged: set[tuple[int, str]]) -> Finding:
    """Mark the finding about a worker for whom something was done as mended."""
    if finding.fixed is None and (finding.issue_id, finding.role) in urged and finding.type in FOLLOWED:
        return finding.model_copy(update={"fixed": True})
    return finding


def _marked(found: Diagnosis, *, fixed: bool, why: str = "") -> Finding:
    mend = f"{found.finding.mend}: not done, {why}" if why else found.finding.mend
    return found.finding.model_copy(update={"fixed": fixed, "mend": mend})


def _treat(app: App, call: Call, snapshot: Snapshot, found: Diagnosis) -> Finding:
    """Do what a diagnosis asks for, and return its finding with what came of it."""
    why = ""
    for fix in (found.fix, found.otherwise):
        if fix is None:
            continue
        intent = _intent(app, call, snapshot, found, fix)
        try:
            if _has_reported(app, snapshot, fix):
                call.settled += settle(app, snapshot.project.group_id, force=True)
                return _marked(found, fixed=not _has_reported(app, snapshot, fix))
            _check_still(app, found, fix)
            perform(app, HEALTH, intent)
        except DevClawError as error:
            why = str(error)
            if app.store.journal.intent(intent.op) is not None:
                break
        else:
            return _marked(found, fixed=True)
    return _marked(found, fixed=False, why=why) if found.fix is not None else found.finding


def _has_reported(app: App, snapshot: Snapshot, fix: Fix) -> bool:
    """Whether the worker's report has come in since the look; a report needs no lock to be kept."""
    if fix.release is None or fix.release.attempt is None:
        return False
    waiting = app.store.journal.intents(snapshot.project.group_id)
    return any(
        (intent.kind, intent.role, intent.attempt) == ("complete", fix.release.role, fix.release.attempt)
        and intent.issue == snapshot.project.seat(*fix.release.key).issue
        for intent in waiting
    )


def _check_still(app: App, found: Diagnosis, fix: Fix) -> None:
    """Ask for the session once more, right before its task is taken from it.

    Raises:
        Conflict: it does not stand as it did.
    """
    expected, release = STILL.get(found.finding.type), fix.release
    if expected is None or release is None or release.session is None:
        return
    look = app.sessions.look(release.session)
    if look.status not in expected:
        raise Conflict(f"{release.session} is {look.status} by now; nothing was changed")


def _intent(app: App, call: Call, snapshot: Snapshot, found: Diagnosis, fix: Fix) -> Intent:
    number, release = found.finding.issue_id, _seat_of(fix)
    task = _ref(snapshot, number)
    own = Call(op=new_op(), tool=TOOL, caller=call.caller, at=app.clock.now())
    return begun(
        app,
        own,
        HEALTH,
        snapshot.project.group_id,
        {
            "project": snapshot.project.name,
            "takes": [state.value for state in fix.takes],
            "stood": fix.put is not None and fix.put in _standing(snapshot, number),
            "closed": fix.closed,
            "comment": fix.comment,
            "notice": fix.notice,
            "stops": fix.stops,
            "resumes": fix.resumes,
            "reason": fix.reason,
            "wish": fix.wish,
            "told": _told(task, found, fix).model_dump(mode="json") if task else None,
            "audit": _facts(call, found, fix),
            **_seating(fix),
        },
        issue=number,
        role=release.role if release else None,
        seat=release.seat if release else 1,
        tier=release.tier if release else None,
        session=release.session if release else None,
        attempt=release.attempt if release else None,
        source=fix.takes[0] if fix.takes else None,
        target=fix.put,
    )


def _seat_of(fix: Fix) -> Release | None:
    if fix.seats is None:
        return fix.release
    seats = fix.seats
    return Release(role=seats.role, seat=seats.seat, attempt=seats.number, tier=seats.tier, session=seats.session)


def _seating(fix: Fix) -> dict[str, Any]:
    if fix.seats is None or fix.previous is None:
        return {}
    return {"seats": True, "since": fix.seats.started.isoformat(), "previous": fix.previous.value}


def _standing(snapshot: Snapshot, number: int | None) -> tuple[State, ...]:
    issue = (snapshot.issues or {}).get(number) if number is not None else None
    return issue.standing if issue else ()


def _ref(snapshot: Snapshot, number: int | None) -> TaskRef | None:
    if number is None:
        return None
    issue = (snapshot.issues or {}).get(number)
    if issue is not None and issue.task is not None:
        return issue.task.ref
    last: list[Attempt] = snapshot.tries(number)[-1:]
    return TaskRef(number=number, title=last[0].title if last else "", url=last[0].url if last else "")


def _told(task: TaskRef, found: Diagnosis, fix: Fix) -> Announcement:
    if fix.release is not None and fix.reason == "budget":
        return announce.budget_rest(task, fix.release.role, found.finding.message)
    if fix.release is not None and fix.reason not in ("", "unseated"):
        return announce.released(task, fix.release.role, found.finding.message)
    return announce.recovered(task, f"{found.finding.message}; {fix.words()}")


def _facts(call: Call, found: Diagnosis, fix: Fix) -> dict[str, Any]:
    facts = {
        "finding": found.finding.type,
        "message": found.finding.message,
        "fix": fix.words(),
        "role": found.finding.role,
        "attempt": fix.release.attempt if fix.release else None,
        "labelTransition": f"{' and '.join(fix.takes) or 'no state'} → {fix.put}" if fix.put else None,
        "reason": fix.reason or None,
        "cause": call.op,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _follow(app: App, call: Call, projects: list[Project]) -> dict[str, Any]:
    """Carry out the wishes of all projects and tell their groups; the door does it where one group was named."""
    outcomes: list[dict[str, Any]] = []
    for project in projects:
        try:
            outcomes += carry_out(app, project.group_id)
        except DevClawError as error:
            outcomes.append({"groupId": project.group_id, "dispatched": False, "reason": str(error)})
    pump(app.store, app.notifier, app.clock, caller=call.caller)
    return {"followed": outcomes} if outcomes else {}
