"""The worker's MCP server as a process, held to the protocol by the SDK's own client; what it does is real."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import pytest

from devclaw_py import catalogue
from devclaw_py.faces.opening import open_workspace
from devclaw_py.model.caller import HUMAN
from devclaw_py.rules.worker_mcp import READY, TOOLS, worker_mcp_config

if TYPE_CHECKING:
    from tests.real.conftest import Tmux

ROOT = Path(__file__).parents[2]
GROUP = "-1001"
SESSION = "shop-dev-medior"
WaitFor = Callable[..., None]
Client = Any  # the SDK is not installed wherever types are checked


@dataclass
class Shop:
    """A workspace in which dev holds #1 in a real session; its program only waits."""

    workspace: Path
    environ: dict[str, str]

    @property
    def folder(self) -> Path:
        return self.workspace / "memory" / "sessions" / SESSION

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool as a person."""
        app = open_workspace(self.workspace, dict(self.environ))
        return catalogue.call(app, tool, {"projectGroupId": GROUP, **arguments}, HUMAN)

    def state(self) -> str:
        """Return the state label in the tracker's file."""
        (file,) = (self.workspace / "memory" / "issues").glob("*/1.md")
        labels = [line.strip("- \n\"'") for line in file.read_text().splitlines() if line.startswith(("- ", "  - "))]
        return " ".join(labels) or file.read_text()

    def lines(self, event: str) -> list[dict[str, Any]]:
        """Return the audit lines of an event."""
        log = (self.workspace / "memory" / "audit.log").read_text().splitlines()
        return [line for line in map(json.loads, log) if line["event"] == event]

    def worker_environ(self, **more: str) -> dict[str, str]:
        return {**self.environ, "DEVCLAW_TOKEN_FILE": str(self.folder / "token"), **more}

    def start(self, **more: str) -> subprocess.Popen[bytes]:
        """Start the server as a client does, without one."""
        return subprocess.Popen(
            [sys.executable, "-m", "devclaw_py", "worker-mcp"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.worker_environ(**more),
        )

    def with_client(self, use: Callable[[Client], Awaitable[None]], *, mode: str = "legacy") -> None:
        """Run the server under the SDK's client."""
        mcp = sdk()
        server = mcp.StdioServerParameters(
            command=sys.executable, args=["-m", "devclaw_py", "worker-mcp"], env=self.worker_environ()
        )

        async def run() -> None:
            async with mcp.Client(server, mode=mode) as client:
                await use(client)

        asyncio.run(run())


def sdk() -> Any:
    """Return the SDK; skip where the test extra is not installed, fail where DEVCLAW_REQUIRE names it."""
    if "mcp" in os.environ.get("DEVCLAW_REQUIRE", "").split(","):
        return importlib.import_module("mcp")
    return pytest.importorskip("mcp", reason="the SDK comes with the test extra")


def said(result: Any) -> dict[str, Any]:
    """Return the JSON object in a tool's result, which holds one text and nothing else."""
    (content,) = result.content
    assert content.type == "text"
    found: dict[str, Any] = json.loads(content.text)
    assert result.is_error is not found["success"]
    return found


@pytest.fixture
def shop(tmux: Tmux, workspace: Path, tmp_path: Path, needed: Callable[[str], None]) -> Shop:
    needed("git")
    repo = tmp_path / "shop"
    author = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"]
    subprocess.run(["git", "init", "-qb", "main", str(repo)], check=True)
    subprocess.run(["git", "-C", str(repo), *author, "commit", "-q", "--allow-empty", "-m", "Begin"], check=True)
    (workspace / "devclaw.toml").write_text(
        f'[agent]\nkind = "scripted"\nprogram = ["sleep", "1000"]\n[terminal]\nsocket = "{tmux.socket}"\n'
    )
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "TMUX_TMPDIR") if name in os.environ}
    found = Shop(workspace, {**kept, "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"})
    for tool, arguments in (
        ("project_register", {"name": "shop", "repo": str(repo), "baseBranch": "main"}),
        ("task_create", {"title": "Add a footer", "label": "To Do"}),
        ("task_pickup", {"issueId": 1, "role": "dev", "model": "medior"}),
    ):
        answer = found.call(tool, **arguments)
        assert answer["success"], answer
    return found


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_the_sdks_client_meets_the_server_in_each_of_its_ways(shop: Shop, mode: str) -> None:
    async def use(client: Client) -> None:
        tools = (await client.list_tools()).tools
        assert tuple(tool.name for tool in tools) == TOOLS
        assert said(await client.call_tool("task_context", {}))["issueId"] == 1

    shop.with_client(use, mode=mode)
    assert (shop.folder / READY).exists()


