"""The workspace of a child: its settings as they are now, its hands, and what the plugin's configuration says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from devclaw_py.app import App
from devclaw_py.chat.base import Notifier
from devclaw_py.errors import DevClawError, UnknownProject
from devclaw_py.faces.openclaw.context import Chat
from devclaw_py.faces.openclaw.sending import ACCOUNT
from devclaw_py.faces.opening import open_workspace
from devclaw_py.kernel import files
from devclaw_py.kernel.config import FILE, PLUGIN_FILE, find_workspace, load
from devclaw_py.model.project import Project
from devclaw_py.model.settings import Settings

DEFAULT_ACCOUNT = "default"


class Office:
    """One workspace for all threads of the child."""

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._environ = environ
        self._guard = threading.Lock()
        self._app: App | None = None
        self._seen: object = None
        self._workspace: Path | None = None
        self._notifier: Callable[[Settings], Notifier] | None = None

    @property
    def workspace(self) -> Path:
        """The workspace's folder."""
        assert self._workspace is not None
        return self._workspace

    @property
    def announces(self) -> bool:
        """Whether announcements go to the groups by themselves."""
        return self.app().settings.notify.kind != "none"

    def configure(self, workspace: str | None, models: Mapping[str, Any]) -> None:
        """Take what the plugin is configured with.

        Raises:
            ConfigError: a model or a setting cannot be used, or a file stands in the workspace's place.
        """
        # Where the gateway was started says nothing: only what is named, else the user's own workspace.
        found = find_workspace(workspace or None, self._environ, Path("/"))
        load(found, self._environ, plugin_models=models)
        self._workspace = found
        self._note(models=dict(models))

    def send_by(self, notifier: Callable[[Settings], Notifier]) -> None:
        """Send announcements by ``notifier`` from now on, where the settings leave it to the gateway."""
        self._note(notify="openclaw")
        with self._guard:
            self._notifier, self._app = notifier, None

    def app(self) -> App:
        """Return the hands, opened anew when the settings have changed.

        Raises:
            ConfigError: a setting cannot be used.
        """
        with self._guard:
            seen = tuple(_stamp(self.workspace / name) for name in (FILE, PLUGIN_FILE))
            if self._app is None or seen != self._seen:
                app = open_workspace(self.workspace, self._environ)
                if self._notifier is not None and app.settings.notify.kind == "openclaw":
                    app = replace(app, notifier=self._notifier(app.settings))
                self._app, self._seen = app, seen
            return self._app

    def learn(self, chat: Chat, group_id: str) -> None:
        """Note where a project's group is, as its first call shows: a registration by command line names no account."""
        registry = self.app().store.registry
        try:
            project = registry.get(group_id)
            account = chat.account if chat.account != DEFAULT_ACCOUNT else None
            kept = (project.model_extra or {}).get(ACCOUNT)
            if project.channel and kept == account:
                return
            registry.change(group_id, lambda found: _placed(found, chat.channel, account))
        except UnknownProject:
            return
        except DevClawError:
            # A registry that cannot be read or written is the call's to report.
            return

    def _note(self, **facts: object) -> None:
        """Write down what is configured, for devclaw's other processes: a worker's report is none of the gateway's."""
        path = files.folder(self.workspace / PLUGIN_FILE.parent) / PLUGIN_FILE.name
        before = files.read(path)
        try:
            found = json.loads(before or b"{}")
        except ValueError:
            found = {}
        content = json.dumps({**found, **facts}, indent=1).encode() + b"\n"
        if content != before:
            files.write(path, content)


def _placed(project: Project, channel: str, account: str | None) -> Project:
    entry = {**project.on_disk(), "channel": project.channel or channel, "groupId": project.group_id}
    entry.pop(ACCOUNT, None)
    return Project.model_validate(entry | ({ACCOUNT: account} if account else {}))


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
