"""What a client may ask of a workspace: tools, resources, prompts, all as one caller. No protocol here."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import quote, unquote

from devclaw_py import catalogue
from devclaw_py.app import App
from devclaw_py.errors import DevClawError, InvalidArguments, NotAllowed
from devclaw_py.faces.cli.words import told
from devclaw_py.faces.lasting import discreet
from devclaw_py.kernel import files
from devclaw_py.kernel.resources import workspace_text
from devclaw_py.model.caller import Caller
from devclaw_py.model.project import Project
from devclaw_py.operations.ending import failure
from devclaw_py.rules.arguments import SURROGATE
from devclaw_py.state.lines import decode
from devclaw_py.state.rotation import lines_backward, open_parts

PROJECTS = "devclaw://projects"
PROJECT = "devclaw://project/"
QUEUE, AUDIT = "queue", "audit"
KINDS = {
    QUEUE: "What waits in each queue and for a person, and what each worker holds.",
    AUDIT: "The last hundred lines of the audit log about the project, newest first.",
}
AUDIT_LINES = 100
SHOWN_CHARS = 80

PROMPTS = {
    "orchestrator": (
        "AGENTS.md",
        "How an orchestrator works: what is a task, who gets it, what is said.",
    ),
    "heartbeat": ("HEARTBEAT.md", "One round through the workshop: mend what is stuck, start what can start."),
}


@dataclass(frozen=True)
class Resource:
    """Something that can be read, and what it is."""

    uri: str
    name: str
    description: str


class Calls:
    """One caller's door. Everything here blocks: it is for threads."""

    def __init__(self, app: Callable[[], App], caller: Caller) -> None:
        self._app, self._caller = app, caller

    @property
    def group_id(self) -> str | None:
        """The group that the caller is bound to; None means all."""
        return self._caller.group_id

    def answer(self, tool: str, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
        """Call a tool; return its answer, and the same as JSON."""
        try:
            found = catalogue.call(self._app(), tool, arguments, self._caller)
        except (DevClawError, OSError) as error:
            found = failure(told(error))
        if self.group_id is not None:
            found = discreet(found, self.group_id)
        text = _json(found)
        return json.loads(text), text

    def resources(self) -> list[Resource]:
        """Return what can be read: the projects, and two things about each."""
        found = [Resource(PROJECTS, "projects", "The registered projects, with the resources of each.")]
        for project in self._projects():
            found += [Resource(_uri(project, kind), f"{project.name}: {kind}", about) for kind, about in KINDS.items()]
        return found

    def read(self, uri: str) -> str:
        """Return a resource as JSON.

        Raises:
            NotAllowed: it is another group's.
            InvalidArguments: there is no such resource.
            UnknownProject: the group has no project.
        """
        if uri == PROJECTS:
            return _json({"projects": [_entry(project) for project in self._projects()]})
        group_id, kind = _named(uri)
        if self.group_id not in (None, group_id):
            raise NotAllowed(f"{self._caller} belongs to group {self.group_id} and cannot read of group {group_id}")
        if kind == QUEUE:
            return self.answer("queue_status", {"projectGroupId": group_id})[1]
        app = self._app()
        if group_id not in app.store.registry.all():
            raise InvalidArguments(f"no project is registered for group {group_id}")
        return _json({"groupId": group_id, "lines": list(islice(_lines(app, group_id), AUDIT_LINES))})

    def prompt(self, name: str) -> str:
        """Return a role's text: the workspace's own, which people may have edited, else the one that ships.

        Raises:
            InvalidArguments: there is no such prompt.
        """
        if name not in PROMPTS:
            raise InvalidArguments(f"there is no prompt {name[:SHOWN_CHARS]!r}; there are {', '.join(PROMPTS)}")
        file = PROMPTS[name][0]
        own = files.read(self._app().workspace / file)
        text = workspace_text(file) if own is None else own.decode("utf-8", "replace")
        return f"{text.rstrip()}\n\n{self.bound()}\n"

    def bound(self) -> str:
        """Say in a sentence whom the caller acts for."""
        if self.group_id is None:
            return "You act for all groups of this workspace: name projectGroupId in each call that is about a project."
        return f"You act for group {self.group_id} alone: leave projectGroupId out."

    def _projects(self) -> list[Project]:
        known = self._app().store.registry.all()
        return [project for group, project in known.items() if self.group_id in (None, group)]


def _uri(project: Project, kind: str) -> str:
    return f"{PROJECT}{quote(project.group_id, safe='')}/{kind}"


def _named(uri: str) -> tuple[str, str]:
    group_id, _, kind = uri.removeprefix(PROJECT).rpartition("/")
    if not uri.startswith(PROJECT) or not group_id or "/" in group_id or kind not in KINDS:
        raise InvalidArguments(
            f"there is no resource {uri[:SHOWN_CHARS]!r}", hint=f"{PROJECTS} names those that there are"
        )
    return unquote(group_id), kind


def _entry(project: Project) -> dict[str, Any]:
    return {
        "groupId": project.group_id,
        "name": project.name,
        "repo": project.repo,
        "baseBranch": project.base_branch,
        "resources": {kind: _uri(project, kind) for kind in KINDS},
    }


def _lines(app: App, group_id: str) -> Iterator[dict[str, object]]:
    """Yield the audit lines of a group, newest first: the log may be long and the end of it is what is asked for."""
    with open_parts(app.workspace / "memory" / "audit.log") as parts:
        for part in reversed(parts):
            for line in lines_backward(part):
                found = decode(line)
                if found is not None and found.get("groupId") == group_id:
                    yield found


def _json(found: object) -> str:
    # A lone surrogate, which no UTF-8 holds, would end the connection.
    return SURROGATE.sub("\ufffd", json.dumps(found, ensure_ascii=False, default=str))
