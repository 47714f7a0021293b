"""task_create."""

from __future__ import annotations

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.model.pipeline import State
from devclaw_py.operations.creation import create_issue
from devclaw_py.operations.steps import Call
from devclaw_py.rules.arguments import Body, FilledLine, Title, check_size
from devclaw_py.tools.base import Answer, Tool, WritingArgs


class Args(WritingArgs):
    """Arguments of task_create."""

    title: Title = Field(description="The issue's title, one line.")
    description: Body = Field("", description="The issue's text in markdown.")
    label: State | None = Field(None, description="State label; left out: Planning, or To Do with pickup.")
    assignees: tuple[FilledLine, ...] = Field((), description="Usernames to assign.")
    pickup: bool = Field(False, description="Whether dev picks the issue up at once.")


def task_create(app: App, call: Call, args: Args) -> Answer:
    """Create an issue; with pickup, dev picks it up at once or as soon as the worker is free."""
    check_size(args.description, app.settings.limits.body_chars, "description")
    state = args.label or (State.TO_DO if args.pickup else State.PLANNING)
    return create_issue(
        app,
        call,
        group_id=args.group,
        title=args.title,
        body=args.description,
        state=state,
        assignees=args.assignees,
        picks_up=args.pickup,
    ) | {"pickup": args.pickup}


TOOL = Tool("task_create", Args, task_create)
