"""One desk with the real Claude Code in real tmux, its API the stand-in on loopback."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from devclaw_py import catalogue
from devclaw_py.agents.base import Workplace
from devclaw_py.agents.claude.agent import ClaudeAgent
from devclaw_py.agents.sessions import Sessions
from devclaw_py.agents.standin.directives import follow_directives
from devclaw_py.agents.standin.script import Answer, Conversation, Fault
from devclaw_py.agents.standin.server import StandIn
from devclaw_py.app import App
from devclaw_py.faces.opening import open_workspace
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.kernel.config import socket_name
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.pipeline import Role, SessionAction, Tier
from devclaw_py.model.settings import AgentSettings, LimitSettings, Settings, TimeoutSettings

if TYPE_CHECKING:
    from tests.real.conftest import Tmux

NAME = DEV = "shop-dev-medior"
GROUP = "-1001"


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


@dataclass
class Compactions:
    """A script that answers compactions with a summary or with ``fault``, and follows directives else."""

    summary: str = "The footer was discussed."
    fault: Fault | None = None

    def __call__(self, asked: Conversation) -> Answer:
        if self.are_asked_for(asked.messages):
            return Answer(text=f"<summary>{self.summary}</summary>", fault=self.fault)
        return follow_directives(asked)

    def are_asked_for(self, messages: Sequence[Any]) -> bool:
        return "CRITICAL: Respond with TEXT ONLY" in json.dumps(messages[-1:])


@pytest.fixture
def compactions(standin: StandIn) -> Compactions:
    """Have the stand-in answer compactions."""
    found = Compactions()
    standin.script = found
    return found


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

    def make(
        *, receipt_s: float = 20, ready_s: float = 60, compact_s: float = 60, sessions: int = 12, **settings: Any
    ) -> Desk:
        chosen = agent_settings(**settings)
        timeouts = TimeoutSettings(receipt_s=receipt_s, ready_s=ready_s, compact_s=compact_s)
        limits = LimitSettings(sessions=sessions)
        opened = Sessions(
            tmux.terminal(workspace),
            ClaudeAgent(chosen, workspace),
            workspace,
            Settings(agent=chosen, timeouts=timeouts, limits=limits),
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
            folder=opened.folder(NAME),
        )
        made.append(Desk(tmux, opened, place, standin, new_home, wait_for))
        return made[-1]

    yield make
    for desk in made:
        desk.sessions.stop(NAME)


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    return make_desk()


@dataclass
class Shop:
    """A registered project whose workers are Claude Code."""

    folder: Path
    environ: dict[str, str]
    standin: StandIn
    wait_for: Callable[..., None]

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def repo(self) -> Path:
        return self.folder / "shop"

    @property
    def session(self) -> Path:
        return self.workspace / "memory" / "sessions" / DEV

    def git(self, *words: str) -> str:
        argv = ["git", "-C", str(self.repo), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=True, env=self.environ).stdout.strip()

    def app(self) -> App:
        """Open the workspace as a new process would."""
        return open_workspace(self.workspace, dict(self.environ))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return catalogue.call(self.app(), tool, {"projectGroupId": GROUP, **arguments}, HUMAN)

    def done(self, tool: str, **arguments: Any) -> dict[str, Any]:
        answer = self.call(tool, **arguments)
        assert answer["success"], answer
        return answer

    def create(self, title: str, body: str = "") -> int:
        return int(self.done("task_create", title=title, description=body, label="To Do")["issue"]["id"])

    def labels(self, issue: int) -> str:
        return (self.workspace / "memory" / "issues" / "shop" / f"{issue}.md").read_text().split("---\n")[1]

    def tmux(self, *words: str) -> str:
        argv = ["tmux", "-L", socket_name(self.workspace), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False).stdout

    def tree(self, pid: int) -> str:
        """Return the command lines below a process."""
        found = psutil.Process(pid).children(recursive=True)
        return "\n".join(
            " ".join(child.info["cmdline"] or []) for child in psutil.process_iter(["cmdline"]) if child in found
        )

    def idle(self) -> bool:
        return self.app().sessions.look(DEV).status.value == "idle"


@pytest.fixture
def shop(
    tmp_path: Path,
    needed: Callable[[str], None],
    claude_bin: str,
    new_home: Path,
    standin: StandIn,
    wait_for: Callable[..., None],
) -> Iterator[Shop]:
    needed("tmux")
    needed("git")
    environ = {"PATH": os.environ["PATH"], "HOME": str(new_home), "LC_ALL": "C.UTF-8"}
    shop = Shop(tmp_path, environ, standin, wait_for)
    shop.workspace.mkdir()
    secrets = shop.workspace / "claude.env"
    secrets.touch(mode=0o600)
    secrets.write_text(f"ANTHROPIC_BASE_URL={standin.url}\nANTHROPIC_AUTH_TOKEN={standin.token}\n")
    (shop.workspace / "devclaw.toml").write_text(
        f"[agent]\nclaude_bin = {json.dumps(claude_bin)}\nenv_file = 'claude.env'\n"
        # What is handed out is the test's to say.
        "[heartbeat]\ndispatch = false\n"
    )
    shop.repo.mkdir()
    shop.git("init", "-qb", "main")
    shop.git("config", "user.name", "Ann")
    shop.git("config", "user.email", "ann@example.org")
    shop.git("commit", "-qm", "Begin", "--allow-empty")
    shop.done("project_register", name="shop", repo=str(shop.repo), baseBranch="main")
    yield shop
    shop.tmux("kill-server")
    (Path("/tmp") / f"tmux-{os.getuid()}" / socket_name(shop.workspace)).unlink(missing_ok=True)
