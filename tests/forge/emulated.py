"""An emulated GitHub for a whole run of tests, and repositories on it."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from dataclasses import dataclass, field
from http.client import HTTPException
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.kernel.clock import Clock, SystemClock
from devclaw_py.model.project import Forge
from devclaw_py.trackers.forge.budget import Pace
from devclaw_py.trackers.github.client import Client
from devclaw_py.trackers.github.requests import GitHubRequests
from devclaw_py.trackers.github.tracker import GitHubTracker
from tests.forge.gitside import GitProxy

OWNER = "acme"
SEED = """
tokens:
  tok_bot: {login: bot, scopes: [repo, user, admin:repo_hook]}
  tok_human: {login: human, scopes: [repo, user]}
github:
  users: [{login: bot, name: Bot}, {login: human, name: Human}]
  orgs: [{login: acme, name: Acme, members: [{login: bot, role: admin}, {login: human, role: member}]}]
"""
UNHURRIED = Pace(per_minute=100_000, per_hour=1_000_000)


def command() -> str:
    """Return the emulator's command; skip where there is none, fail where DEVCLAW_REQUIRE names emulate."""
    found = os.environ.get("DEVCLAW_EMULATE_BIN")
    if found:
        return found
    if "emulate" in os.environ.get("DEVCLAW_REQUIRE", "").split(","):
        pytest.fail("DEVCLAW_EMULATE_BIN is not set and DEVCLAW_REQUIRE names emulate; .ci/emulate installs it")
    pytest.skip("DEVCLAW_EMULATE_BIN names no emulated GitHub; .ci/emulate installs one")


class Emulator:
    """The process, and the proxy that is dialled in its place."""

    def __init__(self, folder: Path) -> None:
        program = command()
        seed = folder / "seed.yaml"
        seed.write_text(SEED)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port: int = free.getsockname()[1]
        self.proxy = GitProxy(port)
        words = ["start", "-s", "github", "-p", str(port), "--base-url", self.proxy.url, "--seed", str(seed)]
        with (folder / "log").open("w") as log:
            self.process = subprocess.Popen([program, *words], stdout=log, stderr=log, cwd=folder)
        self._wait()
        self._numbers = count(1)

    def stop(self) -> None:
        self.proxy.stop()
        self.process.terminate()
        self.process.wait(timeout=20)

    def repository(self) -> Forge:
        """Make an empty repository with one commit on main."""
        name = f"shop-{next(self._numbers)}"
        made = self.proxy.upstream("POST", f"/orgs/{OWNER}/repos", {"name": name, "auto_init": True}, token="tok_bot")
        assert made.status == 201, made
        return Forge(host="127.0.0.1", api=self.proxy.url, path=f"{OWNER}/{name}", id=str(made.body["id"]))

    def _wait(self) -> None:
        deadline = time.monotonic() + 30
        while True:
            try:
                if self.proxy.upstream("GET", "/user").status == 200:
                    return
            except (OSError, HTTPException):
                pass
            assert self.process.poll() is None, "the emulated GitHub ended"
            assert time.monotonic() < deadline, "the emulated GitHub did not answer"
            time.sleep(0.02)


@dataclass
class GitHub:
    """One repository of the emulated GitHub, devclaw's hands for it, and a human's."""

    proxy: GitProxy
    forge: Forge
    folder: Path
    clock: Clock = field(default_factory=SystemClock)
    token: str = "tok_bot"

    def client(self, *, pace: Pace = UNHURRIED, timeout_s: float = 15, **options: Any) -> Client:
        options.setdefault("token", lambda: self.token)
        return Client(self.forge.api, folder=self.folder, clock=self.clock, timeout_s=timeout_s, pace=pace, **options)

    def tracker(self, client: Client | None = None) -> GitHubTracker:
        """Return a tracker as a new process has it."""
        return GitHubTracker(client or self.client(), self.forge, name="shop")

    def requests(self, client: Client | None = None) -> GitHubRequests:
        return GitHubRequests(client or self.client(), self.forge)

    def human(self, method: str, below: str, body: object = None) -> Any:
        """Let a human do something below the repository."""
        return self.proxy.human(method, f"/repos/{self.forge.path}{below}", body)

    def labels(self, number: int) -> set[str]:
        """Return an issue's labels as anybody sees them."""
        return {label["name"] for label in self.human("GET", f"/issues/{number}")["labels"]}

    def commit(self, branch: str) -> str:
        """Push one more commit to ``branch``, made from main where there is none, and return it."""
        refs = f"/repos/{self.forge.path}/git"
        found = self.proxy.upstream("GET", f"{refs}/ref/heads/{branch}", token="tok_bot")
        if found.status != 200:
            tip = self.proxy.upstream("GET", f"{refs}/ref/heads/main", token="tok_bot").body["object"]["sha"]
            made = {"ref": f"refs/heads/{branch}", "sha": tip}
            assert self.proxy.upstream("POST", f"{refs}/refs", made, token="tok_bot").status == 201
        else:
            tip = found.body["object"]["sha"]
        tree = self.proxy.upstream("GET", f"{refs}/commits/{tip}", token="tok_bot").body["tree"]["sha"]
        body = {"message": "One more", "tree": tree, "parents": [tip]}
        commit = self.proxy.upstream("POST", f"{refs}/commits", body, token="tok_bot")
        assert commit.status == 201, commit
        sha: str = commit.body["sha"]
        moved = self.proxy.upstream("PATCH", f"{refs}/refs/heads/{branch}", {"sha": sha}, token="tok_bot")
        assert moved.status == 200, moved
        return sha

    def close(self, number: int) -> None:
        """Let a human close a pull request."""
        self.human("PATCH", f"/pulls/{number}", {"state": "closed"})
