"""For faces that stay: the hands of a workspace as its settings are now, and what a bound caller may read."""

from __future__ import annotations

import threading
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from devclaw_py.app import App
from devclaw_py.faces.opening import open_workspace
from devclaw_py.kernel.config import FILE, PLUGIN_FILE


class LastingApp:
    """The hands of one workspace for all threads of a process, opened anew when its settings have changed."""

    def __init__(self, workspace: Path, environ: MutableMapping[str, str]) -> None:
        self._workspace, self._environ = workspace, environ
        self._guard = threading.Lock()
        self._app: App | None = None
        self._seen: object = None

    def app(self) -> App:
        """Return the hands.

        Raises:
            ConfigError: a setting cannot be used.
        """
        with self._guard:
            seen = tuple(_stamp(self._workspace / name) for name in (FILE, PLUGIN_FILE))
            if self._app is None or seen != self._seen:
                self._app, self._seen = open_workspace(self._workspace, self._environ), seen
            return self._app


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size


def discreet(answer: dict[str, Any], group_id: str) -> dict[str, Any]:
    """Return an answer without the names of other groups' projects, which are none of this group's business."""
    error = answer.get("error")
    if not error or error["code"] != "unknown_project":
        return answer
    return {**answer, "error": {**error, "message": f"no project is registered for this group, {group_id}"}}
