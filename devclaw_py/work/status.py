"""What is unsaved in a checkout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.work.command import Git

# Fields before the path in each kind of line of `git status --porcelain=v2`.
FIELDS = {"1": 8, "2": 9, "u": 10}


@dataclass(frozen=True)
class Status:
    """Paths by kind. ``alien`` are those that a commit of this repository cannot hold: nested repositories, and
    submodules with unsaved work of their own."""

    tracked: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    alien: tuple[str, ...] = ()
    staged: bool = False
    unmerged: bool = False

    @property
    def dirty(self) -> tuple[str, ...]:
        """Everything that is not committed."""
        return (*self.tracked, *self.untracked, *self.alien)


def read(git: Git, tree: Path) -> Status:
    """Ask git what is unsaved; ignored files do not count."""
    out = git.run(
        tree, "status", "--porcelain=v2", "-z", "--untracked-files=all", "--ignore-submodules=none", "--no-renames",
        asked=f"ask what is unsaved in {tree}",
    ).out  # fmt: skip
    rows = list(_rows(out))
    return Status(
        tracked=tuple(path for kind, _, sub, path in rows if kind in FIELDS and not _alien(sub)),
        untracked=tuple(path for kind, _, _, path in rows if kind == "?" and not path.endswith("/")),
        alien=tuple(path for kind, _, sub, path in rows if _alien(sub) or (kind == "?" and path.endswith("/"))),
        staged=any(kind in FIELDS and state[0] != "." for kind, state, _, _ in rows),
        unmerged=any(kind == "u" for kind, _, _, _ in rows),
    )


def _rows(out: str) -> Iterator[tuple[str, str, str, str]]:
    """Yield kind, XY state, submodule state and path."""
    for line in filter(None, out.split("\0")):
        kind, _, rest = line.partition(" ")
        if kind not in FIELDS:
            yield kind, "..", "N...", rest
            continue
        *fields, path = line.split(" ", FIELDS[kind])
        state, sub = fields[1], fields[2]
        # Commits made inside a submodule stay there, and no checkout of ours moves them.
        if state == ".M" and sub == "SC..":
            continue
        yield kind, state, sub, path


def _alien(sub: str) -> bool:
    return sub.startswith("S") and ("M" in sub or "U" in sub)
