"""task_comment."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.model.caller import CallerKind
from devclaw_py.operations.creation import add_comment
from devclaw_py.operations.steps import Call
from devclaw_py.rules.arguments import FilledBody, IssueId, check_size
from devclaw_py.tools.base import Answer, Tool, WritingArgs


class Args(WritingArgs):
    """Arguments of task_comment."""

    issue_id: IssueId = Field(description="The issue.")
    body: FilledBody = Field(description="The comment in markdown.")
    author_role: Literal["dev", "qa", "orchestrator"] | None = Field(
        None, description="Who speaks; a worker speaks as its own role."
    )


def task_comment(app: App, call: Call, args: Args) -> Answer:
    """Add a comment to an issue, attributed to a role if one is named."""
    check_size(args.body, app.settings.limits.body_chars, "body")
    author = call.caller.role.value if call.caller.kind is CallerKind.WORKER and call.caller.role else args.author_role
    return add_comment(app, call, group_id=args.group, issue=args.issue_id, body=args.body, author=author)


TOOL = Tool("task_comment", Args, task_comment)
