"""The files of the audit log: audit.log, audit.log.rotating while it is packed, audit.log.1.gz (newest) and on.

A rotation may be killed anywhere: each step can be repeated, and the packed file carries in its gzip header which
file it was made of, so that a packed file and its source are never both counted.
"""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO

from devclaw_py.kernel.files import PUBLIC, sync_folder, writing

BLOCK = 64 * 1024
FAST = 5


@dataclass(frozen=True)
class Part:
    """One open file of the log; ``size`` is how much of it counts."""

    file: IO[bytes]
    size: int
    packed: bool


class Rotation:
    """The steps of one rotation; for who holds the lock of the rotation."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._moved = path.with_name(path.name + ".rotating")
        self._draft = path.with_name(path.name + ".packing")

    @property
    def unfinished(self) -> bool:
        """Whether a rotation began and has not ended."""
        return self._moved.exists()

    def begin(self, max_bytes: int) -> bool:
        """Move a log that is full aside, under the audit lock too; says whether it was."""
        if not self._path.exists() or self._path.stat().st_size < max_bytes:
            return False
        with writing(self._moved):
            os.rename(self._path, self._moved)
            sync_folder(self._path.parent)
        return True

    def finish(self) -> None:
        """Pack what was moved aside as audit.log.1.gz, older ones one number up; nothing to do is no error."""
        if not self.unfinished:
            return
        with writing(self._moved):
            if source_of(packed(self._path, 1)) != identity(self._moved):
                self._pack()
                self._make_room()
                os.rename(self._draft, packed(self._path, 1))
                sync_folder(self._path.parent)
            self._moved.unlink()

    def _pack(self) -> None:
        try:
            with (
                self._moved.open("rb") as source,
                open(os.open(self._draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, PUBLIC), "wb") as raw,
            ):
                with gzip.GzipFile(identity(self._moved), "wb", FAST, raw) as target:
                    shutil.copyfileobj(source, target, BLOCK)
                raw.flush()
                os.fsync(raw.fileno())
        except OSError:
            self._draft.unlink(missing_ok=True)
            raise

    def _make_room(self) -> None:
        # A number that is free may be one that a killed rotation left: what is below it moves, what is above it has.
        free = next(number for number in count(1) if not packed(self._path, number).exists())
        for number in range(free - 1, 0, -1):
            os.rename(packed(self._path, number), packed(self._path, number + 1))


def packed(path: Path, number: int) -> Path:
    """Return the name of a rotated file."""
    return path.with_name(f"{path.name}.{number}.gz")


def identity(path: Path) -> str:
    """Return what names a moved file among all others of its folder."""
    found = path.stat()
    return f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}"


def source_of(path: Path) -> str | None:
    """Return the identity of the file that a packed one was made of, or None when it does not say."""
    try:
        with path.open("rb") as file:
            return _source(file.read(128))
    except FileNotFoundError:
        return None


def _source(head: bytes) -> str | None:
    # RFC 1952: ten bytes, the fourth holds the flags; with 8 alone, the original name follows, ended by a zero byte.
    if len(head) < 10 or head[:2] != b"\x1f\x8b" or head[3] != 8:
        return None
    return head[10:].split(b"\0")[0].decode("latin-1")


@contextmanager
def open_parts(path: Path) -> Iterator[list[Part]]:
    """Open every file of the log as of one moment, oldest first, while others append and rotate."""
    while True:
        with ExitStack() as stack:
            before = _names(path)
            parts = _opened(path, before, stack)
            if parts is not None and _names(path) == before:
                yield parts
                return


def lines_forward(part: Part) -> Iterator[bytes]:
    """Yield the lines of one file, oldest first."""
    if part.packed:
        with gzip.GzipFile(fileobj=part.file) as content:
            yield from content
        return
    part.file.seek(0)
    left = part.size
    while left > 0:
        line = part.file.readline(left)
        if not line:
            return
        left -= len(line)
        yield line


def lines_backward(part: Part) -> Iterator[bytes]:
    """Yield the lines of one file, newest first."""
    if part.packed:
        yield from reversed(list(lines_forward(part)))
        return
    rest, end = b"", part.size
    while end > 0:
        start = max(0, end - BLOCK)
        part.file.seek(start)
        block = part.file.read(end - start) + rest
        end = start
        rest, *whole = block.split(b"\n")
        yield from (line for line in reversed(whole) if line)
    if rest:
        yield rest


def _names(path: Path) -> list[tuple[str, int]]:
    """Return the names and inodes of the log's files, oldest first."""
    numbers: list[int] = []
    for number in count(1):
        # One number may be free while a rotation makes room.
        if not (packed(path, number).exists() or packed(path, number + 1).exists()):
            break
        numbers.append(number)
    moved = path.with_name(path.name + ".rotating")
    candidates = [*(packed(path, number) for number in reversed(numbers)), moved, path]
    found: list[tuple[str, int]] = []
    for candidate in candidates:
        try:
            found.append((candidate.name, candidate.stat().st_ino))
        except FileNotFoundError:
            continue
    return found


def _opened(path: Path, names: Sequence[tuple[str, int]], stack: ExitStack) -> list[Part] | None:
    parts: list[Part] = []
    newest = source_of(packed(path, 1))
    for name, inode in names:
        file_path = path.with_name(name)
        try:
            file = stack.enter_context(file_path.open("rb"))
        except FileNotFoundError:
            return None
        found = os.fstat(file.fileno())
        if found.st_ino != inode:
            return None
        if name.endswith(".rotating") and newest == f"{found.st_ino}-{found.st_size}-{found.st_mtime_ns}":
            continue
        parts.append(Part(file, found.st_size, name.endswith(".gz")))
    return parts
