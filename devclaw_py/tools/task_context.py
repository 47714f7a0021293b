"""task_context."""

from __future__ import annotations

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.operations.context import task_again
from devclaw_py.operations.steps import Call
from devclaw_py.rules.arguments import IssueId
from devclaw_py.tools.base import Answer, GroupArgs, Tool


class Args(GroupArgs):
    """Arguments of task_context."""

    issue_id: IssueId | None = Field(
        None, description="The issue. A worker may leave it out: its current task is meant. Others must name it."
    )


def task_context(app: App, call: Call, args: Args) -> Answer:
    """Show a task again as its worker was told it: description, comments, what QA found, branch, how to report.

    Read from the tracker at this moment, so comments made since the pickup are included. Changes nothing.
    """
    return task_again(app, call, group_id=args.group, issue=args.issue_id)


TOOL = Tool("task_context", Args, task_context, writes=False, idempotent=True)
