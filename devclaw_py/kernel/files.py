"""Writing files: whole or not at all, and a refusal of the machine as a message that says what to do."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

from devclaw_py.errors import ConfigError

PUBLIC = 0o644
PRIVATE = 0o600
PRIVATE_FOLDER = 0o700

CURES = {
    errno.ENOSPC: "free some space on that disk",
    errno.EDQUOT: "free some space within the quota",
    errno.EFBIG: "raise the limit on file sizes (ulimit -f)",
    errno.EROFS: "mount that file system writable, or choose another workspace",
    errno.EACCES: "make it writable for this user",
    errno.EPERM: "make it writable for this user",
    errno.ENOTDIR: "something on that path is a file where a folder is needed: move it away",
    errno.EISDIR: "a folder stands where the file belongs: move it away",
}


@contextmanager
def writing(path: Path, deed: str = "written") -> Iterator[None]:
    """Turn what the machine refuses inside the block into an error for people.

    Raises:
        ConfigError: what was being written, what was found and what to do.
    """
    try:
        yield
    except OSError as error:
        cure = CURES.get(error.errno or 0, "look at the disk and the folder's permissions")
        found = error.strerror or str(error)
        raise ConfigError(f"{path} could not be {deed}: {found}; {cure}, then run the same again") from error


def read(path: Path) -> bytes | None:
    """Return a file's content, or None when there is no file.

    Raises:
        ConfigError: it is there and the machine refused.
    """
    with writing(path, "read"):
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None


def write(path: Path, content: bytes, *, mode: int = PUBLIC) -> None:
    """Replace ``path`` as a whole: readers see the old content or the new, also after a crash.

    A link is followed, so that a file kept elsewhere stays there.

    Raises:
        ConfigError: the machine refused; the old file stands as it was and nothing is left beside it.
    """
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    with writing(path):
        try:
            _write_new(draft, content, mode)
            os.rename(draft, target)
        except OSError:
            with suppress(OSError):
                draft.unlink()
            raise
        sync_folder(target.parent)


def create(path: Path, content: bytes, *, mode: int = PUBLIC) -> None:
    """Write a file that must not exist yet; it is there as a whole or not at all, also after a crash.

    Raises:
        FileExistsError: it does; nothing was changed.
        ConfigError: the machine refused; no file is left.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    with writing(path):
        try:
            _write_new(draft, content, mode)
            exists = not _linked(draft, path)
        finally:
            with suppress(OSError):
                draft.unlink()
        if not exists:
            sync_folder(path.parent)
    if exists:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(path))


def back_up(path: Path, content: bytes, *, mode: int = PUBLIC) -> str:
    """Write ``content`` beside ``path`` under the next free name ``<name>.bak-<n>``, and return that name.

    Raises:
        ConfigError: the machine refused.
    """
    numbers = count(1)
    while True:
        backup = path.with_name(f"{path.name}.bak-{next(numbers)}")
        with suppress(FileExistsError):
            create(backup, content, mode=mode)
            return backup.name


def _linked(draft: Path, path: Path) -> bool:
    try:
        os.link(draft, path, follow_symlinks=False)
    except FileExistsError:
        return False
    return True


def sweep(path: Path) -> None:
    """Remove drafts of ``path`` that a killed writer left; only for who holds the lock that its writers take."""
    target = Path(os.path.realpath(path))
    with suppress(OSError), os.scandir(target.parent) as entries:
        for entry in entries:
            if entry.name.startswith(f".{target.name}.") and entry.name.endswith(".tmp"):
                os.unlink(entry.path)


def append_line(path: Path, line: bytes, *, mode: int = PUBLIC) -> int:
    """Append one line with a single durable write and return the file's size; the caller holds the file's lock.

    ``line`` comes without its newline. A line that was lost half-way before is ended first, so that the new one
    stands alone.

    Raises:
        ConfigError: the machine refused; the file is as long as it was.
    """
    with writing(path):
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, mode)
        try:
            size = os.fstat(descriptor).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            content = (b"\n" if torn else b"") + line + b"\n"
            if os.write(descriptor, content) < len(content):
                os.ftruncate(descriptor, size)
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if size == 0:
            sync_folder(path.parent)
    return size + len(content)


def folder(path: Path) -> Path:
    """Make a folder and those above it where they are missing.

    Raises:
        ConfigError: the machine refused.
    """
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


def private_folder(path: Path) -> Path:
    """Make a folder that only this user may enter; one that exists is closed to others.

    Raises:
        ConfigError: the machine refused.
    """
    with writing(path):
        path.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
        if path.stat().st_mode & 0o777 != PRIVATE_FOLDER:
            path.chmod(PRIVATE_FOLDER)
    return path


def sync_folder(path: Path) -> None:
    """Make renames and new names in a folder durable."""
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_new(path: Path, content: bytes, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        rest = memoryview(content)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
