"""A workspace with real git, real tmux and the scripted agent, for as long as a measurement takes."""

from __future__ import annotations

import os
import sys
import tempfile
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devclaw_py import catalogue
from devclaw_py.agents.look import LookStatus
from devclaw_py.app import App, open_app
from devclaw_py.demo.repository import make_repository
from devclaw_py.kernel import proc
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.settings import AgentSettings, GitHubSettings, LimitSettings, Settings, TerminalSettings
from devclaw_py.work.command import Git
from tests.bench.measure import wait_for

ROOT = Path(__file__).parents[2]
CHILD_S = 120.0


@dataclass(frozen=True)
class Office:
    """One workspace. ``environ`` is the bench's own without any devclaw variable."""

    folder: Path
    app: App
    environ: dict[str, str]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool as a person; it must succeed."""
        answer = catalogue.call(self.app, tool, arguments, HUMAN)
        if not answer["success"]:
            raise RuntimeError(f"{tool}: {answer['error']}")
        return answer

    def register(self, group: str, name: str) -> Path:
        """Make a repository and register it; return its folder."""
        repository = self.folder / name
        make_repository(repository)
        self.call(
            "project_register", projectGroupId=group, name=name, repo=str(repository), baseBranch="main",
            provider="local",
        )  # fmt: skip
        return repository

    def commit(self, worktree: Path, text: str) -> None:
        """Commit a file as a worker does."""
        (worktree / "work.txt").write_text(text, encoding="utf-8")
        git = Git(60)
        git.run(worktree, "add", "--all", asked="stage")
        git.run(worktree, "commit", "--quiet", "-m", f"feat: {text}", asked="commit")

    def wait_idle(self, session: str) -> None:
        """Wait until a session has no program running."""
        wait_for(lambda: self.app.sessions.look(session).status is LookStatus.IDLE, f"{session} is idle")

    def end(self) -> None:
        """Stop every session and the tmux server."""
        for name in self.app.sessions.looks():
            self.app.sessions.stop(name)
        socket = self.app.settings.terminal.socket
        proc.run(["tmux", "-L", socket, "kill-server"], timeout_s=10)
        with suppress(FileNotFoundError):
            (Path(os.environ.get("TMUX_TMPDIR", "/tmp")) / f"tmux-{os.getuid()}" / socket).unlink()


@contextmanager
def office(
    program: Sequence[str] = ("true",), *, faults: FailPoints | None = None, github: GitHubSettings | None = None
) -> Iterator[Office]:
    """Open an office in a new folder; the scripted agent runs ``program`` for each task."""
    with tempfile.TemporaryDirectory(prefix="devclaw-bench-") as name:
        folder = Path(name).resolve()
        environ = {key: value for key, value in os.environ.items() if not key.startswith("DEVCLAW_")}
        settings = Settings(
            agent=AgentSettings(kind="scripted", program=tuple(program)),
            terminal=TerminalSettings(socket=f"devclaw-bench-{uuid.uuid4().hex[:8]}"),
            limits=LimitSettings(sessions=200, attempts=1000),
            github=github or GitHubSettings(),
        )
        found = Office(folder, open_app(folder, settings, environ=environ, faults=faults), environ)
        write_settings(found)
        try:
            yield found
        finally:
            found.end()


def write_settings(found: Office) -> None:
    """Write the settings down for processes of their own."""
    settings = found.app.settings
    program = ", ".join(f"'{word}'" for word in settings.agent.program)
    text = f"[agent]\nkind = 'scripted'\nprogram = [{program}]\n[terminal]\nsocket = '{settings.terminal.socket}'\n"
    (found.folder / "devclaw.toml").write_text(text + "[limits]\nsessions = 200\n", encoding="utf-8")
    (found.folder / "memory").mkdir(exist_ok=True)


@contextmanager
def bytecode() -> Iterator[dict[str, str]]:
    """Yield the environment for processes that find the package compiled, as an installed one is."""
    with tempfile.TemporaryDirectory(prefix="devclaw-bench-pyc-") as cache:
        env = {name: value for name, value in os.environ.items() if not name.startswith(("DEVCLAW_", "PYTHON"))}
        yield {**env, "PYTHONPATH": str(ROOT), "PYTHONPYCACHEPREFIX": cache}


def python(*words: str, env: dict[str, str], cwd: Path) -> str:
    """Run Python to its end and return what it printed."""
    done = proc.run([sys.executable, *words], timeout_s=CHILD_S, cwd=cwd, env=env)
    if done.code:
        raise RuntimeError(done.err)
    return done.out
