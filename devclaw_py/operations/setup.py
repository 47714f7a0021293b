"""devclaw_setup: a workspace's texts and settings."""

from __future__ import annotations

from typing import Any

from devclaw_py.app import App
from devclaw_py.operations.recovery import check_unanswered, settle
from devclaw_py.operations.runner import perform
from devclaw_py.operations.setup_steps import SETUP
from devclaw_py.operations.steps import NO_GROUP, Call, begun
from devclaw_py.rules.slug import slug


def set_up(app: App, call: Call, *, models: dict[str, str], new_agent: str | None = None) -> dict[str, Any]:
    """Write AGENTS.md, HEARTBEAT.md, the default role texts and the models that are named; edits get a backup."""
    warnings = []
    if new_agent is not None:
        warnings.append(
            f"The files of agent {slug(new_agent)} are in {app.workspace}; the gateway does not know the agent yet: "
            f"openclaw agents add {slug(new_agent)} --workspace {app.workspace}"
        )
    with app.store.hold("setup", wait_s=app.settings.timeouts.lock_s, holder=f"{call.tool} {call.op}"):
        call.settled += settle(app, NO_GROUP)
        check_unanswered(app, NO_GROUP, call)
        intent = begun(app, call, SETUP, NO_GROUP, {"models": models, "warnings": warnings})
        return perform(app, SETUP, intent)
