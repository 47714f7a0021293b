"""project_mode."""

from __future__ import annotations

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.model.pipeline import Mode
from devclaw_py.operations.mode import set_mode
from devclaw_py.operations.steps import Call
from devclaw_py.tools.base import Answer, Tool, WritingArgs


class Args(WritingArgs):
    """Arguments of project_mode."""

    mode: Mode = Field(
        description="running; paused: nothing is handed out unattended; draining: what was begun is brought to its "
        "end, nothing new is begun; stopped: paused, and its workers are put to rest now, their work kept."
    )


def project_mode(app: App, call: Call, args: Args) -> Answer:
    """Pause, drain, stop or resume what a project does unattended; a person's own pickups go on."""
    return set_mode(app, call, group_id=args.group, mode=args.mode)


TOOL = Tool("project_mode", Args, project_mode, destructive=True, idempotent=True)
