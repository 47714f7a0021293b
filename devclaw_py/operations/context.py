"""task_context: the task again, for the worker that holds it or for whoever wants to see what it was told."""

from __future__ import annotations

from typing import Any

from devclaw_py.app import App
from devclaw_py.errors import InvalidArguments, NotActive
from devclaw_py.model.caller import Caller, CallerKind
from devclaw_py.model.journal import Attempt
from devclaw_py.model.pipeline import Role
from devclaw_py.model.project import Project
from devclaw_py.model.task import Task
from devclaw_py.operations.messages import Standing, worded
from devclaw_py.operations.steps import Call
from devclaw_py.rules import workflow
from devclaw_py.rules.attempts import ending
from devclaw_py.rules.labels import states_in


def task_again(app: App, call: Call, *, group_id: str, issue: int | None) -> dict[str, Any]:
    """Return the task message of a worker's current attempt, or of an issue's newest one, as it would be put now.

    Takes no lock and changes nothing.

    Raises:
        NotActive: the worker holds no task, or not this one; nobody ever picked the issue up.
        InvalidArguments: somebody else than a worker has not said which issue.
        TrackerError, RepositoryError: the outside could not be asked.
    """
    project = app.store.registry.get(group_id)
    if call.caller.kind is CallerKind.WORKER:
        attempt = _held(app, project, call.caller, issue)
    else:
        attempt = _newest(app, project, issue)

    tracker = app.open_tracker(project)
    comments = tracker.comments(attempt.issue)
    task = tracker.get(attempt.issue)
    standing = _standing(app, project, attempt)
    text = worded(app, project, attempt, task, comments, standing, notes=_notes(attempt, task))

    return {
        "success": True,
        "project": project.name,
        "issueId": attempt.issue,
        "attempt": attempt.number,
        "role": attempt.role.value,
        "tier": attempt.tier.value,
        "worktree": standing.worktree,
        "branch": standing.branch,
        "commit": standing.commit,
        "task": text,
    }


def _held(app: App, project: Project, caller: Caller, issue: int | None) -> Attempt:
    """Return the attempt that the seat of the caller's session holds."""
    assert caller.role is not None
    seats = project.seats(caller.role).values()
    own = [seat for seat in seats if seat.active and seat.tier and seat.session(seat.tier) == caller.session]
    seat = own[0] if own else None
    if seat is None or seat.issue is None:
        raise NotActive(
            f"{caller.session} holds no task now: it was completed, or somebody moved it",
            hint="stop working and wait for the next task message",
        )
    if issue not in (None, seat.issue):
        raise NotActive(
            f"#{issue} is not the current task of {caller.session}; that is #{seat.issue}", hint="leave issueId out"
        )
    known = app.store.journal.attempts(project.group_id, seat.issue)
    attempt = next((one for one in known if one.number == seat.attempt), None)
    if attempt is None:
        raise NotActive(
            f"the journal knows no attempt {seat.attempt} of #{seat.issue}, which {caller.session} holds",
            hint="the task file in the session's folder has the task; session_health mends the seat",
        )
    return attempt


def _newest(app: App, project: Project, issue: int | None) -> Attempt:
    if issue is None:
        raise InvalidArguments("task_context needs issueId; only a worker may leave it out and mean its own task")
    known = app.store.journal.attempts(project.group_id, issue)
    if not known:
        raise NotActive(
            f"issue #{issue} of {project.name} was never picked up, so no worker was told of it",
            hint="task_pickup gives it to one",
        )
    return known[-1]


def _standing(app: App, project: Project, attempt: Attempt) -> Standing:
    desk = app.work.desk(project, attempt.role, attempt.tier, attempt.seat)
    branch = attempt.branch
    if branch is None and attempt.role is Role.DEV:  # begun by a devclaw that did not note it
        branch = app.work.branch(project, attempt.issue, attempt.title)
    return Standing(worktree=str(desk.worktree), branch=branch, commit=attempt.commit or "unknown")


def _notes(attempt: Attempt, task: Task) -> list[str]:
    """Say what has changed since the worker was told the task."""
    if attempt.ended is not None:
        return [f"this attempt has ended ({ending(attempt)}); a report for it changes nothing"]
    edited = [] if attempt.text in (None, task.digest) else ["title or description were edited since the task was told"]
    found, active = states_in(task.labels), workflow.ACTIVE[attempt.role]
    if found == (active,):
        return edited
    now = ", ".join(found) or "no state label"
    return [f"the issue carries {now} now, not {active}: somebody has moved it. Stop working and wait to be told."]
