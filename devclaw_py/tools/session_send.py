"""session_send."""

from __future__ import annotations

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.operations.sending import send
from devclaw_py.operations.steps import Call
from devclaw_py.rules.arguments import FilledBody
from devclaw_py.tools.base import Answer, Tool, WritingArgs


class Args(WritingArgs):
    """Arguments of session_send."""

    role: Role = Field(description="Whose session: dev or qa.")
    tier: Tier | None = Field(None, description="Of which tier; left out: the one of the current or last task.")
    text: FilledBody = Field(description="What the worker should read. It is taken for words, never for a command.")


def session_send(app: App, call: Call, args: Args) -> Answer:
    """Tell a worker something that is not a task: now if its session is idle, else as soon as it is.

    A message that waits is kept in the session's folder and typed by a later call or the heartbeat, in order and once;
    the answer says so (`waits`). It starts no session.
    """
    return send(app, call, group_id=args.group, role=args.role, tier=args.tier, text=args.text)


TOOL = Tool("session_send", Args, session_send)
