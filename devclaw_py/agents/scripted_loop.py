"""The lasting process of the scripted agent: waits on its terminal for tasks and runs a program for each.

Started as ``python -P -m devclaw_py.agents.scripted_loop PROGRAM ARG ...`` in the desk's worktree, with the session's
variables in its environment. The terminal stays in line mode, so the kernel erases a half line at C-u; signals from
keys and flow control are off. The program runs in a process group of its own in the terminal's foreground, so it may
change modes and read keys, and is hung up by the kernel when this process is killed.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from json import dumps
from pathlib import Path
from types import FrameType
from typing import Any

from devclaw_py.agents import mailbox
from devclaw_py.kernel import proc
from devclaw_py.terminals import processes

TASK, NOTICE = "devclaw-task", "devclaw-notice"
KEYBOARD = 0
CLEAR_KEY = b"\x15"
GRACE_S = 0.3
DISK_POLL_S = 0.5
STOPPED_S = 0.05
PASSING = (errno.ENOSPC, errno.EDQUOT, errno.EROFS)
ENDING = (signal.SIGHUP, signal.SIGTERM)
# What a program may have left switched on: other screen, hidden cursor, bracketed paste, mouse, colours.
RESET = "\x1b[?1049l\x1b[?25h\x1b[?2004l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[0m"


class HungUp(BaseException):
    """The terminal was closed or the process was told to end; like KeyboardInterrupt, no error."""


class Loop:
    """One worker: its folder, its program, its terminal."""

    def __init__(self, program: list[str], environ: dict[str, str]) -> None:
        self._program = program
        self._token_file = environ["DEVCLAW_TOKEN_FILE"]
        self._folder = Path(self._token_file).parent
        # For this interpreter alone; a program's Python must find its own modules.
        self._environ = {name: value for name, value in environ.items() if name != "PYTHONPATH"}
        # By its name: a worktree that was deleted and made again is another folder than the one this process is in.
        self._worktree = Path.cwd()
        self._modes = _line_mode()

    def run(self) -> None:
        """Serve the lines that are typed, until the terminal is gone."""
        self._say("ready for tasks")
        self._state("idle")
        for line in _lines():
            try:
                self._serve(line)
            except OSError as error:
                self._say(f"that failed: {error}")

    def _serve(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == TASK:
            self._task(rest)
        elif word == NOTICE:
            self._say(f"notice: {rest}")
        elif line:
            self._say(f"ignored a line that is no task: {line[:60]!r}")

    def _task(self, rest: str) -> None:
        offer, _, path = rest.partition(" ")
        task_file = self._folder / mailbox.TASKS / f"{offer}.md"
        if not mailbox.OFFER.fullmatch(offer) or Path(path).resolve() != task_file.resolve():
            self._say(f"ignored a broken task line: {rest[:60]!r}")
            return
        self._state("working", offer)
        try:
            if mailbox.accept(self._folder, offer):
                self._say(f"task {offer} accepted")
                self._finish(offer, self._work(offer, task_file))
            else:
                self._say(f"task {offer} is no longer offered; nothing was started")
        finally:
            self._keep(lambda: self._state("idle"))

    def _work(self, offer: str, task_file: Path) -> dict[str, object]:
        """Run the program to its end and return how it ended."""
        issue, _, attempt = offer.partition(".")
        try:
            token = Path(self._token_file).read_text(encoding="utf-8").strip()
            env = {**self._environ, "DEVCLAW_ISSUE": issue, "DEVCLAW_ATTEMPT": attempt, "DEVCLAW_TOKEN": token}
            program = proc.start(self._program, cwd=self._worktree, env=env, stdin=task_file)
        except (proc.NotAnswered, OSError) as error:
            # Accepted and never ended, a task would be held for ever.
            self._say(str(error))
            return {"code": 127, "signal": None, "error": str(error)}
        try:
            _foreground(program.pid)
            # It may have been stopped for touching the terminal before it had it.
            _signal(program.pid, signal.SIGCONT)
            code = _ended(program)
        finally:
            self._end_family(program)
            _foreground(os.getpgrp())
            _set_modes(self._modes)
            _write(RESET)
        return {"code": code, "signal": None} if code >= 0 else {"code": None, "signal": -code}

    def _end_family(self, program: proc.Program) -> None:
        """Let nothing that the program started work on beside the next one, a daemon neither."""
        _signal(program.pid, signal.SIGHUP)
        deadline = time.monotonic() + GRACE_S
        while time.monotonic() < deadline and _group_lives(program):
            time.sleep(0.01)
        _signal(program.pid, signal.SIGKILL)
        program.wait()
        processes.end(processes.marked("DEVCLAW_TOKEN_FILE", self._token_file), grace_s=0)

    def _finish(self, offer: str, ending: dict[str, object]) -> None:
        file, record = self._folder / mailbox.EVENTS / f"ended-{offer}.json", dumps({**ending, "at": time.time()})
        self._keep(lambda: mailbox.put(file, record))
        how = f"signal {ending['signal']}" if ending["signal"] else f"exit code {ending['code']}"
        mailbox.ring(self._folder)
        self._say(f"task {offer}: the program ended with {how}")

    def _keep(self, write: Callable[[], None]) -> None:
        """Write what must not be lost: while the disk is full or read-only, wait; nothing could be done meanwhile."""
        said = False
        while True:
            try:
                return write()
            except OSError as error:
                if error.errno not in PASSING:
                    raise
                if not said:
                    self._say(f"waiting for the disk: {error}")
                said = True
                time.sleep(DISK_POLL_S)

    def _state(self, status: str, offer: str | None = None) -> None:
        record = {"status": status, "offer": offer, "pid": os.getpid(), "at": time.time()}
        mailbox.put(self._folder / mailbox.STATE, dumps(record))

    def _say(self, text: str) -> None:
        _write(f"[devclaw] {text}\n")


def _lines() -> Iterator[str]:
    """Yield typed lines without the marks of a bracketed paste; the end-of-file key is no end."""
    buffer = b""
    while True:
        try:
            chunk = os.read(KEYBOARD, 65536)
        except OSError as error:
            raise HungUp from error
        if not chunk and not os.isatty(KEYBOARD):
            raise HungUp
        *complete, buffer = (buffer + chunk).split(b"\n")
        for line in complete:
            text = line.decode("utf-8", errors="replace").replace("\x1b[200~", "").replace("\x1b[201~", "")
            yield text.strip()


def _line_mode() -> list[Any]:
    modes: list[Any] = termios.tcgetattr(KEYBOARD)
    modes[0] = (modes[0] | termios.ICRNL) & ~(termios.IXON | termios.IXOFF | termios.INLCR | termios.IGNCR)
    modes[1] |= termios.OPOST | termios.ONLCR
    modes[3] = (modes[3] | termios.ICANON | termios.ECHO | termios.ECHOE | termios.ECHOK) & ~termios.ISIG
    modes[6][termios.VKILL] = CLEAR_KEY
    _set_modes(modes)
    return modes


def _set_modes(modes: list[Any]) -> None:
    with _no_stop(), suppress(termios.error):
        termios.tcsetattr(KEYBOARD, termios.TCSANOW, modes)


def _foreground(group: int) -> None:
    with _no_stop(), suppress(OSError):
        os.tcsetpgrp(KEYBOARD, group)


@contextmanager
def _no_stop() -> Iterator[None]:
    """Let a process in the background change the terminal. Blocked, not ignored: ignoring would be inherited."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTTOU})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _group_lives(program: proc.Program) -> bool:
    program.poll()
    return _signal(program.pid, 0)


def _ended(program: proc.Program) -> int:
    """Wait for the program's end and return its code; stopped at any time it goes on, as nobody else could tell it."""
    look = os.WEXITED | os.WSTOPPED | os.WNOWAIT
    while (found := os.waitid(os.P_PID, program.pid, look)) and found.si_code == os.CLD_STOPPED:
        os.waitid(os.P_PID, program.pid, os.WSTOPPED)
        time.sleep(STOPPED_S)
        _signal(program.pid, signal.SIGCONT)
    return program.wait()


def _signal(group: int, number: int) -> bool:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def _write(text: str) -> None:
    # The terminal may be gone; what matters is in the session's files.
    with suppress(OSError):
        os.write(1, text.encode("utf-8", errors="replace"))


def _hang_up(number: int, frame: FrameType | None) -> None:
    # Once is enough: a second signal must not break off the clearing up.
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise HungUp


def main() -> None:
    """Run the loop on this terminal with the program from the command line."""
    for number in ENDING:
        signal.signal(number, _hang_up)
    with suppress(HungUp):
        Loop(sys.argv[1:], dict(os.environ)).run()


if __name__ == "__main__":
    main()
