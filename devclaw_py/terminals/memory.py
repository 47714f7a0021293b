"""Terminals that live in this process: for tests, the demo and the simulator."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from devclaw_py.errors import SessionFailed
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.rules.cleaning import clean
from devclaw_py.terminals.base import Key, TerminalSession

Worker = Callable[[str, str], None]


def nobody(name: str, text: str) -> None:
    """Be the worker who ignores what is typed."""


@dataclass(frozen=True)
class Started:
    """What a session was started with."""

    cwd: Path
    argv: tuple[str, ...]
    env: dict[str, str]


@dataclass
class Pane:
    """One session: how it stands, what it was started with and what was typed into it."""

    session: TerminalSession
    started: Started
    typed: list[str] = field(default_factory=list)
    box: str = ""


class MemoryTerminal:
    """Implements `Terminal`. ``worker(name, text)`` is called with each text that is sent, in the sender's thread.

    ``foreign`` names sessions of another workspace. `kill` ends a session's program, `fail_next` lets one later call
    fail before or after its effect, `down` each one until `up`. Safe to use from several threads.
    """

    def __init__(self, worker: Worker = nobody) -> None:
        self.worker = worker
        self.foreign: set[str] = set()
        self.panes: dict[str, Pane] = {}
        self.on_start: Callable[[str, Started], None] | None = None
        self._pids = count(1_000_001)
        self._failing: dict[str, bool] = {}
        self._is_down = False
        self._lock = threading.RLock()

    def fail_next(self, call: str, *, after_acting: bool = False) -> None:
        """Let the next ``call`` (a method's name) raise `SessionFailed`, before its effect or after it."""
        self._failing[call] = after_acting

    def down(self) -> None:
        """Let every call that can fail do so before its effect."""
        self._is_down = True

    def up(self) -> None:
        """End `down`."""
        self._is_down = False

    def kill(self, name: str, *, exit_code: int | None = None) -> None:
        """End the session's program; its screen stays, as in a terminal that remains on exit."""
        with self._lock:
            pane = self.panes[name]
            pane.session = pane.session.model_copy(update={"alive": False, "exit_code": exit_code})

    def typed(self, name: str) -> list[str]:
        """Return the texts that were sent to the session, oldest first."""
        with self._lock:
            return list(self.panes[name].typed) if name in self.panes else []

    def sessions(self) -> list[TerminalSession]:
        """Return all sessions of this workspace."""
        self._fail("sessions", acted=False)
        with self._lock:
            return [pane.session for pane in self.panes.values()]

    def find(self, name: str) -> TerminalSession | None:
        """Return one session, or None."""
        self._fail("find", acted=False)
        return self._own(name)

    def start(
        self, name: str, *, cwd: Path, argv: Sequence[str], env: Mapping[str, str], marks: Mapping[str, str]
    ) -> TerminalSession:
        """Open a session; nothing is really run, `on_start` plays what the program does first."""
        self._fail("start", acted=False)
        with self._lock:
            existing = self._own(name)
            if existing is not None and existing.alive:
                raise SessionFailed(f"a live session has the name {name}; it was not started again")
            session = TerminalSession(name=name, alive=True, pid=next(self._pids), marks=dict(marks))
            started = Started(cwd, tuple(argv), dict(env))
            self.panes[name] = Pane(session, started)
        if self.on_start is not None:
            self.on_start(name, started)
        self._fail("start", acted=True)
        return session

    def send(self, name: str, text: str) -> None:
        """Hand the cleaned text to the worker."""
        self._fail("send", acted=False)
        self._live(name).box += clean(text)
        self._enter(name)
        self._fail("send", acted=True)

    def paste(self, name: str, text: str) -> None:
        """Add the cleaned text to the input line."""
        self._live(name).box += clean(text)

    def press(self, name: str, key: Key) -> None:
        """Hand the input line to the worker at Enter; other keys empty it or take its last letter."""
        pane = self._live(name)
        if key is Key.ENTER:
            self._enter(name)
        else:
            pane.box = pane.box[:-1] if key is Key.RUB_OUT else ""

    def clear_input(self, name: str) -> None:
        """Empty the input line."""
        self._fail("clear_input", acted=False)
        if self._own(name):
            self.panes[name].box = ""

    def screen(self, name: str, *, lines: int = 200) -> str:
        """Return the last lines that were typed."""
        self._fail("screen", acted=False)
        with self._lock:
            if self._own(name) is None:
                raise SessionFailed(f"there is no session {name} to look at")
            return "\n".join("\n".join(self.panes[name].typed).split("\n")[-lines:])

    def view(self, name: str) -> str:
        """Return the screen and below it the input line."""
        return f"{self.screen(name)}\n{self.panes[name].box}"

    def stop(self, name: str) -> None:
        """End the session."""
        self._fail("stop", acted=False)
        with self._lock:
            self._own(name)
            self.panes.pop(name, None)
        self._fail("stop", acted=True)

    def close(self) -> None:
        """Nothing runs beside the sessions."""

    def attach_command(self, name: str) -> list[str]:
        """Return a command that says there is nothing to attach to."""
        return ["echo", f"{name} lives in memory; there is no screen to attach to"]

    def diagnose(self) -> list[Finding]:
        """Say that sessions live in memory."""
        return [Finding(type="terminal", severity=Severity.OK, message="worker sessions live in this process's memory")]

    def _enter(self, name: str) -> None:
        with self._lock:
            pane = self._live(name)
            line, pane.box = pane.box, ""
            pane.typed.append(line)
        self.worker(name, line)

    def _live(self, name: str) -> Pane:
        session = self._own(name)
        if session is None or not session.alive:
            raise SessionFailed(f"there is no live session {name} to type into")
        return self.panes[name]

    def _own(self, name: str) -> TerminalSession | None:
        with self._lock:
            if name in self.foreign:
                raise SessionFailed(f"the session {name} belongs to another workspace; it was not touched")
            pane = self.panes.get(name)
            return pane.session if pane else None

    def _fail(self, call: str, *, acted: bool) -> None:
        if self._is_down and not acted:
            raise SessionFailed(f"the terminal is down and was not asked to {call}")
        if self._failing.get(call) is acted:
            del self._failing[call]
            raise SessionFailed(f"the terminal was told to fail at {call}")
