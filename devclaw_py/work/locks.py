"""Lock files that a git left behind when it was killed."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from devclaw_py.work.repo import Tree


def left(tree: Tree) -> list[Path]:
    """Return the lock files in a checkout's own git folder."""
    return sorted(tree.gitdir.glob("*.lock"))


def left_on_refs(common: Path) -> list[Path]:
    """Return the lock files on refs that nobody but devclaw's desks writes."""
    folders = (common / "refs" / "heads" / "devclaw", common / "refs" / "devclaw")
    return sorted(lock for folder in folders for lock in folder.rglob("*.lock"))


def clear(locks: Iterable[Path], folders: Iterable[Path]) -> tuple[str, ...]:
    """Remove the locks whose git is dead and name them; ``folders`` are where a living one would run."""
    seen = {lock: stamp for lock in locks if (stamp := _stamp(lock))}
    if not seen or _git_lives(seen, tuple(folders)):
        return ()

    removed: list[str] = []
    for lock, stamp in seen.items():
        # A git that started since would have made a file of its own under the same name.
        if _stamp(lock) == stamp:
            with suppress(FileNotFoundError):
                lock.unlink()
                removed.append(str(lock))
    return tuple(removed)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_mtime_ns


def _git_lives(locks: Iterable[Path], folders: tuple[Path, ...]) -> bool:
    """Say whether a process holds one of the locks open, or a git runs in one of the folders.

    A git that does not let itself be looked at counts as one.
    """
    import psutil  # only where a lock was found: it takes longer to load than all of git's answers

    names = {str(lock) for lock in locks}
    for process in psutil.process_iter(["name"]):
        is_git = str(process.info["name"] or "").startswith("git")
        try:
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            if is_git and any(Path(process.cwd()).is_relative_to(folder) for folder in folders):
                return True
            if any(file.path in names for file in process.open_files()):
                return True
        except psutil.NoSuchProcess:
            continue
        except psutil.AccessDenied:
            if is_git:
                return True
    return False
