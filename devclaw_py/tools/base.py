"""What a tool is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.model.base import Value
from devclaw_py.operations.steps import Call
from devclaw_py.rules.arguments import GroupId, RequestId

Answer = dict[str, Any]


class Group(StrEnum):
    """Whether a call is about one chat group."""

    NEEDED = "needed"
    OPTIONAL = "optional"
    NONE = "none"


class Args(Value):
    """What every tool's arguments have in common."""


class GroupArgs(Args):
    """Arguments of a tool that is about one project."""

    project_group_id: GroupId | None = Field(
        None, description="Chat group of the project. May be left out where the caller belongs to one group."
    )

    @property
    def group(self) -> str:
        """The group, once the door has bound it."""
        assert self.project_group_id is not None
        return self.project_group_id


class WritingArgs(GroupArgs):
    """Arguments of a tool that changes a project."""

    request_id: RequestId | None = Field(
        None, description="The same id within 24 hours answers the first outcome instead of doing it again."
    )


@dataclass(frozen=True)
class Tool:
    """One operation that a person, an agent or the heartbeat may ask for. Its summary is its function's first line.

    ``destructive``: it may end, replace or release something that stood, not only add. ``idempotent``: the same call
    again changes nothing more. Clients that ask a person before a call go by the two.
    """

    name: str
    args: type[Args]
    run: Callable[[App, Call, Any], Answer]
    group: Group = Group.NEEDED
    writes: bool = True
    destructive: bool = False
    idempotent: bool = False

    @property
    def summary(self) -> str:
        """What the tool does, in one sentence."""
        return (self.run.__doc__ or "").strip().partition("\n")[0]

    @property
    def description(self) -> str:
        """The whole docstring, for documentation."""
        lines = (self.run.__doc__ or "").strip().splitlines()
        return "\n".join(line.strip() for line in lines)
