"""One desk with the real Claude Code in real tmux, its API the stand-in on loopback."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devclaw_py.agents.base import Workplace
from devclaw_py.agents.claude.agent import ClaudeAgent
from devclaw_py.agents.sessions import Sessions
from devclaw_py.agents.standin.server import StandIn
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.pipeline import Role, SessionAction, Tier
from devclaw_py.model.settings import AgentSettings, Settings, TimeoutSettings

if TYPE_CHECKING:
    from tests.real.conftest import Tmux

NAME = "shop-dev-medior"


@dataclass
class Desk:
    """A session, and witnesses that do not ask devclaw."""

    tmux: Tmux
    sessions: Sessions
    place: Workplace
    standin: StandIn
    home: Path
    wait_for: Callable[..., None]

    @property
    def folder(self) -> Path:
        return self.place.folder

    def ensure(self) -> SessionAction:
        return self.sessions.ensure(self.place, keep=frozenset())

    def give(self, offer: str, message: str = "[[standin: say done]]") -> None:
        self.sessions.offer(NAME, offer, message)
        self.sessions.wait_accepted(NAME, offer)

    def finish(self, offer: str, message: str = "[[standin: say done]]") -> None:
        self.give(offer, message)
        self.wait_idle()

    def line(self, offer: str) -> str:
        return self.sessions.agent.line(offer, self.folder / "tasks" / f"{offer}.md")

    def status(self) -> str:
        return self.sessions.look(NAME).status.value

    def wait_idle(self) -> None:
        self.wait_for(lambda: self.status() == "idle", f"{NAME} is idle", within_s=40)

    def ended(self, offer: str) -> str | None:
        found = self.sessions.ended(NAME, offer)
        return found.words if found is not None else None

    def presence(self) -> dict[str, Any]:
        path = self.home / ".claude" / "sessions" / f"{self.tmux.pane_pid(NAME)}.json"
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    def conversation(self) -> str:
        return str(json.loads((self.folder / "conversation.json").read_text())["id"])

    def prompts(self) -> list[str]:
        """Return the prompts of the turns, as the API was sent them, each once."""
        return list(dict.fromkeys(turn.conversation.turn.prompt for turn in self.standin.turns))

    def screen(self) -> str:
        return self.tmux.run("capture-pane", "-p", "-t", f"={NAME}:0.0")

    def box(self) -> str:
        """Return the visible rows below the last rule but one."""
        return self.screen().rpartition("─\n")[0].rpartition("─\n")[2]

    def keys(self, *keys: str) -> None:
        self.tmux.run("send-keys", "-t", f"={NAME}:0.0", *keys)


@pytest.fixture
def new_home(tmp_path: Path) -> Path:
    """A HOME whose owner has been through the first questions, and nothing else."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True}))
    return home


@pytest.fixture
def agent_settings(claude_bin: str, standin: StandIn, tmp_path: Path) -> Callable[..., AgentSettings]:
    """Return a function that makes the agent's settings; the API's address and token come by a file."""
    path = tmp_path / "claude.env"
    path.touch(mode=0o600)
    path.write_text(f"ANTHROPIC_BASE_URL={standin.url}\nANTHROPIC_AUTH_TOKEN={standin.token}\n")

    def make(**more: Any) -> AgentSettings:
        return AgentSettings(kind="claude", claude_bin=claude_bin, env_file=str(path), **more)

    return make


@pytest.fixture
def make_desk(
    tmux: Tmux,
    workspace: Path,
    tmp_path: Path,
    new_home: Path,
    standin: StandIn,
    agent_settings: Callable[..., AgentSettings],
    wait_for: Callable[..., None],
) -> Iterator[Callable[..., Desk]]:
    """Return a function that makes the desk with settings of the agent."""
    worktree = tmp_path / "work tree"
    worktree.mkdir()
    environ = {"PATH": os.environ["PATH"], "HOME": str(new_home), "LC_ALL": "C.UTF-8"}
    made: list[Desk] = []

    def make(*, receipt_s: float = 20, ready_s: float = 60, **settings: Any) -> Desk:
        chosen = agent_settings(**settings)
        timeouts = TimeoutSettings(receipt_s=receipt_s, ready_s=ready_s)
        sessions = Sessions(
            tmux.terminal(workspace),
            ClaudeAgent(chosen, workspace),
            workspace,
            Settings(agent=chosen, timeouts=timeouts),
            SystemClock(),
            environ=environ,
        )
        place = Workplace(
            session=NAME,
            workspace=workspace,
            group_id="-1001",
            project="shop",
            role=Role.DEV,
            tier=Tier.MEDIOR,
            model="anthropic/claude-sonnet-4-5",
            worktree=worktree,
            folder=sessions.folder(NAME),
        )
        made.append(Desk(tmux, sessions, place, standin, new_home, wait_for))
        return made[-1]

    yield make
    for desk in made:
        desk.sessions.stop(NAME)


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    return make_desk()
