"""task_pickup."""

from __future__ import annotations

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.model.pipeline import Role
from devclaw_py.operations.pickup import pick_up
from devclaw_py.operations.steps import Call
from devclaw_py.rules.arguments import IssueId
from devclaw_py.tools.base import Answer, Tool, WritingArgs


class Args(WritingArgs):
    """Arguments of task_pickup."""

    role: Role = Field(description="Who picks up: dev or qa.")
    issue_id: IssueId | None = Field(None, description="The issue; left out: the next one by queue order.")
    model: str | None = Field(
        None, description="The tier: junior, medior, senior or qa. Left out: a tier label on the issue, else a guess."
    )


def task_pickup(app: App, call: Call, args: Args) -> Answer:
    """Pick a task up from the queue: move its label, seat a worker, and deliver the task to the worker's session.

    All or nothing: until the worker has accepted the message, a failure puts everything back.
    """
    return pick_up(app, call, group_id=args.group, role=args.role, issue=args.issue_id, tier=args.model)


TOOL = Tool("task_pickup", Args, task_pickup)
