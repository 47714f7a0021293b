"""``devclaw demo``: the whole pipeline on this machine, with git and tmux and without any account."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from devclaw_py.demo.cast import Player, Speed, find_program
from devclaw_py.demo.prepare import Tracker, check_machine, choose_folder
from devclaw_py.demo.run import Play, run
from devclaw_py.demo.summary import Summary
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
    agent: Annotated[
        Player,
        typer.Option(
            help="scripted: the workers are programs. claude: they are your Claude Code, with a stand-in for the model."
        ),
    ] = Player.SCRIPTED,
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
        float | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="Give up after so long, and say what hangs; left out: 120, with --agent claude 300.",
        ),
    ] = None,
) -> None:
    """Show the pipeline at work: three issues of a small repository go from To Do to Done by real tmux workers."""
    console = Console(markup=False, emoji=False, highlight=False)
    where: Path | None = None
    try:
        check_machine()
        find_program(agent, os.environ)
        where = choose_folder(folder)
        play = Play(where, agent, speed, time_limit or agent.limit_s, keep_sessions, tracker)
        found = _played(console, play)
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


def _played(console: Console, play: Play) -> Summary:
    with Moving(console) if console.is_terminal else Lines(console) as show:
        return run(play, show=show, environ=os.environ)


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
