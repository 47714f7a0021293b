"""The rows of task_complete: the report first, then the work, then the label, the seat last."""

from __future__ import annotations

from devclaw_py.app import App
from devclaw_py.errors import CommentRefused, RepositoryError, UnknownTask
from devclaw_py.model.journal import Closing, Intent
from devclaw_py.model.pipeline import Integration, Provider, Result, State
from devclaw_py.operations.ending import completed, conflicted, merged_as
from devclaw_py.operations.integration import (
    ensure_request,
    merge_request,
    merged_by_worker,
    plan_request,
    request_merged,
)
from devclaw_py.operations.reports import branch_of, is_conflict, result_of, turned
from devclaw_py.operations.shared import (
    attempt_of,
    desk_of,
    project_of,
    ref_of,
    release_seat,
    seat_of,
    source_of,
    target_of,
    tracker_of,
)
from devclaw_py.operations.steps import Operation, Step, Waits, never, note, nothing, telling
from devclaw_py.rules import announce
from devclaw_py.rules.comments import headline, marker, report_comment
from devclaw_py.trackers import move
from devclaw_py.trackers.move import Moved
from devclaw_py.work.base import MergeKind, MergePlan

REPLANS = 5


def _keep(app: App, intent: Intent) -> Intent:
    if result_of(intent) is not Result.DONE:
        return intent
    project = project_of(app, intent)
    if (merged := merged_by_worker(app, intent)) is not None:
        noted = {"number": merged.number, "url": merged.url}
        return intent.knowing(commit=merged.head, pushed=True, request=noted)
    desk = desk_of(app, project, intent)
    try:
        kept = app.work.keep(project, desk, branch=branch_of(app, intent))
    except RepositoryError as error:
        # Nobody else reads the branch of a local project, so an unreachable remote is worth a warning, not a wait.
        if not error.retryable or project.provider is not Provider.LOCAL:
            raise
        return intent.knowing(warnings=[str(error)])
    return intent.knowing(commit=kept.commit, pushed=kept.pushed, warnings=list(kept.warnings))


def _plan(app: App, intent: Intent) -> Intent:
    if result_of(intent) is not Result.PASS:
        return intent
    project = project_of(app, intent)
    requests = app.open_requests(project)
    if requests is not None:
        return plan_request(app, intent, requests)
    tested = attempt_of(app, intent).commit
    if project.integration is not Integration.DEVCLAW:
        return intent
    branch = branch_of(app, intent)
    if tested is None:
        return intent.knowing(warnings=[f"devclaw does not know which commit was tested: {branch} was not merged"])
    issue, _ = source_of(intent)
    message = f"Merge #{issue}: {intent.payload['title']}\n\nDevClaw-Attempt: {intent.attempt}\n"
    plan = app.work.plan_merge(project, branch=branch, tested=tested, message=message, at=intent.at)
    if plan.kind is MergeKind.WAITING:
        raise Waits(
            f"the tested work of #{issue} waits to be merged: {plan.reason}",
            hint="commit, stash or move what is in the way in the main checkout; devclaw recover tries again at once",
        )
    if plan.kind in (MergeKind.CONFLICT, MergeKind.NEWER):
        return _failed(intent, plan)
    return intent.knowing(plan=plan.model_dump(mode="json"))


def _failed(intent: Intent, plan: MergePlan) -> Intent:
    reason = plan.reason or f"the tested commit conflicts with the base branch in {', '.join(plan.paths)}"
    return turned(intent, Result.FAIL, reason, plan.paths)


def _take(app: App, intent: Intent) -> Intent:
    try:
        move.take(tracker_of(app, intent), *source_of(intent))
    except (Moved, UnknownTask) as error:
        return _beaten(intent, error)
    return intent


def _beaten(intent: Intent, error: Moved | UnknownTask) -> Intent:
    if isinstance(error, UnknownTask):
        return intent.knowing(movedTo=[], deleted=True)
    return intent.knowing(movedTo=[state.value for state in error.found])


def _taken(app: App, intent: Intent) -> Intent | None:
    try:
        happened = move.taken(tracker_of(app, intent), *source_of(intent), since=intent.at)
    except (Moved, UnknownTask) as error:
        return _beaten(intent, error)
    return intent if happened else None


def _plan_of(intent: Intent) -> MergePlan | None:
    plan = intent.payload.get("plan")
    if plan is None or is_conflict(intent):
        return None
    found = MergePlan.model_validate(plan)
    return found if found.kind is MergeKind.CLEAN else None


def _publish(app: App, intent: Intent) -> Intent:
    """Publish the planned merge; when it has to wait, the label that was taken is put back meanwhile."""
    intent = _taken_again(app, intent)
    requests = app.open_requests(project_of(app, intent))
    try:
        if requests is not None:
            return merge_request(app, intent, requests)
        return _published_or_planned(app, intent)
    except Waits as waits:
        return _wait_with_label(app, intent, waits)


