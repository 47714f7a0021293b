"""audit.log: appended under a lock, rotated by size, read without one."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from devclaw_py.errors import ConfigError, ProjectBusy
from devclaw_py.kernel.clock import Clock
from devclaw_py.kernel.files import append_line, folder, writing
from devclaw_py.model.journal import AuditLine
from devclaw_py.state.lines import decode, encode, moment, stands
from devclaw_py.state.locking import Locks
from devclaw_py.state.rotation import Rotation, lines_backward, lines_forward, open_parts


class FileAudit:
    """The audit log of one workspace. Order of locks: audit-rotation before audit, each held for one step."""

    def __init__(self, path: Path, locks: Locks, clock: Clock, *, max_bytes: int, wait_s: float) -> None:
        self._path, self._locks, self._clock = path, locks, clock
        self._max_bytes, self._wait_s = max_bytes, wait_s

    def append(self, line: AuditLine) -> None:
        """Append one line with a single write; a line lost half-way is ended first.

        Raises:
            ConfigError: the machine refused; the log is as long as it was.
        """
        folder(self._path.parent)
        with self._locks.hold("audit", wait_s=self._wait_s, holder="an audit line"):
            size = append_line(self._path, encode(line, now=self._clock.now()))
        self._rotate_if_due(size)

    def append_once(self, line: AuditLine) -> bool:
        """Append unless a line of the same op and event stands from ``line.ts`` on; says whether it was added now."""
        folder(self._path.parent)
        with self._locks.hold("audit", wait_s=self._wait_s, holder="an audit line"):
            if stands(line, self._newest_first()):
                return False
            size = append_line(self._path, encode(line, now=self._clock.now()))
        self._rotate_if_due(size)
        return True

    def read(self, *, since: datetime | None = None) -> Iterator[dict[str, object]]:
        """Yield the lines as objects, oldest first, rotated files included; unreadable lines are passed over."""
        with writing(self._path, "read"), open_parts(self._path) as parts:
            for part in parts:
                for line in lines_forward(part):
                    entry = decode(line)
                    if entry is not None and is_since(entry, since):
                        yield entry

    def _newest_first(self) -> Iterator[bytes]:
        with writing(self._path, "read"), open_parts(self._path) as parts:
            for part in reversed(parts):
                yield from lines_backward(part)

    def _rotate_if_due(self, size: int) -> None:
        rotation = Rotation(self._path)
        if size < self._max_bytes and not rotation.unfinished:
            return
        try:
            with self._locks.hold("audit-rotation", wait_s=0, holder="the rotation of audit.log"):
                rotation.finish()
                with self._locks.hold("audit", wait_s=self._wait_s, holder="the rotation of audit.log"):
                    begun = rotation.begin(self._max_bytes)
                if begun:
                    rotation.finish()
        except (ProjectBusy, ConfigError):
            # Somebody else rotates, the log is in demand, or the disk is full. The line stands, so its caller must
            # not hear of a failure; the next line tries again.
            return


def is_since(entry: dict[str, object], since: datetime | None) -> bool:
    """Say whether a line is of ``since`` or later; a line without a time only counts when no time is asked for."""
    if since is None:
        return True
    at = moment(entry.get("ts"))
    return at is not None and at >= since
