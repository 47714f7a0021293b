"""``devclaw demo``: the whole pipeline on this machine, with git and tmux and without any account."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from devclaw_py.demo.prepare import Speed, Tracker, check_machine, choose_folder
from devclaw_py.demo.run import run
from devclaw_py.errors import DevClawError
from devclaw_py.faces.cli.demo_board import Lines, Moving
from devclaw_py.kernel.config import FILE, socket_name
from devclaw_py.kernel.proc import NotAnswered
from devclaw_py.rules.cleaning import clean

INTERRUPTED = 130


def add_to(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("demo")(demo)


def demo(
    folder: Annotated[
        Path | None,
        typer.Option("--dir", metavar="PATH", help="An empty folder for it; left out: a new temporary one."),
    ] = None,
    speed: Annotated[
        Speed, typer.Option(help="normal: the workers wait between their steps, so that you can follow. fast: not.")
    ] = Speed.NORMAL,
    tracker: Annotated[
        Tracker,
        typer.Option(help="github: an emulated GitHub on this machine, whose program DEVCLAW_EMULATE_BIN names."),
    ] = Tracker.LOCAL,
    keep_sessions: Annotated[
        bool, typer.Option("--keep-sessions", help="Leave the workers' tmux sessions running at the end.")
    ] = False,
    time_limit: Annotated[
        float, typer.Option(min=1, metavar="SECONDS", help="Give up after so long, and say what hangs.")
    ] = 120,
) -> None:
    """Show the pipeline at work: three issues of a small repository go from To Do to Done by real tmux workers."""
    console = Console(markup=False, emoji=False, highlight=False)
    where: Path | None = None
    try:
        check_machine()
        where = choose_folder(folder)
        with Moving(console) if console.is_terminal else Lines(console) as show:
            found = run(
                where,
                speed=speed,
                limit_s=time_limit,
                keep_sessions=keep_sessions,
                show=show,
                environ=os.environ,
                tracker=tracker,
            )
    except (DevClawError, NotAnswered) as error:
        _complain(error, where)
        raise typer.Exit(error.exit_code if isinstance(error, DevClawError) else 3) from None
    except KeyboardInterrupt:
        sessions = _end_command(where) if keep_sessions and where else "its sessions are stopped"
        _err(f"Ended half-way; {sessions}. The workspace stays: {where}")
        raise typer.Exit(INTERRUPTED) from None
    for line in (*found.lines(), *([f"  {_end_command(found.workspace)}"] if keep_sessions else [])):
        console.print(Text(line), soft_wrap=True)
    raise typer.Exit(0 if found.ok else 1)


def _complain(error: DevClawError | NotAnswered, where: Path | None) -> None:
    _err(f"✖ {error}")
    hint = error.hint if isinstance(error, DevClawError) else None
    if hint:
        _err(f"→ {hint}")
    if where is not None and (where / FILE).exists():
        _err(f"The workspace stays: {where}")


def _end_command(workspace: Path) -> str:
    return f"its sessions live on; to end them: tmux -L {socket_name(workspace)} kill-server"


def _err(text: str) -> None:
    Console(file=sys.stderr, markup=False, emoji=False, highlight=False).print(Text(clean(text)), soft_wrap=True)
