"""The processes below a terminal, found so that none outlives its session as a second worker.

Hanging up a terminal ends only what listens to SIGHUP and still belongs to it. What ignores the signal is found by
its Unix session, what left that by its parents, and what left those by a variable in its environment.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil

GRACE_S = 0.5
KILL_S = 2.0
POLL_S = 0.005


def below(leader: int) -> list[psutil.Process]:
    """Return the process ``leader``, all its descendants and all members of the Unix session that it leads.

    A leader that is gone may still have a session. The kernel gives its number to nobody while a member lives, so a
    process that has the number and another session proves that no member is left.
    """
    import psutil

    found: dict[int, psutil.Process] = {}
    with suppress(psutil.NoSuchProcess):
        process = psutil.Process(leader)
        if _session_of(leader) != leader:
            return []
        found = {child.pid: child for child in (process, *process.children(recursive=True))}
    for pid in psutil.pids():
        if _session_of(pid) == leader:
            with suppress(psutil.NoSuchProcess):
                found.setdefault(pid, psutil.Process(pid))
    found.pop(os.getpid(), None)
    return list(found.values())


def alive(pid: int) -> bool:
    """Say whether process ``pid`` runs; one that ended and that nobody has waited for (a zombie) does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    stat = _stat(pid)
    return stat is None or stat[0] not in "ZX"


def marked(variable: str, value: str) -> list[psutil.Process]:
    """Return the processes that were started with ``variable=value`` in their environment, but this one."""
    import psutil

    return [
        psutil.Process(pid)
        for pid in psutil.pids()
        if pid != os.getpid() and initial_environment(pid).get(variable) == value and psutil.pid_exists(pid)
    ]


def holding(variable: str, values: Collection[str]) -> Iterator[tuple[int, str]]:
    """Yield the processes that were started with ``variable`` set to one of the values, each with its value."""
    import psutil

    for pid in psutil.pids():
        value = initial_environment(pid).get(variable)
        if value in values and value is not None and alive(pid):
            yield pid, value


def named(pid: int, name: str) -> bool:
    """Say whether the program of process ``pid`` has a name that begins so."""
    import psutil

    try:
        return psutil.Process(pid).name().startswith(name)
    except psutil.Error:
        return False


def initial_environment(pid: int) -> dict[str, str]:
    """Return the environment that process ``pid`` was started with; empty when it is gone or belongs to others."""
    proc = Path("/proc") / str(pid) / "environ"
    if not Path("/proc/self/environ").exists():
        return _environment_by_psutil(pid)
    try:
        raw = proc.read_bytes()
    except OSError:
        return {}
    pairs = (entry.partition("=") for entry in raw.decode("utf-8", errors="surrogateescape").split("\0") if entry)
    return {name: value for name, _, value in pairs}


def parents(pid: int) -> list[int]:
    """Return ``pid`` and the processes above it, nearest first."""
    chain = [pid]
    while (above := _parent(chain[-1])) and above not in chain:
        chain.append(above)
    return chain


def end(processes: Iterable[psutil.Process], *, grace_s: float = GRACE_S) -> list[int]:
    """Wait ``grace_s`` for the processes to end by themselves, kill the rest; return what lives even then.

    A process is known by its number and its start time, so a number that was given to another since is not killed.
    """
    import psutil

    left = _outlasting(list(processes), grace_s)
    for process in left:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return [process.pid for process in _outlasting(left, KILL_S)]


def _outlasting(processes: list[psutil.Process], within_s: float) -> list[psutil.Process]:
    """Wait for the end of all; one that nobody has waited for (a zombie) has ended, its parent may never do so."""
    deadline = time.monotonic() + within_s
    while processes := [process for process in processes if _runs(process)]:
        if time.monotonic() >= deadline:
            break
        time.sleep(POLL_S)
    return processes


def _runs(process: psutil.Process) -> bool:
    import psutil

    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _parent(pid: int) -> int | None:
    stat = _stat(pid)
    return int(stat[1]) if stat is not None else _parent_by_psutil(pid)


def _stat(pid: int) -> list[str] | None:
    """Return state, parent and so on from Linux's table of processes; None where there is no such entry."""
    try:
        # Twice for each session in a look at all of them: a Path and a decoder would take as long as the reading.
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            stat = file.read().decode(errors="replace")
    except OSError:
        return None
    # The field before is the program's name in brackets and may hold anything, brackets too.
    return stat.rpartition(")")[2].split()


def _parent_by_psutil(pid: int) -> int | None:
    import psutil

    try:
        return psutil.Process(pid).ppid()
    except psutil.Error:
        return None


def _environment_by_psutil(pid: int) -> dict[str, str]:
    import psutil

    try:
        return psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return {}
