"""Results to stdout, everything else to stderr; other people's text is never read as markup."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from devclaw_py.chat.text import one_line
from devclaw_py.errors import DevClawError
from devclaw_py.faces.cli.call import exit_code
from devclaw_py.faces.cli.words import json_line
from devclaw_py.operations.ending import failure

# Wide enough that no column of a table in a pipe is cut.
PIPE_COLUMNS = 160


def console(*, stderr: bool = False) -> Console:
    """Return a console that takes no text for markup; a pipe is given a width of its own."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PIPE_COLUMNS
    return Console(stderr=stderr, width=width, markup=False, emoji=False, highlight=False)


def show(renderable: RenderableType) -> None:
    """Print a table or a line to stdout."""
    console().print(renderable, soft_wrap=isinstance(renderable, Text | str))


def cell(value: object, style: str = "") -> Text:
    """Return a value as one line that holds nothing a terminal or rich would obey; None is empty."""
    return Text("" if value is None else one_line(str(value)), style=style)


def say(text: str) -> None:
    """Print each line of ``text`` to stdout, without what a terminal would obey."""
    for line in text.splitlines():
        print(one_line(line))


def present(answer: Mapping[str, Any], *, as_json: bool) -> int:
    """Print a tool's answer and return the exit code."""
    if as_json:
        print(json_line(answer))
    elif answer["success"]:
        say("\n".join(_lines(answer)))
    else:
        complain_of(answer)
    return exit_code(answer)


def refuse(error: DevClawError, *, as_json: bool) -> int:
    """Print what kept a command from being done, and return the exit code."""
    answer = failure(error)
    if as_json:
        print(json_line(answer))
    else:
        complain_of(answer)
    return error.exit_code


def complain_of(answer: Mapping[str, Any]) -> None:
    """Tell people on stderr what was refused, why, and what to do next."""
    error, err = answer["error"], console(stderr=True)
    err.print(Text.assemble(("✖ ", "red"), *_paragraphs(error["message"])), soft_wrap=True)
    if error.get("hint"):
        err.print(Text(f"→ {one_line(error['hint'])}", style="bold"), soft_wrap=True)
    for line in answer.get("settled", ()):
        err.print(cell(f"settled first: {line}"), soft_wrap=True)


def hint(text: str) -> None:
    """Say something on stderr that is no result."""
    console(stderr=True).print(cell(text), soft_wrap=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show on stderr that something takes its time, when that is a terminal."""
    err = console(stderr=True)
    if not err.is_terminal:
        yield
        return
    with err.status(cell(what)):
        yield


def _paragraphs(message: str) -> list[str]:
    return ["\n".join(one_line(line) for line in message.splitlines())]


def _lines(answer: Mapping[str, Any]) -> Iterator[str]:
    """Say a success in lines: the announcement, and what else happened."""
    announced = str(answer.get("announcement") or answer.get("task") or json_line(answer))
    yield announced
    for line in answer.get("settled", ()):
        yield f"settled first: {line}"
    followed = [answer[name] for name in ("autoChain", "pickup") if isinstance(answer.get(name), dict)]
    for outcome in (*followed, *answer.get("followed", ())):
        yield from _news(outcome, announced)
    if suggested := answer.get("testCommandSuggested"):
        yield f"no test command is named, so workers may run none; a likely one: --test-command '{suggested}'"
    if "warning" in answer:
        yield f"⚠ {answer['warning']}"


def _news(outcome: Mapping[str, Any], announced: str) -> Iterator[str]:
    """Say what became of a pickup that followed, without what the announcement of the call has told of it."""
    if outcome.get("announcement"):
        told = announced.splitlines()
        yield from (line for line in str(outcome["announcement"]).splitlines() if line not in told)
    elif str(outcome.get("reason")) not in announced:
        what = f"#{outcome['issueId']} for {outcome['role']}" if "issueId" in outcome else "what should follow"
        fate = "waits" if outcome.get("waiting") else "was dropped"
        yield f"{what} {fate}: {outcome.get('reason')}"
