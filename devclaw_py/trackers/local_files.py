"""How the local tracker touches its folder: reads that follow no link, whole writes, single appends."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from devclaw_py.errors import ConfigError
from devclaw_py.trackers.local_format import Unreadable

ISSUE = re.compile(r"([1-9][0-9]{0,8})\.md")
LOG = re.compile(r"([1-9][0-9]{0,8})\.log")
MISNAMED = re.compile(r"[0-9]+\.md")
LEFTOVER = re.compile(r"\.([1-9][0-9]{0,8})\.md\.([0-9a-f]+)\.tmp")

READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
APPEND = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


def read(path: Path) -> tuple[bytes, datetime]:
    """Return a file's bytes and when it was saved.

    Raises:
        FileNotFoundError: there is none.
        Unreadable: it is a link, no regular file, or may not be read.
    """
    try:
        descriptor = os.open(path, READ)
    except FileNotFoundError:
        raise
    except OSError as error:
        problem = "it is a link, which is not followed" if path.is_symlink() else f"it cannot be read: {error.strerror}"
        raise Unreadable(path, None, problem) from error
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable(path, None, "it is no regular file")
        saved = datetime.fromtimestamp(status.st_mtime, UTC)
        return file.read(), saved.replace(microsecond=saved.microsecond // 1000 * 1000)


def append(path: Path, data: bytes) -> None:
    """Add ``data`` in one write and see it onto the disk; a line lost half-way before it is ended first.

    Raises:
        ConfigError: the disk is full or the file may not be written; nothing of ``data`` stays.
    """
    with _writing(path):
        descriptor = os.open(path, APPEND, 0o666)
        try:
            size = os.fstat(descriptor).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            _write_or_nothing(descriptor, b"\n" + data if torn else data, size)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def write_new(path: Path, data: bytes, *, like: Path) -> None:
    """Write a file that does not exist yet, with the permissions of ``like`` where that exists.

    Raises:
        ConfigError: the disk is full or the folder may not be written; no file stays.
    """
    with _writing(path):
        descriptor = os.open(path, NEW, 0o666)
        try:
            with suppress(FileNotFoundError):
                os.fchmod(descriptor, stat.S_IMODE(os.lstat(like).st_mode))
            _write_or_nothing(descriptor, data, 0)
            os.fsync(descriptor)
        except OSError:
            path.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)


def publish(temporary: Path, path: Path) -> None:
    """Put a written file in the place of another, at once and for good."""
    with _writing(path):
        os.replace(temporary, path)
        _settle(path.parent)


def publish_new(temporary: Path, path: Path) -> None:
    """Give a written file its name, unless that name is taken.

    Raises:
        FileExistsError: somebody made a file of that name meanwhile.
    """
    try:
        os.link(temporary, path, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: the gap between asking and renaming is the best there is.
        if os.path.lexists(path):
            raise FileExistsError(path) from None
        publish(temporary, path)
        return
    with _writing(path):
        os.unlink(temporary)
        _settle(path.parent)


def remove(path: Path) -> None:
    """Remove a file; gone already is no error."""
    with _writing(path):
        path.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make the folder and those above it where they are missing."""
    with _writing(folder):
        folder.mkdir(parents=True, exist_ok=True)


def _replace(path: Path, data: bytes) -> None:
    """Write a whole small file in place of what stood there. Only one writer at a time."""
    temporary = path.with_name(f"{path.name}.tmp")
    remove(temporary)
    write_new(temporary, data, like=path)
    publish(temporary, path)


replace = _replace


def _write_or_nothing(descriptor: int, data: bytes, size: int) -> None:
    written = 0
    try:
        while written < len(data):
            written += os.write(descriptor, data[written:])
    except OSError:
        with suppress(OSError):
            os.ftruncate(descriptor, size)
        raise


def _settle(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"{path} could not be written: {error.strerror}; free space or mend the permissions, then try again"
        ) from error


def pulse(folder: Path, names: Iterable[str]) -> str:
    """Return a sum over names, sizes and times of the files, temporary ones apart; one that is gone is left out."""
    told = []
    for name in sorted(names):
        with suppress(FileNotFoundError):
            found = (folder / name).stat()
            told += [] if name.startswith(".") else [(name, found.st_mtime_ns, found.st_size)]
    return hashlib.sha256(repr(told).encode("utf-8", "surrogateescape")).hexdigest()
