"""The rows of project_register: labels and role files first, the registry last."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.kernel import files
from devclaw_py.kernel.resources import role_text
from devclaw_py.model.journal import Closing, Intent
from devclaw_py.model.pipeline import Role, State
from devclaw_py.model.project import Project
from devclaw_py.operations.placing import ASKED, NO_REMOTE
from devclaw_py.operations.steps import Operation, Step, interrupted, never, telling
from devclaw_py.rules import announce
from devclaw_py.rules.labels import COLOURS


def entry_of(intent: Intent) -> Project:
    """Return the project that is being registered."""
    return Project.model_validate({**intent.payload["entry"], "groupId": intent.group_id})


def _labels(app: App, intent: Intent) -> Intent:
    app.open_tracker(entry_of(intent)).ensure_labels({state.value: colour for state, colour in COLOURS.items()})
    return intent


def _roles(app: App, intent: Intent) -> Intent:
    """Copy the default role texts for the project; a file that is there already is somebody's and stays."""
    written = list(intent.payload.get("rolesWritten", ()))
    folder = files.folder(app.workspace / "roles" / entry_of(intent).slug)
    for role in Role:
        default = files.read(app.workspace / "roles" / "default" / f"{role}.md")
        with suppress(FileExistsError):
            files.create(folder / f"{role}.md", default or role_text(role).encode())
            written.append(f"roles/{folder.name}/{role}.md")
    return intent.knowing(rolesWritten=written)


def _entry(app: App, intent: Intent) -> Intent:
    app.store.registry.add(entry_of(intent))
    return intent


def _registered(app: App, intent: Intent) -> Intent | None:
    return intent if intent.group_id in app.store.registry.all() else None


def _committed(app: App, intent: Intent) -> bool:
    return not intent.undoing and _registered(app, intent) is not None


def _finish(app: App, intent: Intent) -> Closing:
    project = entry_of(intent)
    written = intent.payload.get("rolesWritten", [])
    told = announce.registered(
        project.name, project.group_name or project.group_id, labels=len(State), roles_written=bool(written)
    )
    facts: dict[str, Any] = {
        "repo": project.repo,
        "baseBranch": project.base_branch,
        "deployBranch": project.deploy_branch,
        "deployUrl": project.deploy_url,
        "provider": project.provider.value,
    }
    why = intent.payload.get("why", "")
    if project.forge is not None:
        facts["forge"] = {"host": project.forge.host, "path": project.forge.path, "remote": project.forge.remote}
    if why not in (ASKED, NO_REMOTE):
        told = told.noting(f"Issues: {where_issues_are(project)} ({why})")
    answer: dict[str, Any] = {
        "success": True,
        "project": project.name,
        "slug": project.slug,
        "groupId": intent.group_id,
        **facts,
        "providerReason": why,
        "autoChain": project.auto_chain,
        "testCommand": project.test_command,
        "integration": project.integration.value,
        "labelsCreated": len(State),
        "rolesScaffolded": bool(written),
        "announcement": plain(told),
    }
    if suggested := intent.payload.get("suggested"):
        answer["testCommandSuggested"] = suggested
    row = telling(app, intent, "registered", told)
    return Closing(facts=facts, outbox=(row,), answer=answer)


def where_issues_are(project: Project) -> str:
    """Return in words where a project's issues live."""
    return f"{project.forge.path} on {project.forge.host}" if project.forge is not None else "local"


REGISTER = Operation(
    kind="register",
    first="intent",
    steps=(
        Step(2, "labels", _labels, never),
        Step(3, "roles", _roles, never),
        Step(4, "registry", _entry, _registered),
    ),
    committed=_committed,
    finish=_finish,
    undone=interrupted,  # labels and role files do no harm, and may be somebody's
)
