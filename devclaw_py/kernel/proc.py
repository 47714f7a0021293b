"""Starting programs: argument lists, never shell strings, always with a time limit."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.kernel.locks import HELD


@dataclass(frozen=True)
class Done:
    """How a program ended. ``out`` and ``err`` are UTF-8 with undecodable bytes as escapes."""

    code: int
    out: str
    err: str


AFTER_KILL_S = 1.0

Program = subprocess.Popen[bytes]
"""A program that runs beside this one."""


class NotAnswered(Exception):
    """The program could not be started, or did not end in time and was killed."""


class NotStarted(NotAnswered):
    """The program could not be started: nothing has happened."""


def run(
    argv: Sequence[str],
    *,
    timeout_s: float,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: str | None = None,
    with_locks: bool = False,
) -> Done:
    """Run a program to its end; ``env`` None means this process's environment.

    ``with_locks`` lets it and its children inherit the locks held here, so that they stay held while it lives, even
    when this process is killed. On time-out the whole process group is killed.

    Raises:
        NotAnswered: see above; the message names the program.
    """
    try:
        process = subprocess.Popen(
            [_encoded(word) for word in argv],
            cwd=cwd,
            env=None if env is None else dict(env),
            stdin=subprocess.PIPE if stdin is not None else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=HELD.get() if with_locks else (),
            start_new_session=True,
        )
    except OSError as error:
        raise _not_started(argv[0], error) from error
    with process:
        try:
            out, err = process.communicate(None if stdin is None else stdin.encode(), timeout=timeout_s)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            # A child that has left the group may hold the pipes for ever; its output is of no use to anybody.
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=AFTER_KILL_S)
            raise NotAnswered(f"{argv[0]} did not end within {timeout_s:g} s and was killed") from None
    return Done(process.returncode, _text(out), _text(err))


def _not_started(program: str, error: OSError) -> NotStarted:
    # The folder to start in may be what is missing: then the error names that.
    absent = isinstance(error, FileNotFoundError) and os.fsdecode(error.filename or "") == program
    why = "it is in no folder of PATH" if absent and os.sep not in program else error.strerror
    return NotStarted(f"{program} could not be started: {why}")


def _encoded(word: str) -> bytes:
    # In a locale that has no UTF-8 a file name keeps its own bytes, and what the locale cannot say is UTF-8.
    try:
        return os.fsencode(word)
    except UnicodeEncodeError:
        return word.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", errors="backslashreplace")


def start(argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: Path) -> Program:
    """Start a program in a process group of its own, on this process's terminal, and return at once.

    ``stdin`` is the file it reads. There is no time limit: the caller waits and ends the group.

    Raises:
        NotAnswered: it could not be started; the message names the program.
    """
    try:
        with stdin.open("rb") as source:
            return subprocess.Popen(list(argv), cwd=cwd, env=dict(env), stdin=source, process_group=0)
    except OSError as error:
        raise _not_started(argv[0], error) from error
