"""``devclaw openclaw``: the plugin of the OpenClaw gateway, from outside."""

from __future__ import annotations

import os
import shlex
from typing import Annotated

import typer

from devclaw_py.faces.cli.options import Workspace
from devclaw_py.faces.cli.output import say, working
from devclaw_py.faces.openclaw import install as installing
from devclaw_py.faces.opening import locate

group = typer.Typer(name="openclaw", help="The plugin of the OpenClaw gateway.", no_args_is_help=True)


def add_to(cli: typer.Typer) -> None:
    """Add the commands."""
    cli.add_typer(group)


@group.command("install")
def install(
    workspace: Workspace = None,
    link: Annotated[
        bool, typer.Option("--link", help="Link this installation's folder instead of copying it.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")] = False,
) -> None:
    """Install the plugin into OpenClaw, for this workspace and this Python; also after an update of devclaw."""
    plan = installing.plan(os.environ, locate(workspace, os.environ), link=link)
    say(f"$ {shlex.join(plan.install)}\n$ echo {shlex.quote(plan.patch)} | {shlex.join(plan.configure)}")
    if dry_run:
        return
    with working("installing …"):
        installing.carry_out(plan, os.environ)
    say("Installed. Next: openclaw gateway restart, then devclaw doctor --openclaw")


@group.command("child")
def child() -> None:
    """Serve the plugin on standard input and output; the gateway starts it, not a person."""
    from devclaw_py.faces.openclaw.child import run

    raise typer.Exit(run())
