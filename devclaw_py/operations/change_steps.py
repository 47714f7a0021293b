"""The row of project_update: the registry, then everything that is told of it."""

from __future__ import annotations

from typing import Any

from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.journal import Closing, Intent
from devclaw_py.model.pipeline import Mode
from devclaw_py.model.project import Project
from devclaw_py.operations.shared import project_of
from devclaw_py.operations.steps import Operation, Step, interrupted, never, telling
from devclaw_py.rules import announce


def with_changes(project: Project, changed: dict[str, dict[str, Any]]) -> Project:
    """Return the project with the new values of ``changed``, whose keys are those of projects.json."""
    fields = {key: pair["to"] for key, pair in changed.items()}
    return Project.model_validate({**project.on_disk(), **fields, "groupId": project.group_id})


def _write(app: App, intent: Intent) -> Intent:
    changed = intent.payload["changed"]
    app.store.registry.change(intent.group_id, lambda found: with_changes(found, changed))
    return intent


def _committed(app: App, intent: Intent) -> bool:
    """Say whether the registry has the new values; who was stopped before that has changed nothing."""
    if intent.undoing:
        return False
    entry = project_of(app, intent).on_disk()
    # What is empty may be left out of the entry.
    return all((entry.get(key) or None) == (pair["to"] or None) for key, pair in intent.payload["changed"].items())


def _finish(app: App, intent: Intent) -> Closing:
    changed, name = intent.payload["changed"], intent.payload["project"]
    row = telling(app, intent, "changed", _told(name, changed))
    return Closing(facts={"changed": changed}, outbox=(row,), answer=answer(name, intent.group_id, changed))


def answer(name: str, group_id: str, changed: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the answer of a project_update that has changed ``changed``, which may be nothing."""
    return {
        "success": True,
        "project": name,
        "groupId": group_id,
        "changed": changed,
        "announcement": plain(_told(name, changed)),
    }


def _told(name: str, changed: dict[str, dict[str, Any]]) -> Announcement:
    if [*changed] == ["mode"]:
        return announce.mode_changed(name, Mode(changed["mode"]["to"]))
    return announce.project_changed(name, shown(changed))


def shown(changed: dict[str, dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return old and new values as people read them."""
    return {key: (_shown(pair["from"]), _shown(pair["to"])) for key, pair in changed.items()}


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, dict):
        return ", ".join(f"{name} {entry}" for name, entry in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(str(entry) for entry in value)
    return str(value or "")


CHANGE = Operation(
    kind="change",
    first="intent",
    steps=(Step(2, "registry", _write, never),),
    committed=_committed,
    finish=_finish,
    undone=interrupted,
)
