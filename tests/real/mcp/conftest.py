"""``devclaw mcp`` as a process, and the SDK's own client; the workspace has two projects with real repositories."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.faces.opening import open_workspace
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.kernel.locks import hold
from devclaw_py.model.caller import HUMAN

ROOT = Path(__file__).parents[3]
SHOP, BANK = "-1001", "-1002"
LISTENING = re.compile(r"Listening at (http://\S+)")
Client = Any  # the SDK is not installed wherever types are checked
Use = Callable[[Client], Awaitable[None]]


@dataclass
class Server:
    """A server over HTTP."""

    process: subprocess.Popen[str]
    url: str
    token_file: Path

    @property
    def token(self) -> str:
        return self.token_file.read_text().strip()


@dataclass
class Office:
    """A workspace with the projects shop and bank."""

    workspace: Path
    environ: dict[str, str]
    sdk: Any

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool as a person."""
        app = open_workspace(self.workspace, dict(self.environ))
        return catalogue.call(app, tool, {"projectGroupId": SHOP, **arguments}, HUMAN)

    def lines(self, event: str) -> list[dict[str, Any]]:
        """Return the audit lines of an event."""
        log = self.workspace / "memory" / "audit.log"
        found = [json.loads(line) for line in log.read_text().splitlines()]
        return [line for line in found if line["event"] == event]

    def issues(self, project: str = "shop") -> list[str]:
        """Return the titles in a project's tracker, from its files."""
        files = sorted((self.workspace / "memory" / "issues" / project).glob("*.md"))
        return [re.findall(r"^title: (.*)$", file.read_text(), re.M)[0].strip("'\"") for file in files]

    @contextmanager
    def busy(self, group: str = SHOP) -> Iterator[None]:
        """Hold a project as another operation does."""
        (path,) = [path for path in (self.workspace / "memory" / "locks").iterdir() if self._locks(path, group)]
        with hold(path, wait_s=5, holder="a test", clock=SystemClock()):
            yield

    @staticmethod
    def _locks(path: Path, group: str) -> bool:
        return path.name.startswith("project") and group.strip("-") in path.name

    def argv(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "devclaw_py", "mcp", *words]

    @contextmanager
    def started(self, *words: str, **more: str) -> Iterator[subprocess.Popen[bytes]]:
        """Run a server as a client does, without one."""
        argv, env = self.argv(*(words or ["--all-groups"])), {**self.environ, **more}
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env) as server:
            try:
                yield server
            finally:
                server.kill()

    def with_client(self, use: Use, *words: str, mode: str = "legacy", **more: str) -> None:
        """Run a server under the SDK's client."""
        command, *args = self.argv(*(words or ["--all-groups"]))
        server = self.sdk.StdioServerParameters(command=command, args=args, env={**self.environ, **more})

        async def run() -> None:
            async with self.sdk.Client(server, mode=mode) as client:
                await use(client)

        asyncio.run(run())

    @contextmanager
    def listening(self, *words: str) -> Iterator[Server]:
        """Run a server over HTTP."""
        argv = self.argv("--http", "--port", "0", *(words or ["--all-groups"]))
        with subprocess.Popen(argv, stderr=subprocess.PIPE, env=self.environ, text=True) as process:
            assert process.stderr is not None
            try:
                found = LISTENING.search(process.stderr.readline())
                assert found, process.stderr.read()
                said = process.stderr.readline().strip()
                yield Server(process, found[1], Path(said.removeprefix("The token is in ")))
            finally:
                process.terminate()
                process.wait(40)

    @asynccontextmanager
    async def http_client(self, url: str, token: str, *, mode: str = "legacy") -> AsyncIterator[Client]:
        """Yield the SDK's client of a server over HTTP."""
        httpx = importlib.import_module("httpx2")
        over_http = importlib.import_module("mcp.client.streamable_http")
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx.AsyncClient(headers=headers, timeout=60) as http,
            self.sdk.Client(over_http.streamable_http_client(url, http_client=http), mode=mode) as client,
        ):
            yield client


def said(result: Any) -> dict[str, Any]:
    """Return a tool's answer, which stands twice in the result."""
    (content,) = result.content
    found: dict[str, Any] = json.loads(content.text)
    assert result.structured_content == found
    assert result.is_error is not found["success"]
    return found


@pytest.fixture(name="said")
def said_fixture() -> Callable[[Any], dict[str, Any]]:
    return said


@pytest.fixture
def sdk() -> Any:
    """Return the SDK; skip where it is not installed, fail where DEVCLAW_REQUIRE names it."""
    if "mcp" in os.environ.get("DEVCLAW_REQUIRE", "").split(","):
        return importlib.import_module("mcp")
    return pytest.importorskip("mcp", reason="the SDK comes with the test extra")


@pytest.fixture
def office(sdk: Any, workspace: Path, tmp_path: Path, needed: Callable[[str], None]) -> Office:
    needed("git")
    (workspace / "devclaw.toml").write_text('[agent]\nkind = "scripted"\nprogram = ["sleep", "1000"]\n')
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMUX_TMPDIR") if name in os.environ}
    environ = {**kept, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8", "DEVCLAW_WORKSPACE": str(workspace)}
    found = Office(workspace, environ, sdk)
    author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    for group, name in ((SHOP, "shop"), (BANK, "bank")):
        repo = tmp_path / name
        subprocess.run(["git", "init", "-qb", "main", str(repo)], check=True)
        subprocess.run(["git", "-C", str(repo), *author, "commit", "-q", "--allow-empty", "-m", "Begin"], check=True)
        answer = found.call("project_register", projectGroupId=group, name=name, repo=str(repo), baseBranch="main")
        assert answer["success"], answer
    return found