def test_a_worker_reads_comments_creates_and_reports(shop: Shop) -> None:
    async def use(client: Client) -> None:
        context = said(await client.call_tool("task_context", {}))
        where = {"issueId": context["issueId"], "attempt": context["attempt"]}
        assert "Add a footer" in context["task"]
        assert said(await client.call_tool("task_comment", {"issueId": 1, "body": "Halb fertig: ¼ 🦀"}))["success"]
        assert said(await client.call_tool("task_create", {"title": "Clean up the header"}))["issueId"] == 2
        report = {**where, "result": "done", "summary": "It stands"}
        assert said(await client.call_tool("task_complete", report))["labelTransition"] == "Doing → To Test"
        assert said(await client.call_tool("task_complete", report))["repeated"] is True
        assert said(await client.call_tool("task_context", {}))["error"]["code"] == "not_active"

    shop.with_client(use)
    assert "To Test" in shop.state()
    callers = {line["caller"] for name in TOOLS for line in shop.lines(name)[-1:]}
    assert callers == {f"worker:{SESSION}"}


def test_two_calls_at_once_are_both_done(shop: Shop) -> None:
    async def use(client: Client) -> None:
        both = await asyncio.gather(*(client.call_tool("task_create", {"title": f"Title {n}"}) for n in range(2)))
        assert {said(result)["issueId"] for result in both} == {2, 3}

    shop.with_client(use)


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("task_create", {"title": "x", "pickup": True}, "not_allowed"),
        ("task_comment", {"issueId": 2, "body": "x"}, "not_allowed"),
        ("task_context", {"projectGroupId": "-2"}, "not_allowed"),
        ("task_complete", {"result": "done", "role": "qa", "issueId": 1, "attempt": 1}, "not_allowed"),
        ("task_complete", {"result": "done", "issueId": 1, "attempt": 7}, "not_active"),
        ("task_complete", {"result": "pass", "issueId": 1, "attempt": 1}, "invalid_arguments"),
        ("task_complete", {"result": "done", "issueId": 1, "attempt": 1, "summary": "x" * 70_000}, "invalid_arguments"),
        ("task_create", {}, "invalid_arguments"),
    ],
)
def test_what_the_token_does_not_allow_is_refused_and_changes_nothing(
    shop: Shop, tool: str, arguments: dict[str, Any], code: str
) -> None:
    async def use(client: Client) -> None:
        assert said(await client.call_tool(tool, arguments))["error"]["code"] == code

    shop.with_client(use)
    assert "Doing" in shop.state()


def test_a_revoked_token_opens_nothing(shop: Shop) -> None:
    async def use(client: Client) -> None:
        assert said(await client.call_tool("task_context", {}))["success"]
        (shop.folder / "token").unlink()
        for tool, arguments in (
            ("task_context", {}),
            ("task_complete", {"result": "done", "summary": "x", "issueId": 1, "attempt": 1}),
            ("task_create", {"title": "x"}),
        ):
            assert said(await client.call_tool(tool, arguments))["error"]["code"] == "not_allowed"

    shop.with_client(use)
    assert "Doing" in shop.state()


def test_the_server_of_another_folder_cannot_use_the_workspace(shop: Shop, tmp_path: Path) -> None:
    forged = tmp_path / "w" / "memory" / "sessions" / SESSION
    forged.mkdir(parents=True)
    (forged / "token").write_text("guessed")
    server = shop.start(DEVCLAW_TOKEN_FILE=str(forged / "token"), DEVCLAW_WORKSPACE=str(shop.workspace))

    reply = ask(server, 1, "tools/call", name="task_context", arguments={})

    assert json.loads(reply["result"]["content"][0]["text"])["error"]["code"] == "not_allowed"
    end(server)


def ask(server: subprocess.Popen[bytes], ident: int, method: str, **params: Any) -> dict[str, Any]:
    """Send one request and read one line."""
    send(server, ident, method, **params)
    assert server.stdout is not None
    found: dict[str, Any] = json.loads(server.stdout.readline())
    return found


def send(server: subprocess.Popen[bytes], ident: int, method: str, **params: Any) -> None:
    assert server.stdin is not None
    message = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()


def end(server: subprocess.Popen[bytes]) -> None:
    """Close the server's input and see it end by itself."""
    server.communicate(timeout=60)
    assert server.returncode == 0


REPORT = {"result": "done", "summary": "It stands", "issueId": 1, "attempt": 1}


