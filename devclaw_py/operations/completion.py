"""task_complete: the report is in the journal before anything else, and is never lost."""

from __future__ import annotations

from typing import Any, TypeVar

from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.errors import ConfigError, InvalidArguments, NotActive, NotAllowed, ProjectBusy, StateCorrupt
from devclaw_py.model.caller import CallerKind
from devclaw_py.model.journal import Attempt, Intent, Report
from devclaw_py.model.pipeline import Result, Role, SeatKey
from devclaw_py.model.project import Project
from devclaw_py.operations.completion_steps import COMPLETE
from devclaw_py.operations.pickup import ADOPTED, next_attempt
from devclaw_py.operations.recovery import project_held
from devclaw_py.operations.shared import ref_of
from devclaw_py.operations.steps import Call, begun
from devclaw_py.rules import announce, workflow

Found = TypeVar("Found")


def complete(
    app: App,
    call: Call,
    *,
    group_id: str,
    role: Role,
    result: Result,
    summary: str = "",
    attempt: int | None = None,
    issue: int | None = None,
) -> dict[str, Any]:
    """Take a worker's report and carry it out; the answer is ``pending`` when it has to wait.

    When somebody moved the issue meanwhile it is a ``conflict`` with what became of the report. The same report
    again answers the first outcome with ``repeated``.

    Raises:
        InvalidArguments: the role cannot report that, or the attempt's issue is missing.
        NotAllowed: a worker reports for another one.
        NotActive, StaleAttempt: there is nothing that this report could end.
    """
    target = workflow.completion_target(role, result)
    report = Report(result=result, summary=summary)
    project, ending = _project_and_attempt(app, call, group_id, role, report, issue=issue, number=attempt)
    _check_own(call, ending)
    intent = _intent(app, call, project, ending, report).model_copy(update={"target": target})

    fresh = app.store.journal.report(intent, report)
    app.faults.hit(COMPLETE.points[0])

    ended, why = _settle_report(app, call, ending)
    if ended.outcome is None:
        return _pending(app, intent, ended, why) | ({} if fresh else {"repeated": True})
    return ended.outcome | ({} if fresh else {"repeated": True})


def _project_and_attempt(
    app: App, call: Call, group_id: str, role: Role, report: Report, *, issue: int | None, number: int | None
) -> tuple[Project | None, Attempt]:
    """Return what a report is about; no project while the registry cannot be read and the journal knows the attempt.

    A slip in an editor must not cost a report: it is kept, and carried out once the file is mended.
    """
    try:
        project = app.store.registry.get(group_id)
    except StateCorrupt:
        for known in app.store.journal.attempts(group_id, issue):
            if issue is not None and (known.number, known.role) == (number, role):
                return None, known
        raise
    return project, _find_attempt(app, call, project, role, report, issue=issue, number=number)


def _find_attempt(
    app: App, call: Call, project: Project, role: Role, report: Report, *, issue: int | None, number: int | None
) -> Attempt:
    if number is None and call.caller.kind is CallerKind.WORKER:
        raise InvalidArguments("a worker's report needs the attempt number", hint="it stands in your task message")
    if number is None:
        return _reported_last(app, project, role, report, issue) or _current_attempt(app, project, role, issue)
    if issue is None:
        issue = _only([seat.issue for seat in project.seats(role).values() if seat.attempt == number])
        if issue is None:
            raise InvalidArguments("a report with an attempt number needs issueId, too: attempts are counted per issue")
    for attempt in app.store.journal.attempts(project.group_id, issue):
        if (attempt.number, attempt.role) == (number, role):
            return attempt
    key = _only([key for key, seat in project.seats(role).items() if seat.holds(issue, number)])
    if key is not None:
        return _adopt(app, project, key, issue)
    raise NotActive(f"{role} of {project.name} never had attempt {number} of issue #{issue}; nothing was reported")


def _only(found: list[Found]) -> Found | None:
    return found[0] if len(found) == 1 else None


def _reported_last(app: App, project: Project, role: Role, report: Report, issue: int | None) -> Attempt | None:
    """Return the newest attempt of an idle role (at ``issue``) if it is this very report that ended it."""
    if any(seat.active and issue in (None, seat.issue) for seat in project.seats(role).values()):
        return None
    tries = [known for known in app.store.journal.attempts(project.group_id, issue) if known.role is role]
    return tries[-1] if tries and tries[-1].report == report else None


