"""The task message: gathered here, worded by `rules.prompts`."""

from __future__ import annotations

import secrets

from devclaw_py.app import App
from devclaw_py.kernel import files
from devclaw_py.kernel.resources import role_text
from devclaw_py.model.journal import Intent
from devclaw_py.model.pipeline import Result, Role, State
from devclaw_py.model.project import Project
from devclaw_py.model.task import Task
from devclaw_py.operations.shared import seat_of, target_of, tracker_of
from devclaw_py.rules import prompts
from devclaw_py.rules.labels import states_in
from devclaw_py.trackers.move import Moved


def task_text(app: App, project: Project, intent: Intent) -> str:
    """Return everything that the worker has to know of its task.

    Raises:
        Moved: somebody has moved the issue since it was claimed.
    """
    issue, attempt, role, tier, _ = seat_of(intent)
    tracker, facts = tracker_of(app, intent), intent.payload
    comments = tracker.comments(issue)
    # Read last: whoever moves the issue until now is heard before the worker begins.
    task = tracker.get(issue)
    _check_stands(task, target_of(intent)[1])
    return prompts.task_message(
        project=project.name,
        group_id=project.group_id,
        repo=project.repo,
        worktree=facts["worktree"],
        base_branch=project.base_branch,
        branch=facts["standsOn"],
        commit=facts["commit"],
        role=role,
        tier=tier,
        issue=task.ref,
        body=task.body,
        comments=comments,
        attempt=attempt,
        role_text=role_instructions(app, project, role),
        how_to_report=prompts.reporting(role, issue=issue, attempt=attempt),
        fence=secrets.token_hex(8),
        fail_reason=why_qa_failed(app, project.group_id, issue),
        newest=app.settings.limits.comments,
    )


def _check_stands(task: Task, claimed: State) -> None:
    found = states_in(task.labels)
    if found != (claimed,):
        raise Moved(task.number, claimed, found)


def role_instructions(app: App, project: Project, role: Role) -> str:
    """Return ``roles/<name or slug>/<role>.md``, else ``roles/default/<role>.md``, else the text in the package.

    Raises:
        ConfigError: one of them is there and cannot be read.
    """
    roles = app.workspace / "roles"
    for folder in dict.fromkeys((project.name, project.slug, "default")):
        text = files.read(roles / folder / f"{role}.md")
        if text is not None:
            return text.decode("utf-8", errors="replace")
    return role_text(role)


def why_qa_failed(app: App, group_id: str, issue: int) -> str | None:
    """Return the reason of the newest failed QA attempt, or None."""
    for attempt in reversed(app.store.journal.attempts(group_id, issue)):
        outcome = attempt.outcome or {}
        if attempt.role is Role.QA and outcome.get("result") == Result.FAIL:
            reason = outcome.get("reason") or (attempt.report.summary if attempt.report else "")
            return str(reason) or None
    return None
