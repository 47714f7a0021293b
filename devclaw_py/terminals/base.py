"""The Terminal port: named, lasting terminals, each with one program in it.

Adapters: `terminals.tmux` and `terminals.memory`; one contract suite holds both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from pydantic import Field

from devclaw_py.model.base import Value
from devclaw_py.model.finding import Finding


class Key(StrEnum):
    """A key that is pressed on its own, in tmux's words."""

    ENTER = "Enter"
    CLEAR_LINE = "C-u"
    RUB_OUT = "BSpace"
    STASH = "C-s"
    ESCAPE = "Escape"


class TerminalSession(Value):
    """One session as the terminal reports it.

    ``alive`` is False when its program has ended; ``exit_code`` is known then (None when a signal ended it and the
    terminal does not say which). ``marks`` are `project`, `role`, `tier`.
    """

    name: str
    alive: bool
    exit_code: int | None = None
    pid: int | None = None
    marks: dict[str, str] = Field(default_factory=dict)


class Terminal(Protocol):
    """The terminal sessions of one workspace; those of others are invisible here and never touched.

    "Gone" is an answer; "could not ask" is `SessionFailed`. Every call is bounded in time.
    """

    def sessions(self) -> list[TerminalSession]:
        """Return all sessions of this workspace; an empty list means that there are none."""
        ...

    def find(self, name: str) -> TerminalSession | None:
        """Return one session, or None when there is none of that name.

        Raises:
            SessionFailed: the name belongs to a session of another workspace, or the terminal cannot be asked.
        """
        ...

    def start(
        self, name: str, *, cwd: Path, argv: Sequence[str], env: Mapping[str, str], marks: Mapping[str, str]
    ) -> TerminalSession:
        """Start ``argv`` in a new session, replacing a dead one of the name. ``env`` is its whole environment,
        but for what describes the terminal itself (TERM).

        ``env`` and ``argv`` may be seen by other users of the machine: no secret goes in.

        Raises:
            SessionFailed: it could not be started, or a live session has the name.
        """
        ...

    def send(self, name: str, text: str) -> None:
        """Paste ``text`` (cleaned of control characters but newline and tab) as one piece, then press Enter, apart.

        Raises:
            SessionFailed: there is no live session of the name, or the terminal refused.
        """
        ...

    def paste(self, name: str, text: str) -> None:
        """Paste ``text``, cleaned as in `send`, as one piece and press no key.

        Raises:
            SessionFailed: there is no live session of the name, or the terminal refused.
        """
        ...

    def press(self, name: str, key: Key) -> None:
        """Press one key, out of copy mode.

        Raises:
            SessionFailed: there is no live session of the name, or the terminal refused.
        """
        ...

    def clear_input(self, name: str) -> None:
        """Empty the input line of a live session; a session that is gone is no error."""
        ...

    def screen(self, name: str, *, lines: int = 200) -> str:
        """Return the last ``lines`` lines of the session's screen, scroll-back included, without colours.

        Raises:
            SessionFailed: there is no session of the name, or the terminal cannot be asked.
        """
        ...

    def view(self, name: str) -> str:
        """Return what is visible of the session now, one line a row, with the escape sequences of its colours.

        Raises:
            SessionFailed: there is no session of the name, or the terminal cannot be asked.
        """
        ...

    def stop(self, name: str) -> None:
        """End the session and its program; one that is gone is no error."""
        ...

    def close(self) -> None:
        """Let nothing of the terminal run on when its last session has ended; live sessions are left alone.

        Raises:
            SessionFailed: the terminal cannot be asked.
        """
        ...

    def attach_command(self, name: str) -> list[str]:
        """Return the argument list with which a person looks at the session, read-only."""
        ...

    def diagnose(self) -> list[Finding]:
        """Return what doctor should say about the terminal."""
        ...
