"""Which agent ``[agent] kind`` names."""

from __future__ import annotations

from pathlib import Path

from devclaw_py.agents.base import Agent
from devclaw_py.agents.claude.agent import ClaudeAgent
from devclaw_py.agents.scripted import ScriptedAgent
from devclaw_py.model.settings import AgentSettings


def open_agent(settings: AgentSettings, workspace: Path) -> Agent:
    """Return the agent of the settings. Its program is looked for when a worker starts, and by doctor."""
    if settings.kind == "scripted":
        return ScriptedAgent(settings)
    return ClaudeAgent(settings, workspace)
