"""project_update."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from devclaw_py.app import App
from devclaw_py.errors import NotAllowed
from devclaw_py.model.caller import CallerKind
from devclaw_py.model.pipeline import Integration, PermissionMode, Role, RoleExecution, Tier
from devclaw_py.model.project import MOST_SEATS
from devclaw_py.operations.registration import change_project
from devclaw_py.operations.steps import Call
from devclaw_py.rules.arguments import FilledLine, Line
from devclaw_py.rules.testing import TestCommand
from devclaw_py.tools.base import Answer, Tool, WritingArgs

WORKSPACE = "workspace"
# Not taken as they come.
APART = {"project_group_id", "request_id", "models", "workers", "budget", "permission_mode", "allow", "test_command"}
# Issues and requests are numbered where they are, and branches and reports name those numbers.
SETTLED = ("provider", "remote", "repo")


class Overridden(StrEnum):
    """The limits that a project may have of its own."""

    TASK_TOKENS = "taskTokens"
    TASK_USD = "taskUsd"
    PROJECT_TOKENS = "projectTokens"
    PROJECT_USD = "projectUsd"


class Args(WritingArgs):
    """Arguments of project_update; what is left out stays as it is."""

    base_branch: FilledLine | None = Field(None, description="Branch that work starts from and is merged into.")
    deploy_branch: Line | None = Field(None, description="Branch that is deployed.")
    deploy_url: Line | None = Field(None, description="Where the deployed project can be seen.")
    group_name: Line | None = Field(None, description="The chat group's display name.")
    auto_chain: bool | None = Field(None, description="Whether QA follows DEV, and a fix follows a failed test.")
    role_execution: RoleExecution | None = Field(None, description="Whether dev and qa may work at the same time.")
    integration: Integration | None = Field(None, description="Who merges tested work.")
    channel: Line | None = Field(None, description="The chat's kind, such as telegram.")
    workers: dict[Role, Annotated[int, Field(ge=1, le=MOST_SEATS)]] | None = Field(
        None, description="How many workers a role has, each with sessions and worktrees of its own; 1 if not said."
    )
    models: dict[Tier, FilledLine | None] | None = Field(
        None, description="Models of this project's tiers, over the settings; null: the setting counts again."
    )
    budget: dict[Overridden, Annotated[float, Field(ge=0, allow_inf_nan=False)] | None] | None = Field(
        None,
        description="Limits of this project over those of the settings, in tokens or US dollars, for one task or for "
        "the project in one day; 0: no limit, null: the setting counts again.",
    )
    permission_mode: Literal["dontAsk", "default", "acceptEdits", "bypassPermissions", "workspace"] | None = Field(
        None,
        description="Claude Code's permission mode here, from the next start of a session on; workspace: the setting "
        "counts again. bypassPermissions can be set by a person only.",
    )
    allow: tuple[FilledLine, ...] | None = Field(
        None,
        description="What Claude Code may do here unasked, in the place of the setting `[agent] allow`; the one entry "
        "workspace: the setting counts again.",
    )
    test_command: TestCommand | None = Field(
        None,
        description="Command that runs the project's tests, such as `pytest -q`: workers are told it, and "
        "Claude Code may run it unasked from the next start of a session on. Blank: none.",
    )

    @model_validator(mode="before")
    @classmethod
    def _stays_where_it_is(cls, given: Any) -> Any:  # noqa: ANN401 - whatever a caller sends
        asked = [name for name in SETTLED if isinstance(given, dict) and name in given]
        if asked:
            raise ValueError(
                f"{' and '.join(asked)} cannot be changed: issues are not carried over to another place; end what is "
                "worked on, then remove the project (devclaw project remove) and register it with the new place"
            )
        return given


def project_update(app: App, call: Call, args: Args) -> Answer:
    """Change a project's settings; what is left out stays as it is."""
    changes = args.model_dump(exclude=APART, exclude_none=True)
    if args.workers:
        changes["workers"] = dict(args.workers)
    if args.models:
        changes["models"] = {tier.value: model for tier, model in args.models.items()}
    if args.budget:
        changes["budget"] = {key.value: most for key, most in args.budget.items()}
    if args.test_command is not None:
        changes["test_command"] = args.test_command or None
    changes |= _permissions(args, call)
    return change_project(app, call, group_id=args.group, changes=changes)


def _permissions(args: Args, call: Call) -> dict[str, Any]:
    if args.permission_mode == PermissionMode.BYPASS.value and call.caller.kind is not CallerKind.HUMAN:
        raise NotAllowed(f"{call.caller} cannot set {PermissionMode.BYPASS}", hint="a person can, on the command line")
    given: dict[str, Any] = {}
    if args.permission_mode is not None:
        own = args.permission_mode != WORKSPACE
        given["permission_mode"] = PermissionMode(args.permission_mode) if own else None
    if args.allow is not None:
        given["allow"] = args.allow if args.allow != (WORKSPACE,) else None
    return given


TOOL = Tool("project_update", Args, project_update)
