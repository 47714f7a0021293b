"""No secret is seen from outside over a whole run: of the caller's environment, of ``env_file``, of the session."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

import devclaw_py

if TYPE_CHECKING:
    from tests.real.claude.agent.conftest import Shop

PACKAGE = str(Path(devclaw_py.__file__).parent.parent)
CALLERS = {
    name: f"canary-{name.lower()}-5f1c"
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN", "AWS_SECRET")
}
OF_FILE = "canary-env-file-5f1c"
ASK = {
    "questions": [
        {
            "question": "Which colour?",
            "header": "Colour",
            "multiSelect": False,
            "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
        }
    ]
}
# Each tmux and git of the run leaves its arguments here: they live too short to be seen among the processes.
SHIM = """#!/bin/sh
printf '%s\\n' "$0 $*" >> '{log}'
exec '{program}' "$@"
"""


@dataclass
class Witness:
    """Looks at every process of the machine, again and again, until told to stop."""

    seen: set[str] = field(default_factory=set)
    _over: threading.Event = field(default_factory=threading.Event)

    def look(self) -> None:
        for process in psutil.process_iter(["cmdline"]):
            self.seen.add(" ".join(process.info["cmdline"] or []))

    def watch(self) -> None:
        while not self._over.wait(0.1):
            self.look()

    def __enter__(self) -> Witness:
        self._thread = threading.Thread(target=self.watch)
        self._thread.start()
        return self

    def __exit__(self, *reason: object) -> None:
        self._over.set()
        self._thread.join()


@dataclass
class Run:
    """One project's run, each call in a process of its own whose environment is full of secrets."""

    shop: Shop
    started: Path
    said: list[str] = field(default_factory=list)

    def devclaw(self, *words: str, codes: tuple[int, ...] = (0,)) -> None:
        argv = [sys.executable, "-m", "devclaw_py", *words]
        env = {**self.shop.environ, "DEVCLAW_WORKSPACE": str(self.shop.workspace), "PYTHONPATH": PACKAGE}
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, env=env, cwd=self.shop.repo, timeout=120
        )
        self.said += [done.stdout, done.stderr]
        assert done.returncode in codes, (done.stdout, done.stderr)

    def call(self, tool: str, **arguments: Any) -> None:
        self.devclaw("call", tool, json.dumps({"projectGroupId": "-1001", **arguments}))

    def question(self) -> str:
        """Wait for the worker's question, and return its id."""
        folder = self.shop.session / "questions"
        self.shop.wait_for(lambda: list(folder.glob("*.json")), "the worker asks", within_s=60)
        return next(folder.glob("*.json")).stem

    def outside(self) -> Iterator[tuple[str, str]]:
        """Yield what anybody on this machine may see, without the files: where, and the text."""
        yield "output", "\n".join(self.said)
        yield "programs started", self.started.read_text()
        asked = ["list-panes", "-a", "-F", "#{pane_start_command} #{pane_title} #{session_name}"]
        for words in (asked, ["show-environment", "-g"], ["show-options", "-g"], ["list-buffers"]):
            yield f"tmux {words[0]}", self.shop.tmux(*words)
        yield "tmux environment", self.shop.tmux("show-environment", "-t", self.shop.session.name)
        yield "screen", self.shop.tmux("capture-pane", "-p", "-S", "-", "-t", f"={self.shop.session.name}:")
        yield "git", self.shop.git("cat-file", "--batch-all-objects", "--batch")

    def pane(self) -> psutil.Process:
        return psutil.Process(int(self.shop.tmux("list-panes", "-a", "-F", "#{pane_pid}").split()[0]))

    def holding(self, secret: str) -> set[str]:
        """Return the files that hold the secret, below the folder in which everything of the run stands."""
        files = (path for path in self.shop.folder.rglob("*") if path.is_file() and not path.is_symlink())
        return {str(path.relative_to(self.shop.folder)) for path in files if secret.encode() in path.read_bytes()}


@pytest.fixture
def run(shop: Shop) -> Run:
    """The project, with ``env_file`` and environment full of secrets, and tmux and git that tell their arguments."""
    with (shop.workspace / "claude.env").open("a") as file:
        file.write(f"MIRROR_PASSWORD={OF_FILE}\n")
    shims, log = shop.folder / "shims", shop.folder / "started.log"
    shims.mkdir()
    for name in ("tmux", "git"):
        path = shims / name
        path.write_text(SHIM.format(log=log, program=shutil.which(name)))
        path.chmod(0o755)
    shop.environ |= {"PATH": f"{shims}{os.pathsep}{shop.environ['PATH']}", **CALLERS}
    return Run(shop, log)


def work(run: Run) -> None:
    """Take a task through a question, a message in between and the report."""
    report = {"result": "done", "summary": "It stands", "issueId": 1, "attempt": 1}
    body = f"[[standin: tool AskUserQuestion {json.dumps(ASK)}]]\n[[standin: say thanks]]"
    run.call("project_update", permissionMode="default")
    run.call("task_create", title="Add a footer", description=body, label="To Do")
    run.call("task_pickup", issueId=1, role="dev", model="medior")
    question = run.question()
    run.devclaw("heartbeat", "--once")
    run.call("session_answer", questionId=question, answer="Red")
    run.shop.wait_for(run.shop.idle, "the turn has ended", within_s=60)
    directive = f"[[standin: tool mcp__devclaw__task_complete {json.dumps(report)}]]"
    run.call("session_send", role="dev", text=f"report now {directive}")
    run.shop.wait_for(lambda: "To Test" in run.shop.labels(1), "the report was applied", within_s=60)
    run.shop.wait_for(run.shop.idle, "the worker is idle", within_s=60)
    run.devclaw("heartbeat", "--once")
    run.devclaw("status")
    run.devclaw("audit")
    run.devclaw("doctor", codes=(0, 4))  # what it may find here is not the point


def test_no_secret_is_seen_in_a_whole_run(run: Run) -> None:
    with Witness() as witness:
        work(run)

    shop = run.shop
    own = (shop.session / "token").read_text().strip()
    secrets = {*CALLERS.values(), OF_FILE, shop.standin.token, own}
    texts = [*run.outside(), *(("argument list", line) for line in witness.seen)]
    assert [(where, text[:300]) for where, text in texts if any(secret in text for secret in secrets)] == []
    assert any(str(shop.session) in line for line in witness.seen), "Claude Code was not seen among the processes"
    assert "tmux" in run.started.read_text()

    # What the pane's process was started with; what env_file has comes to it by its private settings.
    begun = {name: value for name, value in run.pane().environ().items() if value in secrets}
    assert begun == {}

    # Bodies are kept without the API's token, and say so.
    assert [turn.number for turn in shop.standin.requests if turn.masked] == []
    assert set().union(*(run.holding(secret) for secret in CALLERS.values())) == set()
    session = shop.session.relative_to(shop.folder)
    private = {"workspace/claude.env", f"{session}/settings.json"}
    assert run.holding(OF_FILE) == run.holding(shop.standin.token) == private
    assert run.holding(own) == {f"{session}/token"}
    modes = {(shop.folder / path).stat().st_mode & 0o777 for path in [*private, f"{session}/token"]}
    assert modes == {0o600}


def test_the_witness_sees_an_argument_of_a_process_that_lives_for_a_moment(shop: Shop) -> None:
    with Witness() as witness:
        process = subprocess.Popen(["sleep", "77.123"])
        shop.wait_for(lambda: any("77.123" in line for line in witness.seen.copy()), "it is seen")
        process.kill()
        process.wait()
