"""Which agent ``[agent] kind`` names."""

from __future__ import annotations

from devclaw_py.agents.absent import AbsentAgent
from devclaw_py.agents.base import Agent
from devclaw_py.agents.scripted import ScriptedAgent
from devclaw_py.model.settings import AgentSettings


def open_agent(settings: AgentSettings) -> Agent:
    """Return the agent of the settings; one that this version has not refuses to be started, and nothing else."""
    if settings.kind == "scripted":
        return ScriptedAgent(settings)
    return AbsentAgent(settings.kind)
