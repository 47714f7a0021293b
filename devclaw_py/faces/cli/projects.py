"""``devclaw project``: list, show, set and remove."""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from rich.table import Table

from devclaw_py import catalogue
from devclaw_py.errors import InvalidArguments
from devclaw_py.faces.cli.options import AsJson, Command, ProjectName, Workspace, find_project, open_store
from devclaw_py.faces.cli.output import cell, hint, present, show, working
from devclaw_py.faces.cli.tool_commands import arguments_of, call_each, common, parameter, parameters, sign
from devclaw_py.faces.cli.words import json_line
from devclaw_py.faces.opening import open_workspace, require_person
from devclaw_py.model.pipeline import Role
from devclaw_py.model.project import Project, Seat
from devclaw_py.operations.removal import remove_project
from devclaw_py.operations.steps import Call
from devclaw_py.operations.wishes import new_op

UPDATE = catalogue.TOOLS["project_update"]


def add_to(cli: typer.Typer) -> None:
    """Add the group of commands."""
    group = typer.Typer(help="Projects: list, show, set, remove.", invoke_without_command=True)
    group.callback()(_listed)
    group.command("list")(list_projects)
    group.command("show", cls=Command)(show_project)
    group.command("set", cls=Command, help="Change a project's settings.")(_set_command())
    group.command("remove", cls=Command)(remove)
    cli.add_typer(group, name="project")


def _listed(ctx: typer.Context) -> None:
    """Projects: list, show, set, remove. Without a command: list."""
    if ctx.invoked_subcommand is None:
        list_projects(workspace=ctx.obj)


def list_projects(as_json: AsJson = False, workspace: Workspace = None) -> None:
    """List the registered projects."""
    _, store = open_store(workspace)
    known = store.registry.all()
    if as_json:
        print(json_line({"success": True, "projects": [_entry(project) for project in known.values()]}))
        return
    table = Table("project", "group", "repository", "base", "chains")
    for project in known.values():
        chains = "yes" if project.auto_chain else "no"
        table.add_row(*map(cell, (project.name, project.group_id, project.repo, project.base_branch, chains)))
    show(table)


def show_project(project: ProjectName, as_json: AsJson = False, workspace: Workspace = None) -> None:
    """Show one project as the registry has it."""
    _, store = open_store(workspace)
    found = find_project(store.registry, project)
    if as_json:
        print(json_line({"success": True, "project": _entry(found)}))
        return
    table = Table("field", "value", title=cell(found.name))
    for name, value in _entry(found).items():
        if name not in (*Role, "name", "devWorkers", "qaWorkers"):
            table.add_row(cell(name), cell(value if isinstance(value, str) else json_line(value)))
    for key, seat in found.seats().items():
        table.add_row(cell(str(key)), cell(_seat(seat)))
    show(table)


def remove(
    project: ProjectName,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Also give up tasks at work and operations that wait.")
    ] = False,
    as_json: AsJson = False,
    workspace: Workspace = None,
) -> None:
    """Take a project out of the registry; issues, worktrees, branches and commits stay."""
    app = open_workspace(workspace, os.environ)
    caller = require_person(app, os.environ, "remove a project")
    found = find_project(app.store.registry, project)
    if not yes:
        _confirm(found)
    call = Call(op=new_op(), tool="project_remove", caller=caller, at=app.clock.now())
    with working(f"removing {found.name} …"):
        answer = remove_project(app, call, group_id=found.group_id, force=force)
    if call.settled:
        answer["settled"] = call.settled
    raise typer.Exit(present(answer, as_json=as_json))


def _confirm(project: Project) -> None:
    if not sys.stdin.isatty():
        raise InvalidArguments(f"removing {project.name} asks first, and nobody is there to answer", hint="add --yes")
    hint(f"{project.name} of group {project.group_id} ({project.repo}) is taken out of the registry; its files stay.")
    typer.confirm("Remove it?", abort=True, err=True)


def _set_command() -> Any:  # noqa: ANN401 - typer reads the signature that is made here
    def command(*, project: str, workspace: str | None, as_json: bool, **given: Any) -> None:  # noqa: ANN401
        _, store = open_store(workspace)
        found = find_project(store.registry, project)
        calls = [{"projectGroupId": found.group_id, **arguments} for arguments in arguments_of(UPDATE, given)]
        raise typer.Exit(call_each(UPDATE, calls, workspace=workspace, as_json=as_json))

    own = parameters(UPDATE, without={"project_group_id"})
    sign(command, [parameter("project", ProjectName), *own, *common()], name="project_set")
    return command


def _entry(project: Project) -> dict[str, Any]:
    return {"groupId": project.group_id, **project.on_disk()}


def _seat(seat: Seat) -> str:
    if not seat.active:
        return "idle"
    return f"#{seat.issue}, {seat.model}, attempt {seat.attempt}, since {seat.start_time}"