@pytest.mark.parametrize("after_s", [0.0, 0.1, 0.3, 0.6, 1.0])
def test_a_report_whose_server_was_killed_counts_once_or_not_at_all(
    shop: Shop, after_s: float, wait_for: WaitFor
) -> None:
    server = shop.start()
    ask(server, 1, "ping")
    me = psutil.Process(server.pid)

    send(server, 2, "tools/call", name="task_complete", arguments=REPORT)
    time.sleep(after_s)  # where the kill falls is chance; the claim holds wherever
    children = me.children()
    server.send_signal(signal.SIGKILL)
    server.communicate()
    wait_for(lambda: not any(running(child) for child in children), "the call that was under way ended")

    assert ("To Test" in shop.state()) is (reports(shop) == 1)
    again = shop.call("task_complete", role="dev", **REPORT)
    assert again["success"]
    assert "To Test" in shop.state()
    assert reports(shop) == 1 + bool(again.get("repeated"))


def reports(shop: Shop) -> int:
    return sum(1 for line in shop.lines("task_complete") if line["ok"])


def running(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_call_killed_behind_the_report_is_journalled_and_the_server_lives_on(shop: Shop, wait_for: WaitFor) -> None:
    server = shop.start(DEVCLAW_FAILPOINT="complete.5.take:hang")
    send(server, 1, "tools/call", name="task_complete", arguments=REPORT)
    wait_for(lambda: psutil.Process(server.pid).children(), "the call runs")
    (child,) = psutil.Process(server.pid).children()
    wait_for(lambda: "Doing" not in shop.state(), "the report is being carried out")

    child.kill()

    assert server.stdout is not None
    broken = json.loads(json.loads(server.stdout.readline())["result"]["content"][0]["text"])
    assert broken["error"]["code"] == "internal"
    assert ask(server, 2, "ping")["result"] == {}
    end(server)
    assert shop.call("task_complete", role="dev", **REPORT)["repeated"] is True
    assert "To Test" in shop.state()


def test_a_ping_is_answered_while_a_call_hangs(shop: Shop, wait_for: WaitFor) -> None:
    server = shop.start(DEVCLAW_FAILPOINT="complete.1.report:hang")
    send(server, 1, "tools/call", name="task_complete", arguments=REPORT)
    wait_for(lambda: psutil.Process(server.pid).children(), "the call runs")
    (child,) = psutil.Process(server.pid).children()

    assert ask(server, 2, "ping")["id"] == 2

    child.kill()
    end(server)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_clients_signal_ends_an_idle_server_without_a_word(shop: Shop, number: signal.Signals) -> None:
    server = shop.start()
    ask(server, 1, "ping")

    server.send_signal(number)

    assert server.communicate(timeout=60)[0] == b""
    assert server.returncode == -number


def test_hostile_lines_do_not_end_the_server(shop: Shop) -> None:
    server = shop.start()
    assert server.stdin is not None
    assert server.stdout is not None
    lines = [b"\xff\x00\x1b[2J", b"[" * 100_000, b"[]", b"x" * 9_000_000, b'{"jsonrpc":"2.0","method":"exit"}', b"null"]
    for line in lines:
        server.stdin.write(line + b"\n")
    server.stdin.flush()

    replies = [json.loads(server.stdout.readline()) for _ in range(5)]

    assert [reply["id"] for reply in replies] == [None] * 5
    assert ask(server, 1, "ping")["result"] == {}
    end(server)


def test_the_configuration_starts_the_server(shop: Shop, tmp_path: Path) -> None:
    program = tmp_path / "devclaw"
    program.write_text(f"#!{sys.executable}\nfrom devclaw_py.faces.cli import main\nmain()\n")
    program.chmod(0o755)
    config = worker_mcp_config(str(program), str(shop.folder / "token"))["mcpServers"]["devclaw"]
    server = subprocess.Popen(
        [config["command"], *config["args"]],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**shop.environ, **config["env"]},
    )

    assert ask(server, 1, "tools/list")["result"]["tools"]
    end(server)


def test_its_memory_and_its_start_are_measured(shop: Shop, capsys: pytest.CaptureFixture[str]) -> None:
    """Printed, not asserted: a machine may be busy. Figures of a quiet one are in docs/concepts/worker-mcp.md."""
    starts = []
    for _ in range(5):
        begun = time.perf_counter()
        server = shop.start()
        ask(server, 1, "initialize", protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t"})
        ask(server, 2, "tools/list")
        starts.append((time.perf_counter() - begun) * 1000)
        memory = psutil.Process(server.pid).memory_info().rss / 1e6
        end(server)

    with capsys.disabled():
        print(f"\nworker-mcp: {memory:.1f} MB resident; ready in {', '.join(f'{ms:.0f}' for ms in sorted(starts))} ms")