def _taken_again(app: App, intent: Intent) -> Intent:
    if not intent.payload.get("labelBack"):
        return intent
    return note(app, (_taken(app, intent) or _take(app, intent)).knowing(labelBack=False))


def _published_or_planned(app: App, intent: Intent) -> Intent:
    """Publish; when the base branch has moved since the plan, plan again on the new head."""
    for _ in range(REPLANS):
        plan = _plan_of(intent)
        if plan is None:
            return intent
        try:
            app.work.publish(project_of(app, intent), plan)
        except RepositoryError as error:
            if not error.retryable:
                raise
            intent = note(app, _plan(app, intent))
        else:
            return intent
    raise Waits("the base branch keeps moving while the tested work is merged")


def _wait_with_label(app: App, intent: Intent, waits: Waits) -> Intent:
    """Put the active label back and wait with it, as before the take; somebody's move meanwhile ends the report.

    Raises:
        Waits: always but then.
    """
    # Noted first: whoever is stopped in between asks at the next try whether the label is there.
    note(app, intent.knowing(labelBack=True))
    try:
        move.give_back(tracker_of(app, intent), *source_of(intent))
    except (Moved, UnknownTask) as error:
        return _beaten(intent, error)
    raise waits


def _published(app: App, intent: Intent) -> Intent | None:
    requests = app.open_requests(project_of(app, intent))
    if requests is not None:
        found = request_merged(app, intent, requests)
        return None if found is None else _taken_again(app, found)
    plan = _plan_of(intent)
    if plan is None or not app.work.published(project_of(app, intent), plan):
        return None
    return _taken_again(app, intent)


def _comment(app: App, intent: Intent) -> Intent:
    body = report_comment(
        role=seat_of(intent)[2],
        result=result_of(intent),
        attempt=seat_of(intent)[1],
        summary=intent.payload.get("summary", ""),
        reason=intent.payload.get("reason", ""),
        warnings=tuple(intent.payload.get("warnings", ())),
        passed=intent.payload.get("requested") is not None,
    )
    if not body and is_conflict(intent):
        body = headline(seat_of(intent)[2], result_of(intent), seat_of(intent)[1])
    if body:
        try:
            tracker_of(app, intent).comment(source_of(intent)[0], f"{body}\n\n{marker(intent.op)}")
        except CommentRefused as refused:
            return intent.knowing(warnings=[*intent.payload.get("warnings", ()), f"not commented: {refused}"])
        except UnknownTask:
            pass  # the report stands in the audit log
    return intent


def _commented(app: App, intent: Intent) -> Intent | None:
    try:
        comments = tracker_of(app, intent).comments(source_of(intent)[0])
    except UnknownTask:
        return intent
    return intent if any(marker(intent.op) in comment.body for comment in comments) else None


def _put(app: App, intent: Intent) -> Intent:
    if is_conflict(intent):
        return intent
    try:
        move.put(tracker_of(app, intent), *target_of(intent), source=source_of(intent)[1])
    except (Moved, UnknownTask) as error:
        return _beaten_late(intent, error)
    return intent


def _stands(app: App, intent: Intent) -> Intent | None:
    issue, source = source_of(intent)
    _, target = target_of(intent)
    try:
        happened = move.put_happened(tracker_of(app, intent), issue, source=source, target=target, since=intent.at)
    except UnknownTask as error:
        return _beaten_late(intent, error)
    return intent if happened else None


def _beaten_late(intent: Intent, error: Moved | UnknownTask) -> Intent:
    """Note a conflict that was found when the tested work was merged already: the merge stays, and is told."""
    return _beaten(intent, error).knowing(merged=merged_as(intent))


def _issue(app: App, intent: Intent) -> Intent:
    if is_conflict(intent):
        return intent
    issue, target = target_of(intent)
    try:
        if target is State.DONE:
            tracker_of(app, intent).close(issue)
        elif target is State.TO_IMPROVE:
            tracker_of(app, intent).reopen(issue)
    except UnknownTask as error:
        return _beaten_late(intent, error)
    return intent


def _free(app: App, intent: Intent) -> Intent:
    release_seat(app, intent)
    return intent


def _finish(app: App, intent: Intent) -> Closing:
    return conflicted(app, intent) if is_conflict(intent) else completed(app, intent)


def _parked(app: App, intent: Intent, reason: str) -> None:
    """Free the seat while the report waits, and tell the group once."""
    release_seat(app, intent)
    told = announce.waits(ref_of(intent), reason)
    app.store.journal.queue(telling(app, intent, "waits", told))


COMPLETE = Operation(
    kind="complete",
    first="report",
    steps=(
        Step(2, "keep", _keep, never),
        Step(3, "request", ensure_request, never),
        Step(4, "plan", _plan, never),
        Step(5, "take", _take, _taken),
        Step(6, "publish", _publish, _published),
        Step(7, "comment", _comment, _commented),
        Step(8, "put", _put, _stands),
        Step(9, "issue", _issue, never),
        Step(10, "seat", _free, never),
    ),
    committed=lambda app, intent: True,
    finish=_finish,
    undone=nothing,
    parked=_parked,
)
