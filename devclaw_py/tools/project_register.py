"""project_register."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.model.pipeline import Integration, Provider, RoleExecution
from devclaw_py.model.project import Project
from devclaw_py.operations.registration import register
from devclaw_py.operations.steps import Call
from devclaw_py.rules.arguments import FilledLine, Line
from devclaw_py.rules.testing import TestCommand
from devclaw_py.tools.base import Answer, Tool, WritingArgs


class Args(WritingArgs):
    """Arguments of project_register."""

    name: str = Field(description="Short name of the project.")
    repo: FilledLine = Field(description="Path of the git repository, such as ~/git/my-webapp.")
    base_branch: FilledLine = Field(description="Branch that work starts from and is merged into.")
    group_name: Line = Field("", description="The chat group's display name.")
    deploy_branch: Line = Field("", description="Branch that is deployed; left out: the base branch.")
    deploy_url: Line = Field("", description="Where the deployed project can be seen.")
    provider: Literal["auto", "local", "github", "gitlab"] = Field(
        "auto",
        description="Where the issues live. auto: on the forge of the remote when there are credentials for it, "
        "else locally; the answer says which and why.",
    )
    remote: FilledLine | None = Field(
        None,
        description="Git remote whose repository has the issues, such as upstream in a fork, or its whole address. "
        "Needed when there are several and none is called origin.",
    )
    auto_chain: bool = Field(False, description="Whether QA follows DEV, and a fix follows a failed test, by itself.")
    role_execution: RoleExecution = Field(
        RoleExecution.PARALLEL, description="Whether dev and qa may work at the same time."
    )
    integration: Integration = Field(Integration.DEVCLAW, description="Who merges tested work.")
    channel: Line | None = Field(None, description="The chat's kind, such as telegram.")
    test_command: TestCommand = Field(
        "",
        description="Command that runs the project's tests, such as `pytest -q`: workers are told it, and "
        "Claude Code may run it unasked. Left out: the answer may suggest one.",
    )


def project_register(app: App, call: Call, args: Args) -> Answer:
    """Register a repository for a chat group: check it, create the state labels, scaffold role texts."""
    project = Project(
        group_id=args.group,
        name=args.name,
        repo=args.repo,
        group_name=args.group_name or f"Project: {args.name}",
        base_branch=args.base_branch,
        deploy_branch=args.deploy_branch or args.base_branch,
        deploy_url=args.deploy_url,
        auto_chain=args.auto_chain,
        role_execution=args.role_execution,
        integration=args.integration,
        channel=args.channel,
        test_command=args.test_command or None,
    )
    provider = None if args.provider == "auto" else Provider(args.provider)
    return register(app, call, project, provider=provider, remote=args.remote)


TOOL = Tool("project_register", Args, project_register, idempotent=True)
