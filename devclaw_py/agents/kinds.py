"""Which agent ``[agent] kind`` names."""

from __future__ import annotations

from devclaw_py.agents.base import Agent
from devclaw_py.agents.scripted import ScriptedAgent
from devclaw_py.errors import ConfigError
from devclaw_py.model.settings import AgentSettings


def open_agent(settings: AgentSettings) -> Agent:
    """Return the agent of the settings.

    Raises:
        ConfigError: this version has no such agent.
    """
    if settings.kind == "scripted":
        return ScriptedAgent(settings)
    raise ConfigError(
        f'[agent] kind = "{settings.kind}" comes with a later version; this one has kind = "scripted", which runs '
        "[agent] program for each task",
        hint='set [agent] kind = "scripted" and program in devclaw.toml',
    )
