"""devclaw_setup."""

from __future__ import annotations

from pydantic import Field

from devclaw_py.app import App
from devclaw_py.model.pipeline import Tier
from devclaw_py.operations.setup import set_up
from devclaw_py.operations.steps import Call
from devclaw_py.rules.arguments import FilledLine, RequestId
from devclaw_py.tools import base
from devclaw_py.tools.base import Answer, Group, Tool


class Args(base.Args):
    """Arguments of devclaw_setup."""

    new_agent_name: FilledLine | None = Field(None, description="Name of a new orchestrator agent.")
    models: dict[Tier, FilledLine] = Field(
        default_factory=dict, description="Model of each tier, written to devclaw.toml."
    )
    request_id: RequestId | None = Field(None, description="The same id within 24 hours answers the first outcome.")


def devclaw_setup(app: App, call: Call, args: Args) -> Answer:
    """Write an orchestrator's AGENTS.md and HEARTBEAT.md, the default role texts and the models of the tiers.

    What people have edited is kept beside the new file, numbered.
    """
    models = {tier.value: model for tier, model in args.models.items()}
    return set_up(app, call, models=models, new_agent=args.new_agent_name)


TOOL = Tool("devclaw_setup", Args, devclaw_setup, group=Group.NONE, destructive=True, idempotent=True)
