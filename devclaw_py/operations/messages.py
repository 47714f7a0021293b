"""The task message: gathered here, worded by `rules.prompts`."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from dataclasses import dataclass

from devclaw_py.app import App
from devclaw_py.kernel import files
from devclaw_py.kernel.resources import role_text
from devclaw_py.model.journal import Attempt, Intent
from devclaw_py.model.pipeline import Result, Role, State
from devclaw_py.model.project import Project
from devclaw_py.model.task import Comment, Task
from devclaw_py.operations.shared import attempt_of, change_of, target_of, tracker_of
from devclaw_py.rules import prompts
from devclaw_py.rules.handover import Earlier
from devclaw_py.rules.labels import states_in
from devclaw_py.trackers.move import Moved


@dataclass(frozen=True)
class Standing:
    """Where a worker works: its worktree, the branch (None: qa has none to test) and the commit it was given."""

    worktree: str
    branch: str | None
    commit: str


def task_text(app: App, project: Project, intent: Intent, *, earlier: Sequence[Earlier] = ()) -> str:
    """Return everything that the worker has to know of its task.

    Raises:
        Moved: somebody has moved the issue since it was claimed.
    """
    attempt, tracker, facts = attempt_of(app, intent), tracker_of(app, intent), intent.payload
    comments = tracker.comments(attempt.issue)
    # Read last: whoever moves the issue until now is heard before the worker begins.
    task = tracker.get(attempt.issue)
    _check_stands(task, target_of(intent)[1])
    app.store.journal.change_attempt(change_of(intent, text=task.digest))
    standing = Standing(worktree=facts["worktree"], branch=facts["standsOn"], commit=facts["commit"])
    return worded(app, project, attempt, task, comments, standing, earlier=earlier)


def worded(
    app: App,
    project: Project,
    attempt: Attempt,
    task: Task,
    comments: Sequence[Comment],
    standing: Standing,
    *,
    notes: Sequence[str] = (),
    earlier: Sequence[Earlier] = (),
) -> str:
    """Return the message of one attempt; other people's text stands between marks made for this message alone."""
    return prompts.task_message(
        project=project.name,
        group_id=project.group_id,
        repo=project.repo,
        worktree=standing.worktree,
        base_branch=project.base_branch,
        branch=standing.branch,
        commit=standing.commit,
        role=attempt.role,
        tier=attempt.tier,
        issue=task.ref,
        body=task.body,
        comments=comments,
        attempt=attempt.number,
        role_text=role_instructions(app, project, attempt.role),
        how_to_report=prompts.reporting(attempt.role, issue=attempt.issue, attempt=attempt.number),
        fence=secrets.token_hex(8),
        fail_reason=why_qa_failed(app, project.group_id, attempt.issue),
        notes=notes,
        earlier=earlier,
        newest=app.settings.limits.comments,
        test_command=project.test_command,
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
