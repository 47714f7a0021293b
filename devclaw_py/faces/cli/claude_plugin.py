"""``devclaw claude-plugin``: the folder that gives Claude Code the tools, written for one workspace."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from devclaw_py.agents.surroundings import PROGRAM, own_folder
from devclaw_py.errors import ConfigError
from devclaw_py.faces.claude_plugin.manifest import NAME, write_for
from devclaw_py.faces.cli.mcp import AllGroups, OneGroup, group_of
from devclaw_py.faces.cli.options import Command, Workspace
from devclaw_py.faces.cli.output import say
from devclaw_py.faces.opening import open_to_look, require_person


def add_to(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("claude-plugin", cls=Command)(claude_plugin)


def claude_plugin(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Where to write it.")],
    group: OneGroup = None,
    all_groups: AllGroups = False,
    workspace: Workspace = None,
) -> None:
    """Write the plugin for Claude Code: MCP server, skill and commands, for this workspace."""
    bound = group_of(group, all_groups=all_groups)
    app = open_to_look(workspace, os.environ)
    require_person(app, os.environ, "write the plugin")
    whom = ["--all-groups"] if bound is None else ["--group", bound]
    program = own_folder(os.environ) / PROGRAM
    if not program.is_file():
        raise ConfigError(f"{program} is not there, and the plugin starts it", hint="put devclaw on the PATH")
    command = [str(program), "--workspace", str(app.workspace), "mcp", *whom]
    place = folder.expanduser().absolute()
    write_for(place, command)
    shown = shlex.quote(str(place))
    say(f"claude --plugin-dir {shown}  # for one session")
    say(f"claude plugin marketplace add {shown} && claude plugin install {NAME}@{NAME}  # for good")
