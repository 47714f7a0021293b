"""A session that something is typed into, and how that is done for an agent that reads plain lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from devclaw_py.kernel.clock import Clock
from devclaw_py.model.question import Asked
from devclaw_py.terminals.base import Terminal


@dataclass(frozen=True)
class Console:
    """One session under its lock. ``patience_s`` bounds what an agent waits for before it types."""

    terminal: Terminal
    name: str
    folder: Path
    clock: Clock
    patience_s: float


class PlainTyping:
    """How a line is put to an agent that reads lines from its terminal and takes whatever it is given."""

    def submit(self, console: Console, line: str) -> None:
        """Empty the input line, for whoever was killed before Enter has left one, and type the line."""
        console.terminal.clear_input(console.name)
        console.terminal.send(console.name, line)

    def post(self, console: Console, line: str, about_to: Callable[[], None]) -> None:
        """Type a message's line."""
        console.terminal.clear_input(console.name)
        about_to()
        console.terminal.send(console.name, line)

    def heard(self, folder: Path, line: str, since: float) -> bool:
        """Return True: what stands on the terminal's line is read."""
        return True

    def nudge(self, console: Console, line: str) -> None:
        """Do nothing: a terminal's Enter is never lost here."""

    def interrupt(self, console: Console, about_to: Callable[[], None]) -> bool:
        """Return False: what a program does is not known, so it is never interrupted."""
        return False

    def say(self, console: Console, line: str) -> None:
        """Type a line that is no task."""
        console.terminal.send(console.name, line)

    def tidy(self, console: Console) -> None:
        """Empty the input line."""
        console.terminal.clear_input(console.name)

    def asked(self, payload: Mapping[str, Any]) -> Asked | None:
        """Return what a file says in the form of `Asked`; a program that only reads lines writes none."""
        try:
            return Asked.model_validate(payload)
        except ValidationError:
            return None

    def still_asks(self, folder: Path, record: Mapping[str, Any]) -> bool:
        """Return True: nothing else is known."""
        return True

    def reply(self, payload: Mapping[str, Any], answers: Sequence[str], *, caller: str, message: str) -> str:
        """Return the answers as JSON."""
        return json.dumps({"answers": list(answers), "caller": caller, "message": message})
