"""task_complete."""

from __future__ import annotations

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.model.pipeline import Result, Role
from devclaw_py.operations.completion import complete
from devclaw_py.operations.steps import Call
from devclaw_py.rules.arguments import Body, IssueId, Number, check_size
from devclaw_py.tools.base import Answer, Tool, WritingArgs


class Args(WritingArgs):
    """Arguments of task_complete."""

    role: Role = Field(description="Who reports: dev or qa.")
    result: Result = Field(description="dev: done or blocked; qa: pass, fail, refine or blocked.")
    summary: Body = Field(
        "", description="What was done or found, with the evidence; for fail and blocked, the reason."
    )
    issue_id: IssueId | None = Field(None, description="The issue of the task message; needed with attempt.")
    attempt: Number | None = Field(
        None, description="The attempt of the task message. A worker must name it; others mean the current one."
    )


def task_complete(app: App, call: Call, args: Args) -> Answer:
    """Report a task's result: keep or merge the work, move the label, free the worker, chain what follows.

    The report is durable before anything else happens; `pending` says that it is kept and carried out later.
    """
    check_size(args.summary, app.settings.limits.body_chars, "summary")
    return complete(
        app,
        call,
        group_id=args.group,
        role=args.role,
        result=args.result,
        summary=args.summary,
        attempt=args.attempt,
        issue=args.issue_id,
    )


TOOL = Tool("task_complete", Args, task_complete, destructive=True, idempotent=True)
