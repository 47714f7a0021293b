"""Options and arguments that several commands have, and the group class that lets ids begin with a dash."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from devclaw_py.errors import DevClawError, UnknownProject
from devclaw_py.faces.opening import settings_of
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.project import Project
from devclaw_py.state.base import Registry
from devclaw_py.state.files import FilesStore

NUMBER = re.compile(r"-\d")
# No argument of a program can hold it, so nothing that a person types is changed.
MARK = "\0"


class Command(TyperCommand):
    """A command whose positional words may be chat group ids such as ``-1001``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # noqa: ANN401 - the class's home differs by version
        """Hide the dash of such words from the parser, and bring it back in what it has parsed."""
        left = super().parse_args(ctx, _hidden(args, self._valued()))
        for name, value in ctx.params.items():
            if isinstance(value, str):
                ctx.params[name] = value.removeprefix(MARK)
        return left

    def _valued(self) -> set[str]:
        """Return the options that take the next word as their value."""
        return {word for option in self.params if not getattr(option, "is_flag", True) for word in option.opts}


def _hidden(args: Sequence[str], valued: set[str]) -> list[str]:
    before = ["", *args]
    return [
        MARK + word if NUMBER.match(word) and before[place] not in valued else word for place, word in enumerate(args)
    ]


def _inherited(ctx: typer.Context, value: str | None) -> str | None:
    """Take the workspace that was named before the command, unless one is named after it."""
    return value if value is not None else ctx.obj


def complete_projects(incomplete: str) -> list[str]:
    """Return the short names of the projects that begin with what was typed."""
    try:
        known = open_store(None)[1].registry.all().values()
    except (DevClawError, OSError):
        # A shell that waits for a completion has no place for an error.
        return []
    return [project.slug for project in known if project.slug.startswith(incomplete)]


Workspace = Annotated[
    str | None,
    typer.Option(
        "--workspace", metavar="DIR", help="The workspace; may stand before the command too.", callback=_inherited
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text for people.")]
ProjectName = Annotated[
    str,
    typer.Argument(metavar="PROJECT", help="Name, short name or group id.", autocompletion=complete_projects),
]
ProjectFilter = Annotated[
    str | None,
    typer.Option(
        "--project", "-p", metavar="PROJECT", help="Name, short name or group id.", autocompletion=complete_projects
    ),
]


def open_store(workspace: str | None) -> tuple[Path, FilesStore]:
    """Return the workspace and its memory, without terminal, agent or git."""
    folder, loaded = settings_of(workspace, os.environ)
    return folder, FilesStore(folder, SystemClock(), loaded.settings)


def find_project(registry: Registry, named: str) -> Project:
    """Return the project of this group id, short name or name.

    Raises:
        UnknownProject: with the known ones.
    """
    known = registry.all()
    if named in known:
        return known[named]
    for project in known.values():
        if named in (project.slug, project.name) or named.casefold() == project.name.casefold():
            return project
    raise UnknownProject(named, [(group, project.name) for group, project in known.items()])
