"""project_update."""

from __future__ import annotations

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.model.pipeline import Integration, RoleExecution, Tier
from devclaw_py.operations.registration import change_project
from devclaw_py.operations.steps import Call
from devclaw_py.tools.base import Answer, Tool, WritingArgs


class Args(WritingArgs):
    """Arguments of project_update; what is left out stays as it is."""

    base_branch: str | None = Field(None, min_length=1, description="Branch that work starts from and is merged into.")
    deploy_branch: str | None = Field(None, description="Branch that is deployed.")
    deploy_url: str | None = Field(None, description="Where the deployed project can be seen.")
    group_name: str | None = Field(None, description="The chat group's display name.")
    auto_chain: bool | None = Field(None, description="Whether QA follows DEV, and a fix follows a failed test.")
    role_execution: RoleExecution | None = Field(None, description="Whether dev and qa may work at the same time.")
    integration: Integration | None = Field(None, description="Who merges tested work.")
    channel: str | None = Field(None, description="The chat's kind, such as telegram.")
    models: dict[Tier, str] | None = Field(None, description="Models of this project's tiers, over the settings.")


def project_update(app: App, call: Call, args: Args) -> Answer:
    """Change a project's settings; what is left out stays as it is."""
    changes = args.model_dump(exclude={"project_group_id", "request_id"}, exclude_none=True)
    if "models" in changes:
        changes["models"] = {tier.value: model for tier, model in changes["models"].items()}
    return change_project(app, call, group_id=args.group, changes=changes)


TOOL = Tool("project_update", Args, project_update)
