"""Taking a project out of the registry. Nothing that people or workers have made is removed with it."""

from __future__ import annotations

from typing import Any

from devclaw_py.app import App
from devclaw_py.errors import IssueClaimed, WorkerBusy
from devclaw_py.model.journal import Intent
from devclaw_py.model.project import Project
from devclaw_py.operations.recovery import project_held
from devclaw_py.operations.removal_steps import REMOVE
from devclaw_py.operations.runner import perform
from devclaw_py.operations.steps import Call, begun


def remove_project(app: App, call: Call, *, group_id: str, force: bool) -> dict[str, Any]:
    """Forget a project: stop its sessions, drop what waits for it, remove its entry.

    Issues, worktrees, branches and commits stay; the answer says where. ``force`` also gives up the tasks that
    workers hold and the operations that wait.

    Raises:
        UnknownProject, ProjectBusy: there is none, or another operation holds it.
        WorkerBusy: a seat holds a task, and there is no ``force``.
        IssueClaimed: an operation waits, and there is no ``force``.
        SessionFailed: a session could not be stopped, and there is no ``force``.
    """
    with project_held(app, group_id, call) as project:
        if not force:
            _check_idle(app, project)
        return perform(app, REMOVE, _intent(app, call, project, force=force))


def _intent(app: App, call: Call, project: Project, *, force: bool) -> Intent:
    payload = {"project": project.name, "entry": project.on_disk(), "force": force}
    return begun(app, call, REMOVE, project.group_id, payload)


def _check_idle(app: App, project: Project) -> None:
    busy = [f"{key} with #{seat.issue}" for key, seat in project.seats().items() if seat.active]
    if busy:
        raise WorkerBusy(
            f"{project.name} is at work: {' and '.join(busy)}; complete or move the task first",
            hint="--force gives the task up; its label and its branch stay as they are",
        )
    open_now = [intent.named for intent in app.store.journal.intents(project.group_id)]
    if open_now:
        raise IssueClaimed(
            f"{project.name} has operations that wait: {', '.join(open_now)}; run devclaw recover first",
            hint="--force drops them",
        )
