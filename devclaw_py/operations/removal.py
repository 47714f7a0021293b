"""Taking a project out of the registry. Nothing that people or workers have made is removed with it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from devclaw_py.app import App
from devclaw_py.errors import IssueClaimed, SessionFailed, WorkerBusy
from devclaw_py.model.journal import AuditLine, Closing
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.project import Project
from devclaw_py.operations.recovery import project_held
from devclaw_py.operations.steps import Call

TIERS = "|".join(f"{tier.role}-{tier}" for tier in Tier)


def remove_project(app: App, call: Call, *, group_id: str, force: bool) -> dict[str, Any]:
    """Forget a project: stop its sessions, drop what waits for it, remove its entry. Every row may be repeated.

    Issues, worktrees, branches and commits stay; the answer says where. ``force`` also gives up the tasks that
    workers hold and the operations that wait.

    Raises:
        WorkerBusy: a seat holds a task, and there is no ``force``.
        IssueClaimed: an operation waits, and there is no ``force``.
        SessionFailed: a session could not be stopped, and there is no ``force``.
    """
    with project_held(app, group_id, call) as project:
        if not force:
            _check_idle(app, project)
        warnings, stopped = [], []
        for name in session_names(app, project):
            try:
                app.sessions.stop(name)
                stopped.append(name)
            except SessionFailed as error:
                if not force:
                    raise
                warnings.append(f"{name} was not stopped: {error}")
        dropped = _drop_waiting(app, project)
        app.store.registry.remove(group_id)
    facts = {"ok": True, "repo": project.repo, "force": force, "sessionsStopped": stopped, "dropped": dropped}
    app.store.audit.append_once(
        AuditLine(
            ts=app.clock.now(),
            event=call.tool,
            op=call.op,
            caller=str(call.caller),
            project=project.name,
            group_id=group_id,
            facts=facts,
        )
    )
    return _answer(app, project, stopped=stopped, dropped=dropped, warnings=warnings)


def session_names(app: App, project: Project) -> list[str]:
    """Return the project's sessions that were ever started, by the folders that they leave."""
    name = re.compile(rf"{re.escape(project.slug)}-(?:{TIERS})(?:-\d+)?")
    if not app.sessions.root.is_dir():
        return []
    return sorted(path.name for path in app.sessions.root.iterdir() if path.is_dir() and name.fullmatch(path.name))


def _check_idle(app: App, project: Project) -> None:
    busy = [f"{role} with #{project.seat(role).issue}" for role in Role if project.seat(role).active]
    if busy:
        raise WorkerBusy(
            f"{project.name} is at work: {' and '.join(busy)}; complete or move the task first",
            hint="--force gives the task up; its label and its branch stay as they are",
        )
    open_now = [f"{intent.tool} of #{intent.issue}" for intent in app.store.journal.intents(project.group_id)]
    if open_now:
        raise IssueClaimed(
            f"{project.name} has operations that wait: {', '.join(open_now)}; run devclaw recover first",
            hint="--force drops them",
        )


def _drop_waiting(app: App, project: Project) -> list[str]:
    journal, dropped = app.store.journal, []
    for intent in journal.intents(project.group_id):
        journal.close(intent.op, Closing())
        dropped.append(f"{intent.tool} of #{intent.issue}")
    for wish in journal.wishes(project.group_id):
        journal.drop_wish(wish)
        dropped.append(f"pickup of #{wish.issue} by {wish.role}")
    for attempt in journal.attempts(project.group_id):
        if attempt.ended is None:
            journal.change_attempt(attempt.ended_by("removed", app.clock.now()))
    return dropped


def _answer(
    app: App, project: Project, *, stopped: list[str], dropped: list[str], warnings: list[str]
) -> dict[str, Any]:
    stays = list(_stays(app, project))
    lines = [f"🗑️ {project.name} of group {project.group_id} is no longer registered."]
    lines += [f"dropped: {what}" for what in dropped]
    lines += [f"⚠ {warning}" for warning in warnings]
    lines += [f"stays: {what}" for what in stays]
    return {
        "success": True,
        "project": project.name,
        "groupId": project.group_id,
        "sessionsStopped": stopped,
        "dropped": dropped,
        "warnings": warnings,
        "stays": stays,
        "announcement": "\n".join(lines),
    }


def _stays(app: App, project: Project) -> Iterator[str]:
    """Name what is left where people find it."""
    yield f"the repository {project.repo_path} with all branches and commits"
    repo = project.repo_path
    worktrees = repo.with_name(f"{repo.name}.worktrees")
    for what, folder in (
        ("the worktrees in", worktrees),
        ("the issues in", app.workspace / "memory" / "issues" / project.slug),
        ("the role texts in", app.workspace / "roles" / project.slug),
    ):
        if folder.exists():
            yield f"{what} {folder}"
