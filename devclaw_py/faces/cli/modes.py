"""``devclaw pause``, ``resume``, ``drain`` and ``stop``: project_mode as people say it, for one project or for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

import typer

from devclaw_py.errors import InvalidArguments
from devclaw_py.faces.cli.options import AsJson, Command, Workspace, complete_projects, find_project, open_store
from devclaw_py.faces.cli.tool_commands import call_each
from devclaw_py.model.pipeline import Mode
from devclaw_py.tools.project_mode import TOOL

COMMANDS = {
    "pause": (Mode.PAUSED, "Hand nothing out unattended; what is at work goes on."),
    "resume": (Mode.RUNNING, "Hand waiting tasks out again."),
    "drain": (Mode.DRAINING, "Bring what was begun to its end and begin nothing new."),
    "stop": (Mode.STOPPED, "Put the workers to rest now, their work kept, and hand nothing out."),
}
Which = Annotated[
    str | None,
    typer.Argument(metavar="PROJECT", help="Name, short name or group id.", autocompletion=complete_projects),
]


def add_to(cli: typer.Typer) -> None:
    """Add the commands."""
    for name, (mode, words) in COMMANDS.items():
        cli.command(name, cls=Command, help=words)(_command(name, mode))


def _command(name: str, mode: Mode) -> Callable[..., None]:
    def set_mode(
        project: Which = None,
        every: Annotated[bool, typer.Option("--all", help="Every project of the workspace.")] = False,
        as_json: AsJson = False,
        workspace: Workspace = None,
    ) -> None:
        if (project is None) is not every:
            raise InvalidArguments(f"devclaw {name} needs a project, or --all", hint="devclaw project list shows them")
        registry = open_store(workspace)[1].registry
        groups = [find_project(registry, project).group_id] if project is not None else list(registry.all())
        calls = [{"projectGroupId": group, "mode": mode.value} for group in groups]
        raise typer.Exit(call_each(TOOL, calls, workspace=workspace, as_json=as_json))

    return set_mode
