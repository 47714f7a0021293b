"""The commands for people, put together."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from devclaw_py import __version__
from devclaw_py.errors import DevClawError, InvalidArguments
from devclaw_py.faces import worker
from devclaw_py.faces.cli import (
    attach,
    audit,
    call,
    claude_plugin,
    config,
    demo,
    doctor,
    heartbeat,
    mcp,
    modes,
    openclaw,
    projects,
    simulate,
    status,
    unit,
    webhook,
)
from devclaw_py.faces.cli.output import refuse
from devclaw_py.faces.cli.tool_commands import add_tools
from devclaw_py.faces.cli.words import prepare_streams, told
from devclaw_py.operations.registry import fail_points

# typer carries click inside it in some versions and beside it in others; the class is the same by name.
Misused: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

cli = typer.Typer(name="devclaw", pretty_exceptions_enable=False)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"devclaw {__version__}")
        raise typer.Exit


@cli.callback()
def devclaw(
    ctx: typer.Context,
    workspace: Annotated[
        str | None,
        typer.Option(
            "--workspace", metavar="DIR", help="The workspace; left out: DEVCLAW_WORKSPACE, else where you are."
        ),
    ] = None,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Turn group chats into software teams: issues move through a pipeline, worker sessions do the work."""
    ctx.obj = workspace


@cli.command("call", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def call_tool(ctx: typer.Context) -> None:
    """Call one tool as agents do: devclaw call TOOL '{"issueId": 42}', or - for standard input; prints JSON."""
    raise typer.Exit(call.run([*(["--workspace", ctx.obj] if ctx.obj is not None else []), *ctx.args]))


@cli.command("worker-mcp", context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
def worker_mcp(ctx: typer.Context) -> None:
    """Serve a worker's tools as an MCP server on standard input and output; an agent starts it, not a person."""
    given = ["--workspace", ctx.obj] if ctx.obj is not None else []
    raise typer.Exit(worker.run(given, ctx.args))


@cli.command("failpoints")
def failpoints() -> None:
    """Print the places at which a test can stop devclaw, one name a line."""
    for name in fail_points():
        print(name)


for group in (
    demo,
    status,
    attach,
    audit,
    projects,
    doctor,
    config,
    heartbeat,
    openclaw,
    mcp,
    claude_plugin,
    webhook,
    unit,
    modes,
    simulate,
):
    group.add_to(cli)
add_tools(cli)


def run(argv: Sequence[str]) -> int:
    """Run one command and return its exit code."""
    prepare_streams()
    as_json = "--json" in argv
    command = typer.main.get_command(cli)
    try:
        code = command.main(args=list(argv) or ["--help"], prog_name="devclaw", standalone_mode=False)
    except typer.Abort:
        print("stopped; nothing further was done", file=sys.stderr)
        return 1
    except (DevClawError, OSError) as error:
        return refuse(told(error), as_json=as_json)
    except Misused as error:
        return _misused(error, as_json=as_json)
    finally:
        _let_go()
    return code if isinstance(code, int) else 0


def _let_go() -> None:
    """Write out what is left; whoever reads may have had enough, as in ``devclaw audit | head``."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Python would try once more at its end, and say so on stderr.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _misused(error: Exception, *, as_json: bool) -> int:
    message = str(getattr(error, "format_message", lambda: error)())
    context = getattr(error, "ctx", None)
    where = context.command_path if context is not None else "devclaw"
    return refuse(InvalidArguments(message, hint=f"{where} --help"), as_json=as_json)
