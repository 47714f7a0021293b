"""project_register and project_update: a repository, its issues and its chat group."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic.alias_generators import to_camel

from devclaw_py.app import App
from devclaw_py.errors import AlreadyRegistered, InvalidArguments, RepositoryError
from devclaw_py.model.journal import Intent
from devclaw_py.model.pipeline import Provider
from devclaw_py.model.project import Project
from devclaw_py.operations.change_steps import CHANGE, answer
from devclaw_py.operations.placing import placed
from devclaw_py.operations.recovery import check_unanswered, project_held, settle
from devclaw_py.operations.registration_steps import REGISTER
from devclaw_py.operations.runner import perform
from devclaw_py.operations.steps import Call, begun
from devclaw_py.rules import testing
from devclaw_py.rules.slug import check_name, slug


def register(
    app: App, call: Call, wanted: Project, *, provider: Provider | None = None, remote: str | None = None
) -> dict[str, Any]:
    """Register ``wanted``; its slug is chosen here, and where its issues live, unless ``provider`` says it.

    Raises:
        AlreadyRegistered: the group, the repository or the name has a project.
        RepositoryError: the repository cannot be used as it is.
        ConfigError: its remotes do not say where its issues are.
        TrackerError: the tracker cannot be reached; nothing was registered.
    """
    check_name(wanted.name)
    holder, wait_s = f"{call.tool} {call.op}", app.settings.timeouts.lock_s
    # Two groups must not register one repository side by side: registrations go one after another.
    with (
        app.store.hold("register", wait_s=wait_s, holder=holder),
        app.store.hold(f"project:{wanted.group_id}", wait_s=wait_s, holder=holder),
    ):
        call.settled += settle(app, wanted.group_id)
        check_unanswered(app, wanted.group_id, call)
        _check_new(app, wanted)
        app.work.check(wanted)
        wanted, why = placed(app, wanted, provider=provider, remote=remote)
        _check_new_forge(app, wanted)
        taken = {project.slug for project in app.store.registry.all().values()}
        project = wanted.model_copy(update={"slug": slug(wanted.name, taken)})
        return perform(app, REGISTER, _intent(app, call, project, why))


def _check_new(app: App, wanted: Project) -> None:
    repo = wanted.repo_path.resolve()
    for group_id, project in app.store.registry.all().items():
        if group_id == wanted.group_id:
            raise AlreadyRegistered(
                f"group {group_id} already has the project {project.name} ({project.repo})",
                hint="change it with project_update (devclaw project set), or remove it with devclaw project remove",
            )
        if _same_folder(project, repo):
            raise AlreadyRegistered(
                f"{wanted.repo} already belongs to {project.name} of group {group_id}; two groups would fight over it"
            )
        if project.name == wanted.name:
            raise AlreadyRegistered(f"the name {project.name} already belongs to group {group_id}; choose another one")


def _same_folder(project: Project, repo: Path) -> bool:
    """Whether a project's repository is ``repo``; an entry that names no folder of this machine hinders nobody."""
    try:
        return project.repo_path.resolve() == repo
    except RepositoryError:
        return False


def _check_new_forge(app: App, wanted: Project) -> None:
    """Two projects over one repository's issues would take each other's labels."""
    for group_id, project in app.store.registry.all().items():
        here, there = wanted.forge, project.forge
        if here is not None and there is not None and (here.api, here.id) == (there.api, there.id):
            raise AlreadyRegistered(
                f"the issues of {here.path} on {here.host} already belong to {project.name} of group {group_id}"
            )


def _intent(app: App, call: Call, project: Project, why: str) -> Intent:
    payload = {"project": project.name, "entry": project.on_disk(), "why": why}
    if project.test_command is None and (suggested := _likely_tests(project.repo_path)):
        payload["suggested"] = suggested
    return begun(app, call, REGISTER, project.group_id, payload)


def _likely_tests(repo: Path) -> str | None:
    """Return the test command that the repository's root speaks for; it is only told, never run."""
    try:
        return testing.likely({path.name for path in repo.iterdir()})
    except OSError:
        return None


def change_project(app: App, call: Call, *, group_id: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Change fields of a project's entry; keys are those of `Project`, values already checked.

    Raises:
        InvalidArguments: nothing is to be changed.
        RepositoryError: the new base branch does not exist.
    """
    if not changes:
        raise InvalidArguments("nothing is to be changed; name at least one of the project's settings")
    with project_held(app, group_id, call) as project:
        changes = _merged(project, changes)
        wanted = project.model_copy(update=changes)
        if "base_branch" in changes:
            app.work.check(wanted)
        old, new = project.on_disk(), wanted.on_disk()
        keys = [to_camel(name) for name in changes]
        pairs = {key: {"from": old.get(key), "to": new.get(key, {})} for key in keys}
        changed = {key: pair for key, pair in pairs.items() if (pair["from"] or None) != (pair["to"] or None)}
        if not changed:
            return answer(project.name, group_id, changed)
        return perform(app, CHANGE, _change(app, call, project, changed))


def _change(app: App, call: Call, project: Project, changed: dict[str, dict[str, Any]]) -> Intent:
    payload = {"project": project.name, "changed": changed}
    return begun(app, call, CHANGE, project.group_id, payload)


def _merged(project: Project, changes: dict[str, Any]) -> dict[str, Any]:
    """Return the changes with what the project has under the names that are not given, less those given as None."""
    merged = dict(changes)
    for name, before in (("models", project.models), ("workers", project.workers), ("budget", project.budget)):
        if name in changes:
            merged[name] = {key: value for key, value in {**before, **changes[name]}.items() if value is not None}
    return merged