def _check_own(call: Call, ending: Attempt) -> None:
    if call.caller.kind is CallerKind.WORKER and ending.session != call.caller.session:
        raise NotAllowed(
            f"attempt {ending.number} of issue #{ending.issue} was given to {ending.session}, not to "
            f"{call.caller.session}",
            hint="report with issueId and attempt of your own task message",
        )


def _current_attempt(app: App, project: Project, role: Role, issue: int | None) -> Attempt:
    busy = {key: seat for key, seat in project.seats(role).items() if seat.active and seat.issue is not None}
    meant = [key for key, seat in busy.items() if issue in (None, seat.issue)]
    held = " and ".join(f"#{seat.issue}" for seat in busy.values())
    if not meant:
        what = f"holds {held}" if busy else "holds no task"
        asked = f"#{issue}" if issue is not None else "a task"
        raise NotActive(f"{role} of {project.name} {what}; there is no report to take for {asked}")
    if len(meant) > 1:
        raise InvalidArguments(f"{role} of {project.name} holds {held}: the report needs issueId")
    seat = busy[meant[0]]
    assert seat.issue is not None
    for attempt in app.store.journal.attempts(project.group_id, seat.issue):
        if attempt.number == seat.attempt:
            return attempt
    return _adopt(app, project, meant[0], seat.issue)


def _adopt(app: App, project: Project, key: SeatKey, issue: int) -> Attempt:
    """Note the attempt of a seat that the journal does not know, and number it if the seat does not.

    The original takes seats without counting attempts; and a journal may be lost while a worker is at work, whose
    report names the number that it was given.
    """
    seat, now, role = project.seat(*key), app.clock.now(), key.role
    tier = seat.tier or workflow.default_tier(role)
    adopted = Attempt(
        group_id=project.group_id,
        issue=issue,
        number=seat.attempt or next_attempt(app, project, issue),
        role=role,
        seat=key.number,
        tier=tier,
        session=seat.session(tier) or app.work.desk(project, role, tier, key.number).session,
        op=ADOPTED,
        accepted=seat.start_time or now,
        started=seat.start_time or now,
    )
    app.store.journal.save_attempt(adopted)
    update = {"attempt": adopted.number}
    app.store.registry.change(
        project.group_id, lambda found: found.with_seat(key, found.seat(*key).model_copy(update=update))
    )
    return adopted


def _intent(app: App, call: Call, project: Project | None, ending: Attempt, report: Report) -> Intent:
    return begun(
        app,
        call,
        COMPLETE,
        ending.group_id,
        {
            "project": project.name if project else None,
            "title": ending.title,
            "url": ending.url,
            "result": report.result.value,
            "summary": report.summary,
            "reason": "" if report.result in (Result.DONE, Result.PASS) else report.summary,
        },
        issue=ending.issue,
        role=ending.role,
        seat=ending.seat,
        tier=ending.tier,
        session=ending.session,
        attempt=ending.number,
        source=workflow.ACTIVE[ending.role],
    )


def _settle_report(app: App, call: Call, ending: Attempt) -> tuple[Attempt, str]:
    """Carry the report out if the project can be had in time; return its attempt as it is then, and why if not."""
    why = "it could not be carried out at once; the next call tries again"
    try:
        with project_held(app, ending.group_id, call, wait_s=app.settings.timeouts.report_lock_s, reporting=True):
            pass  # the report stands in the journal: settling the project settles it, in its turn
    except ProjectBusy as held:
        why = f"another operation holds the project: {held}"
    except (StateCorrupt, ConfigError) as broken:
        why = str(broken)
    tries = app.store.journal.attempts(ending.group_id, ending.issue)
    return next(attempt for attempt in tries if attempt.number == ending.number), why


def _pending(app: App, intent: Intent, ended: Attempt, why: str) -> dict[str, Any]:
    """Return the answer of a report that is safe in the journal and cannot be carried out yet."""
    kept = app.store.journal.intents(ended.group_id)
    waiting = next(
        (i for i in kept if (i.kind, i.issue, i.attempt) == (intent.kind, ended.issue, ended.number)), intent
    )
    reason = waiting.payload.get("waits") or why
    return {
        "success": True,
        "pending": True,
        "reason": reason,
        "project": intent.payload["project"],
        "groupId": intent.group_id,
        "issueId": ended.issue,
        "role": ended.role.value,
        "attempt": ended.number,
        "result": intent.payload["result"],
        "announcement": plain(announce.waits(ref_of(intent), reason)),
    }
