"""Marks that somebody outside says a project has changed: one empty file a project, until it has been looked at."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from devclaw_py.kernel import files


@dataclass(frozen=True)
class Looks:
    """The marks of one workspace."""

    workspace: Path

    @property
    def _folder(self) -> Path:
        return self.workspace / "memory" / "looks"

    def want(self, group_id: str) -> None:
        """Mark a project: the next visit looks at what waits there, also before its time."""
        path = self._path(group_id)
        files.folder(path.parent)
        files.write(path, b"")

    def wanted(self) -> set[str]:
        """Return the groups of the marked projects."""
        if not self._folder.is_dir():
            return set()
        return {unquote(path.name[1:]) for path in self._folder.iterdir() if path.name.startswith("=")}

    def take(self, group_id: str) -> bool:
        """Take a project's mark off before it is looked at, so that what comes meanwhile marks it anew."""
        if not (path := self._path(group_id)).exists():
            return False
        with suppress(FileNotFoundError):
            path.unlink()
        return True

    def _path(self, group_id: str) -> Path:
        return self._folder / f"={quote(group_id, safe='')}"
