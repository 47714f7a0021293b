"""Who plays DEV and QA in the demo: a program, or Claude Code with a stand-in for its model."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from devclaw_py.agents.claude import checkup, launch
from devclaw_py.agents.standin.household import ENV_FILE, furnish
from devclaw_py.agents.standin.server import StandIn
from devclaw_py.demo import claude_desk, claude_story, command
from devclaw_py.errors import ConfigError
from devclaw_py.kernel import config
from devclaw_py.model.finding import Severity
from devclaw_py.model.settings import AgentSettings

REQUESTS, HOME = "requests", "home"
# Two edits within one second may leave a file as long as it was: a cached bytecode would pass for the new one.
MORE = "PYTHONDONTWRITEBYTECODE=1\n"
WITHOUT = "leave --agent out: the demo needs no Claude Code"


class Player(StrEnum):
    """The agent of the demo's workers."""

    SCRIPTED = "scripted"
    CLAUDE = "claude"

    @property
    def limit_s(self) -> float:
        """Seconds that the whole demo may take, unless a person says otherwise."""
        return 120.0 if self is Player.SCRIPTED else 300.0


class Speed(StrEnum):
    """How long the workers wait between two steps."""

    NORMAL = "normal"
    FAST = "fast"

    @property
    def pause_s(self) -> float:
        """Seconds before each step of a worker."""
        return 1.1 if self is Speed.NORMAL else 0.0


@dataclass(frozen=True)
class Cast:
    """How the workers are started: the agent's settings and the environment; ``told`` says who they are."""

    agent: AgentSettings
    environ: Mapping[str, str]
    told: str | None = None


def find_program(player: Player, environ: Mapping[str, str]) -> str | None:
    """Return where the player's Claude Code is; None for a player that needs none.

    Raises:
        ConfigError: it is not there, or the tests that it is to run could not be started.
    """
    if player is Player.SCRIPTED:
        return None
    path = environ.get("PATH")
    try:
        found = launch.program(AgentSettings(), path)
    except ConfigError:
        raise ConfigError(
            "--agent claude needs Claude Code, and claude is no program on PATH",
            hint=f"npm install -g @anthropic-ai/claude-code, or {WITHOUT}",
        ) from None
    python = claude_desk.TESTS.partition(" ")[0]
    if shutil.which(python, path=path) is None:
        raise ConfigError(f"--agent claude needs {python} on PATH, for the sample's tests", hint=WITHOUT)
    return found


@contextmanager
def assemble(player: Player, folder: Path, speed: Speed, environ: Mapping[str, str]) -> Iterator[Cast]:
    """Have everything ready that the workers live on, as long as the context lasts.

    Raises:
        ConfigError: it cannot be made; or Claude Code is not there or does not say its version.
    """
    # The person's own settings and tokens are for another workspace.
    clean = {name: value for name, value in environ.items() if not name.startswith(config.PREFIX)}
    program = find_program(player, clean)
    if program is None:
        worker = command.module("devclaw_py.demo.worker", "--pause", str(speed.pause_s), "--", *command.devclaw())
        yield Cast(AgentSettings(kind="scripted", program=worker), clean)
        return
    script = partial(claude_story.answer, pause_s=speed.pause_s)
    with StandIn(folder=folder / REQUESTS, script=script) as standin:
        private = furnish(standin, home=folder / HOME, workspace=folder, environ=clean, more=MORE)
        version = checkup.version(program, private)
        if version.severity is Severity.CRITICAL:
            raise ConfigError(version.message, hint=f"{version.mend}, or {WITHOUT}")
        allow = (*AgentSettings().allow, *claude_story.ALLOWED)
        agent = AgentSettings(kind="claude", claude_bin=program, env_file=ENV_FILE, allow=allow)
        yield Cast(
            agent, private, f"{version.message}; a stand-in for its model answers: no login is used, no token is spent"
        )
