"""task_update."""

from __future__ import annotations

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.model.pipeline import State
from devclaw_py.operations.steps import Call
from devclaw_py.operations.update import move_issue
from devclaw_py.rules.arguments import Body, IssueId, check_size
from devclaw_py.tools.base import Answer, Tool, WritingArgs


class Args(WritingArgs):
    """Arguments of task_update."""

    issue_id: IssueId = Field(description="The issue.")
    state: State = Field(description="The new state label.")
    reason: Body = Field("", description="Why; stands in the audit log.")


def task_update(app: App, call: Call, args: Args) -> Answer:
    """Move an issue to any state but Doing and Testing; mends issues with no or several state labels.

    Closes on Done and reopens on leaving it. A worker that holds the task is released and told.
    """
    check_size(args.reason, app.settings.limits.body_chars, "reason")
    return move_issue(app, call, group_id=args.group, issue=args.issue_id, state=args.state, reason=args.reason)


TOOL = Tool("task_update", Args, task_update, destructive=True, idempotent=True)
