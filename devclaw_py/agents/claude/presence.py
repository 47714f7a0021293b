"""What Claude Code says of itself in ``<configuration>/sessions/<pid>.json``, a file that it does not document.

The file stays behind after ``kill -9`` and process numbers are given again, so it counts only when its start time is
that of the process. Beside it lie keys of other features: no other file of the folder is opened.
"""

from __future__ import annotations

from pathlib import Path

from devclaw_py.agents import mailbox
from devclaw_py.model.base import Value

START_FIELD = 19


class Presence(Value):
    """One reading. ``since`` is when the status was written, in seconds since 1970."""

    status: str
    waiting_for: str = ""
    since: float = 0.0
    session_id: str = ""


def read(config: Path, pid: int) -> Presence | None:
    """Return what the process says of itself, or None when it says nothing (yet)."""
    record = mailbox.read_record(config / "sessions" / f"{pid}.json")
    if record is None or record.get("pid") != pid or not isinstance(record.get("status"), str):
        return None
    started = start_ticks(pid)
    if started is not None and str(record.get("procStart", started)) != started:
        return None
    since = record.get("statusUpdatedAt", record.get("updatedAt"))
    return Presence(
        status=record["status"],
        waiting_for=str(record.get("waitingFor") or ""),
        since=since / 1000 if isinstance(since, int | float) else 0.0,
        session_id=str(record.get("sessionId") or ""),
    )


def start_ticks(pid: int) -> str | None:
    """Return when a process was started, in the kernel's ticks; None where the kernel does not say so."""
    try:
        stat = (Path("/proc") / str(pid) / "stat").read_text(errors="replace")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[START_FIELD]
