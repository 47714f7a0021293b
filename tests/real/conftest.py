"""Real programs for real tests, and the rule what to do where one is missing."""

from __future__ import annotations

import os
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devclaw_py.agents.base import Workplace
from devclaw_py.agents.scripted import ScriptedAgent
from devclaw_py.agents.sessions import Sessions
from devclaw_py.kernel import proc
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.pipeline import Role, SessionAction, Tier
from devclaw_py.model.settings import AgentSettings, Settings, TerminalSettings, TimeoutSettings
from devclaw_py.terminals.tmux import TmuxTerminal

CLEAN = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8"}


@dataclass(frozen=True)
class Tmux:
    """A tmux server with a socket of its own, asked here without devclaw: the independent witness."""

    socket: str

    @property
    def socket_file(self) -> Path:
        folder = Path(os.environ.get("TMUX_TMPDIR", "/tmp")) / f"tmux-{os.getuid()}"
        return folder / self.socket

    def run(self, *words: str, check: bool = True) -> str:
        done = proc.run(["tmux", "-L", self.socket, "-f", os.devnull, *words], timeout_s=10, env=CLEAN)
        assert not check or done.code == 0, done.err
        return done.out.rstrip("\n")

    def terminal(self, workspace: Path, *, tmux_s: float = 10, environ: dict[str, str] | None = None) -> TmuxTerminal:
        settings = TerminalSettings(socket=self.socket)
        return TmuxTerminal(workspace, settings, TimeoutSettings(tmux_s=tmux_s), environ=environ)

    def pane_pid(self, name: str) -> int:
        return int(self.run("display-message", "-p", "-t", f"={name}:0.0", "#{pane_pid}"))

    def end(self) -> None:
        self.run("kill-server", check=False)
        self.socket_file.unlink(missing_ok=True)


def needed(program: str) -> None:
    """Skip where ``program`` is missing, fail where DEVCLAW_REQUIRE names it."""
    if shutil.which(program) is not None:
        return
    if program in os.environ.get("DEVCLAW_REQUIRE", "").split(","):
        pytest.fail(f"{program} is missing and DEVCLAW_REQUIRE names it")
    pytest.skip(f"{program} is not installed")


def wait_for(condition: Callable[[], object], what: str, *, within_s: float = 20) -> None:
    """Wait until ``condition`` holds; fail with ``what`` when it does not in time."""
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.02)


@pytest.fixture(name="wait_for")
def wait_for_fixture() -> Callable[..., None]:
    return wait_for


@pytest.fixture(name="needed")
def needed_fixture() -> Callable[[str], None]:
    return needed


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    needed("tmux")
    server = Tmux(f"devclaw-test-{uuid.uuid4().hex[:8]}")
    yield server
    server.end()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def python() -> str:
    return sys.executable


@dataclass
class Office:
    """One desk with a scripted agent in real tmux; its programs write what they saw into the worktree."""

    tmux: Tmux
    sessions: Sessions
    place: Workplace

    @property
    def name(self) -> str:
        return self.place.session

    @property
    def folder(self) -> Path:
        return self.place.folder

    def ensure(self) -> SessionAction:
        return self.sessions.ensure(self.place, keep=frozenset())

    def give(self, offer: str, message: str) -> None:
        self.sessions.offer(self.name, offer, message)
        self.sessions.wait_accepted(self.name, offer)

    def ended(self, offer: str) -> str | None:
        found = self.sessions.ended(self.name, offer)
        return found.words if found is not None else None

    def run(self, offer: str, message: str) -> str:
        """Give a task and wait for its program to end; return how it did."""
        self.ensure()
        self.give(offer, message)
        wait_for(lambda: self.ended(offer), f"the program of {offer} ended")
        return self.ended(offer) or ""

    def status(self) -> str:
        return self.sessions.look(self.name).status.value

    def screen(self) -> str:
        return self.sessions.terminal.screen(self.name, lines=3000)


@pytest.fixture
def office(tmux: Tmux, workspace: Path, tmp_path: Path) -> Iterator[Office]:
    """The program of each task is the message itself, run by sh in the worktree."""
    worktree = tmp_path / "work tree"
    worktree.mkdir()
    agent = ScriptedAgent(AgentSettings(kind="scripted", program=("sh",)))
    sessions = Sessions(tmux.terminal(workspace), agent, workspace, Settings(), SystemClock())
    place = Workplace(
        session="shop-dev-medior",
        workspace=workspace,
        group_id="-1001",
        project="shop",
        role=Role.DEV,
        tier=Tier.MEDIOR,
        model="m",
        worktree=worktree,
        folder=sessions.folder("shop-dev-medior"),
    )
    yield Office(tmux, sessions, place)
    sessions.stop(place.session)
