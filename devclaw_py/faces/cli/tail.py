"""The audit log's end, and what is appended to it from then on, over rotations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Self

from devclaw_py.kernel.clock import Clock
from devclaw_py.state.lines import decode
from devclaw_py.state.rotation import lines_forward, open_parts

POLL_S = 0.2

Entry = dict[str, object]


class Tail:
    """A place in the audit log, for a ``with``.

    `past` goes first: it says where `new` begins, so that no line is lost or doubled.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._offset = 0

    def __enter__(self) -> Self:
        """Return the tail itself."""
        return self

    def __exit__(self, *raised: object) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()

    def past(self) -> Iterator[Entry]:
        """Yield every line that stands now, oldest first, rotated files included."""
        with open_parts(self._path) as parts:
            if parts and not parts[-1].packed:
                self._file = os.fdopen(os.dup(parts[-1].file.fileno()), "rb")
            for part in parts:
                lines = lines_forward(part)
                yield from _entries(lines if part is not parts[-1] or part.packed else self._whole(lines))

    def new(self) -> list[Entry]:
        """Return what was appended since; a file that was moved aside meanwhile is read to its end first."""
        found = self._more()
        if self._moved():
            # Whoever moved it held the log's lock, so nothing is appended to it after.
            found += self._more()
            self._open()
            found += self._more()
        return found

    def follow(self, clock: Clock, keep_on: Callable[[], bool] = lambda: True) -> Iterator[Entry]:
        """Yield lines as they are appended."""
        while keep_on():
            yield from self.new()
            clock.sleep(POLL_S)

    def _whole(self, lines: Iterator[bytes]) -> Iterator[bytes]:
        """Yield the lines that are ended, and remember where the last one ends."""
        for line in lines:
            if line.endswith(b"\n"):
                self._offset += len(line)
                yield line

    def _moved(self) -> bool:
        try:
            there = self._path.stat()
        except FileNotFoundError:
            return False
        return self._file is None or there.st_ino != os.fstat(self._file.fileno()).st_ino

    def _open(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._offset = self._path.open("rb"), 0

    def _more(self) -> list[Entry]:
        if self._file is None:
            return []
        self._file.seek(self._offset)
        # A line without its end is being written; it is read when it is whole.
        whole = self._file.read().rpartition(b"\n")
        self._offset += len(whole[0]) + len(whole[1])
        return list(_entries(iter(whole[0].split(b"\n"))))


def _entries(lines: Iterator[bytes]) -> Iterator[Entry]:
    return (entry for entry in map(decode, lines) if entry is not None)
