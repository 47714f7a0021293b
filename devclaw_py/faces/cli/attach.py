"""``devclaw attach``: look into a worker's terminal."""

from __future__ import annotations

import os
import shutil
from typing import Annotated

import typer

from devclaw_py.app import App
from devclaw_py.errors import ConfigError, InvalidArguments, RoleMismatch, SessionFailed
from devclaw_py.faces.cli.options import Command, ProjectName, Workspace, find_project
from devclaw_py.faces.cli.output import hint
from devclaw_py.faces.opening import open_to_look, require_person
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.project import Project
from devclaw_py.work.base import Desk


def add_to(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("attach", cls=Command)(attach)


def attach(
    project: ProjectName,
    role: Annotated[str, typer.Argument(help="dev or qa.", autocompletion=lambda: [role.value for role in Role])],
    tier: Annotated[
        str,
        typer.Argument(help="junior, medior, senior or qa.", autocompletion=lambda: [tier.value for tier in Tier]),
    ],
    number: Annotated[int, typer.Argument(min=1, help="2 for the second worker of the role, and so on.")] = 1,
    write: Annotated[
        bool, typer.Option("--write", help="Type into the session too: the worker takes it for its own input.")
    ] = False,
    workspace: Workspace = None,
) -> None:
    """Look at a worker's session in this terminal; nothing you type reaches the worker. F12 leaves."""
    app = open_to_look(workspace, os.environ)
    if write:
        require_person(app, os.environ, "type into a session")
    found = find_project(app.store.registry, project)
    name = session_name(found, role, tier, number)
    argv = command(app, name, write=write)
    if write:
        hint(f"what you type goes to {name} as if it were a task's text; F12 leaves")
    program = shutil.which(argv[0])
    if program is None:
        raise ConfigError(f"{argv[0]} is not installed", hint="devclaw doctor")
    # tmux refuses to be started below another tmux as long as it sees its variable.
    environ = {key: value for key, value in os.environ.items() if key not in ("TMUX", "TMUX_PANE")}
    os.execve(program, argv, environ)


def session_name(project: Project, role: str, tier: str, number: int = 1) -> str:
    """Return the name of a desk's session.

    Raises:
        InvalidArguments: there is no such role or tier.
        RoleMismatch: the tier belongs to the other role.
    """
    try:
        desk = Desk(slug=project.slug, role=Role(role), tier=Tier(tier), number=number, worktree=project.repo_path)
    except ValueError:
        raise InvalidArguments(
            f"there is no session of {role} {tier}", hint=f"dev junior, dev medior, dev senior or {Role.QA} {Tier.QA}"
        ) from None
    if desk.tier.role is not desk.role:
        raise RoleMismatch(f"{tier} is a tier of {desk.tier.role}, not of {role}")
    return desk.session


def command(app: App, name: str, *, write: bool) -> list[str]:
    """Return the argument list that shows the session.

    Raises:
        SessionFailed: there is no session of the name; those that exist are named.
    """
    terminal = app.sessions.terminal
    if terminal.find(name) is None:
        there = ", ".join(session.name for session in terminal.sessions()) or "none"
        raise SessionFailed(
            f"there is no session {name}; sessions of this workspace: {there}",
            hint="a session begins with the first task_pickup of its tier; devclaw status shows what runs",
        )
    argv = terminal.attach_command(name)
    return [word for word in argv if word != "-r"] if write else argv
