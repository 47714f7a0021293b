"""A workspace of real parts - files, git, local tracker, tmux - and calls to it that can be killed."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from devclaw_py import catalogue
from devclaw_py.app import App
from devclaw_py.faces.opening import open_workspace
from devclaw_py.kernel.config import socket_name
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.journal import Attempt, Intent
from devclaw_py.model.task import Task
from devclaw_py.operations.recovery import settle
from devclaw_py.operations.wishes import carry_out
from devclaw_py.state.flush import flush_lines

GROUP = "-1001"
SETTINGS = """
[agent]
kind = "scripted"
program = [{python}, {worker}]

[timeouts]
receipt_s = 10
"""


def slug_of(group: str) -> str:
    """Return the name of a group's project and repository."""
    return "shop" if group == GROUP else f"shop{group}"


@dataclass
class Yard:
    """One project on real parts; what stands in it is read from files, git and tmux, not through devclaw."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.folder / "workspace"

    @property
    def repo(self) -> Path:
        return self.folder / slug_of(GROUP)

    def git(self, *words: str, group: str = GROUP) -> str:
        argv = ["git", "-C", str(self.folder / slug_of(group)), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.strip()

    def make_repo(self, group: str) -> Path:
        """Make the repository of a group's project, with one commit."""
        repo = self.folder / slug_of(group)
        repo.mkdir()
        self.git("init", "-qb", "main", group=group)
        self.git("config", "user.name", "Ann", group=group)
        self.git("config", "user.email", "ann@example.org", group=group)
        (repo / "README.md").write_text("A shop.\n")
        self.git("add", "-A", group=group)
        self.git("commit", "-qm", "Begin", group=group)
        return repo

    def add_project(self, group: str) -> None:
        """Register a group's project; its repository is made if there is none."""
        repo = self.folder / slug_of(group)
        if not repo.exists():
            self.make_repo(group)
        self.call("project_register", projectGroupId=group, name=slug_of(group), repo=str(repo), baseBranch="main")

    def app(self) -> App:
        return open_workspace(self.workspace, dict(self.environ))

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool in this process; it must succeed."""
        answer = catalogue.call(self.app(), tool, {"projectGroupId": GROUP, **arguments}, HUMAN)
        assert answer["success"], answer
        return answer

    def start(self, tool: str, *, failpoint: str | None = None, **arguments: Any) -> subprocess.Popen[str]:
        """Call a tool in a process of its own, stopped at a fail point if one is named."""
        given = arguments if tool == "devclaw_setup" else {"projectGroupId": GROUP, **arguments}
        return self.run("call", tool, json.dumps(given), failpoint=failpoint)

    def run(self, *words: str, failpoint: str | None = None) -> subprocess.Popen[str]:
        """Run a devclaw command in a process of its own, stopped at a fail point if one is named."""
        environ = {**self.environ, "DEVCLAW_WORKSPACE": str(self.workspace)}
        if failpoint is not None:
            environ["DEVCLAW_FAILPOINT"] = failpoint
        argv = [sys.executable, "-m", "devclaw_py", *words]
        return subprocess.Popen(
            argv, env=environ, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def recover(self, *groups: str) -> None:
        """Do what ``devclaw recover`` does."""
        app = self.app()
        for group_id in (*(groups or (GROUP,)), ""):
            with app.store.hold(f"project:{group_id}", wait_s=30, holder="recover"):
                settle(app, group_id, force=True)
            carry_out(app, group_id)
        flush_lines(app.store)

    def idle(self) -> None:
        """Wait until no worker's program runs."""
        app, deadline = self.app(), time.monotonic() + 20
        while any(look.status.value == "working" for look in app.sessions.looks().values()):
            assert time.monotonic() < deadline, "a worker's program does not end"
            time.sleep(0.02)

    def kill_server(self) -> None:
        """End the tmux server and everything in it."""
        socket = socket_name(self.workspace)
        subprocess.run(["tmux", "-L", socket, "kill-server"], capture_output=True, check=False)
        (Path("/tmp") / f"tmux-{os.getuid()}" / socket).unlink(missing_ok=True)

    def seats(self, group: str = GROUP) -> dict[str, bool]:
        """Return which seat holds a task, from the registry file."""
        entry = json.loads((self.workspace / "memory" / "projects.json").read_text())["projects"][group]
        return {role: entry[role]["active"] for role in ("dev", "qa")}

    def tasks(self, group: str = GROUP) -> list[Task]:
        """Read the issue files as an editor would."""
        found = []
        for path in sorted(self.workspace.glob(f"memory/issues/{slug_of(group)}/*.md")):
            head = yaml.safe_load(path.read_text().split("---\n")[1])
            labels, closed = tuple(head["labels"]), head["state"] == "closed"
            found.append(Task(number=head["number"], title=head["title"], labels=labels, closed=closed))
        return found

    def rows(self, table: str) -> list[str]:
        """Read a table of the journal without devclaw."""
        journal = self.workspace / "memory" / "journal.db"
        if not journal.exists():
            return []
        with sqlite3.connect(journal) as connection:
            return [row[0] for row in connection.execute(f"SELECT body FROM {table}")]

    def intents(self) -> list[Intent]:
        return [Intent.model_validate_json(row) for row in self.rows("intent")]

    def attempts(self) -> list[Attempt]:
        return [Attempt.model_validate_json(row) for row in self.rows("attempt")]

    def lines(self) -> list[dict[str, Any]]:
        log = self.workspace / "memory" / "audit.log"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def witnessed(self, group: str | None = None) -> list[tuple[str, str]]:
        """Return what the workers' own log says of which task they ran, for all projects or one."""
        log = self.workspace / "witness.log"
        rows = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        ours = ("",) if group is None else (f"{slug_of(group)}-dev", f"{slug_of(group)}-qa")
        return [(session, offer) for session, offer in rows if session.startswith(ours)]

    def unreachable(self, group: str = GROUP) -> list[str]:
        """Return commits that no ref and no worktree leads to."""
        told = self.git("fsck", "--no-reflogs", "--unreachable", group=group)
        return [line for line in told.splitlines() if " commit " in line]


@pytest.fixture
def make_yard(tmp_path: Path, needed: Callable[[str], None]) -> Iterator[Callable[[], Yard]]:
    needed("tmux")
    needed("git")
    yards: list[Yard] = []

    def make() -> Yard:
        yard = Yard(tmp_path / f"yard-{len(yards)}")
        yards.append(yard)
        yard.workspace.mkdir(parents=True)
        package = Path(__file__).parents[3]
        yard.environ = {**_base(), "HOME": str(yard.folder), "PYTHONPATH": str(package)}
        worker = json.dumps(str(Path(__file__).with_name("worker.py")))
        settings = SETTINGS.format(python=json.dumps(sys.executable), worker=worker)
        (yard.workspace / "devclaw.toml").write_text(settings)
        yard.make_repo(GROUP)
        return yard

    yield make
    for yard in yards:
        yard.kill_server()


def _base() -> dict[str, str]:
    return {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}


@pytest.fixture
def yard(make_yard: Callable[[], Yard]) -> Yard:
    """A registered project."""
    made = make_yard()
    made.add_project(GROUP)
    return made
