"""session_health."""

from __future__ import annotations

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.operations.health import check_health
from devclaw_py.operations.steps import Call
from devclaw_py.tools.base import Answer, Group, Tool, WritingArgs


class Args(WritingArgs):
    """Arguments of session_health."""

    auto_fix: bool = Field(False, description="Mend what can be mended; left out: look only, without a lock.")


def session_health(app: App, call: Call, args: Args) -> Answer:
    """Compare seats, labels, sessions and unfinished operations, in one project or in all; autoFix mends them.

    What could not be asked is reported as unknown and nothing is concluded from it. A worker is never stopped for
    taking long, and a person's move is never reverted.
    """
    return check_health(app, call, group_id=args.project_group_id, auto_fix=args.auto_fix)


TOOL = Tool("session_health", Args, session_health, group=Group.OPTIONAL, destructive=True, idempotent=True)
