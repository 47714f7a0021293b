"""The server on standard input and output, held to the protocol by the SDK's own client."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from devclaw_py import catalogue

if TYPE_CHECKING:
    from tests.real.conftest import Tmux
    from tests.real.mcp.conftest import Client, Office

SHOP, BANK = "-1001", "-1002"
Said = Callable[[Any], dict[str, Any]]
WaitFor = Callable[..., None]
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}

HOSTILE = b'\xff\xfe{"jsonrpc"\n\n[]\n{"id": 5}\n"x"\n' + b"[" * 100_000 + b"\n" + b"x" * 5_000_000 + b"\n"


@pytest.mark.parametrize("mode", ["legacy", "auto", "2026-07-28"])
def test_a_client_of_each_protocol_version_creates_an_issue(office: Office, said: Said, mode: str) -> None:
    async def use(client: Client) -> None:
        assert [tool.name for tool in (await client.list_tools()).tools] == list(catalogue.TOOLS)
        answer = said(await client.call_tool("task_create", {"projectGroupId": SHOP, "title": "Add a footer"}))
        assert answer["issueId"] == 1

    office.with_client(use, mode=mode)

    assert office.issues() == ["Add a footer"]
    (line,) = office.lines("task_create")
    assert (line["caller"], line["ok"]) == ("orchestrator", True)


def test_a_refusal_reaches_the_model_with_its_code_its_words_and_its_hint(office: Office, said: Said) -> None:
    async def use(client: Client) -> None:
        result = await client.call_tool("task_pickup", {"projectGroupId": SHOP, "role": "dev", "issueId": 7, "x": 1})
        error = said(result)["error"]
        assert result.is_error is True
        assert error["code"] == "invalid_arguments"
        assert error["message"] == "task_pickup: x: there is no such parameter"
        assert error["hint"].startswith("parameters: projectGroupId")
        assert said(await client.call_tool("no_such_tool", {}))["error"]["code"] == "invalid_arguments"

    office.with_client(use)


def test_a_bound_server_cannot_act_on_another_group(office: Office, said: Said) -> None:
    office.call("task_create", projectGroupId=BANK, title="Count the money")

    async def use(client: Client) -> None:
        for tool, more in (("task_create", {"title": "Mine"}), ("queue_status", {}), ("session_health", {})):
            answer = said(await client.call_tool(tool, {"projectGroupId": BANK, **more}))
            assert answer["error"]["code"] == "not_allowed"
        shown = said(await client.call_tool("queue_status", {}))
        assert [project["name"] for project in shown["projects"]] == ["shop"]

    office.with_client(use, "--group", SHOP)

    assert office.issues("bank") == ["Count the money"]


def test_a_bound_server_tells_nothing_of_other_groups(office: Office) -> None:
    office.call("task_create", projectGroupId=BANK, title="Count the money")
    told: list[str] = []

    async def use(client: Client) -> None:
        told.append((await client.list_resources()).model_dump_json())
        told.append((await client.read_resource("devclaw://projects")).model_dump_json())
        told.append((await client.call_tool("task_pickup", {"role": "dev"})).model_dump_json())
        for kind in ("queue", "audit"):
            with pytest.raises(office.sdk.MCPError, match="belongs to group") as refused:
                await client.read_resource(f"devclaw://project/{BANK}/{kind}")
            assert refused.value.error.data["code"] == "not_allowed"

    office.with_client(use, "--group", "-1003")

    assert "bank" not in "".join(told)
    assert "shop" not in "".join(told)


def test_resources_show_projects_queue_and_audit(office: Office) -> None:
    office.call("task_create", title="Add a footer", label="To Do")

    async def use(client: Client) -> None:
        async def read(uri: str) -> dict[str, Any]:
            (content,) = (await client.read_resource(uri)).contents
            found: dict[str, Any] = json.loads(content.text)
            return found

        projects = (await read("devclaw://projects"))["projects"]
        assert [project["groupId"] for project in projects] == [SHOP, BANK]
        queue = (await read(projects[0]["resources"]["queue"]))["projects"][0]["queue"]
        assert [issue["title"] for issue in queue["toDo"]] == ["Add a footer"]
        events = [line["event"] for line in (await read(projects[0]["resources"]["audit"]))["lines"]]
        assert events[:2] == ["queue_status", "task_create"]
        assert {line["groupId"] for line in (await read(projects[1]["resources"]["audit"]))["lines"]} == {BANK}

    office.with_client(use)


def test_the_prompt_is_the_workspaces_own_text(office: Office) -> None:
    (office.workspace / "AGENTS.md").write_text("# Our rules\n")

    async def use(client: Client) -> None:
        (message,) = (await client.get_prompt("orchestrator")).messages
        assert message.content.text.startswith("# Our rules\n")
        assert f"group {SHOP} alone" in message.content.text
        (message,) = (await client.get_prompt("heartbeat")).messages
        assert message.content.text.startswith("# Heartbeat")

    office.with_client(use, "--group", SHOP)


def test_a_call_that_waits_does_not_keep_another(office: Office, said: Said) -> None:
    async def use(client: Client) -> None:
        create = {"projectGroupId": SHOP, "title": "Add a footer"}
        with office.busy():
            waiting = asyncio.create_task(client.call_tool("task_create", create))
            await asyncio.wait_for(client.call_tool("queue_status", {}), 20)
            assert not waiting.done()
        assert said(await waiting)["success"]

    office.with_client(use)


def test_a_cancelled_call_is_done_once_and_stands_in_the_log(office: Office, wait_for: WaitFor) -> None:
    async def use(client: Client) -> None:
        create = {"projectGroupId": SHOP, "title": "Add a footer"}
        with office.busy():
            with pytest.raises(office.sdk.MCPError):
                await client.call_tool("task_create", create, read_timeout_seconds=2)
            assert office.issues() == []
        await asyncio.to_thread(wait_for, lambda: office.lines("task_create"), "the call ends")

    office.with_client(use)

    assert office.issues() == ["Add a footer"]
    assert [line["ok"] for line in office.lines("task_create")] == [True]


@pytest.mark.parametrize("end", ["input", "signal"])
def test_what_was_begun_is_finished_after_the_clients_end(office: Office, wait_for: WaitFor, end: str) -> None:
    with office.started() as server:
        assert server.stdin is not None
        with office.busy():
            _send(server, HELLO, _call(2, "task_create", projectGroupId=SHOP, title="Add a footer"))
            _answer(server, 1)
            wait_for(lambda: _threads(server.pid) > 2, "the call is begun")
            _send(server, _call(3, "queue_status"))
            _answer(server, 3)
            if end == "input":
                server.stdin.close()
            else:
                server.send_signal(signal.SIGTERM)
            assert server.poll() is None
        assert server.wait(40) == 0
        assert office.issues() == ["Add a footer"]


def test_an_idle_server_ends_at_once_when_it_is_told_to(office: Office) -> None:
    with office.started() as server:
        _send(server, HELLO)
        _answer(server, 1)

        server.send_signal(signal.SIGTERM)

        assert server.wait(20) == 0


def test_hostile_lines_leave_the_server_and_its_output_whole(office: Office) -> None:
    with office.started() as server:
        assert server.stdin is not None
        _send(server, HELLO)
        _answer(server, 1)
        server.stdin.write(
            b'\xff\xfe{"jsonrpc"\n\n[]\n{"id": 5}\n"x"\n' + b"[" * 100_000 + b"\n" + b"x" * 5_000_000 + b"\n"
        )
        half = b'{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"task_create","arguments":' + (
            b'{"projectGroupId":"-1001","title":"half \\ud83d a crab"}}}\n'
        )
        server.stdin.write(half)
        _send(server, _call(7, "task_create", projectGroupId={"$ne": 1}, title=["x"]))
        _send(server, _call(8, "task_create", projectGroupId=SHOP, title="x", description="y" * 3_000_000))
        _send(server, {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": 4, "arguments": "no"}})

        answers = {found["id"]: found for found in (_line(server) for _ in range(4))}

        assert answers[6]["result"]["structuredContent"]["issue"]["title"] == "half \ufffd a crab"
        assert answers[7]["result"]["structuredContent"]["error"]["code"] == "invalid_arguments"
        assert answers[8]["result"]["structuredContent"]["error"]["code"] == "invalid_arguments"
        assert answers[9]["error"]["code"] == -32602
        server.stdin.close()
        assert server.stdout is not None
        for line in server.stdout.read().splitlines():
            json.loads(line)
        assert server.wait(40) == 0


def test_a_pickup_whose_server_is_killed_is_settled_by_the_next_call(office: Office, tmux: Tmux, said: Said) -> None:
    settings = office.workspace / "devclaw.toml"
    settings.write_text(settings.read_text() + f'[terminal]\nsocket = "{tmux.socket}"\n')
    office.call("task_create", title="Add a footer", label="To Do")
    with office.started(DEVCLAW_FAILPOINT="pickup.6.take:kill") as server:
        _send(server, HELLO)
        _answer(server, 1)
        _send(server, _call(2, "task_pickup", projectGroupId=SHOP, role="dev"))
        assert server.wait(60) == -signal.SIGKILL

    async def use(client: Client) -> None:
        answer = said(await client.call_tool("task_pickup", {"projectGroupId": SHOP, "role": "dev"}))
        assert len(answer["settled"]) == 1
        assert answer["labelTransition"] == "To Do → Doing"

    office.with_client(use)
    assert [line.get("recovered", False) for line in office.lines("task_pickup")] == [True, False]


@pytest.mark.parametrize(
    ("words", "code"), [([], 2), (["--group", "1", "--all-groups"], 2), (["--group", " "], 2)], ids=str
)
def test_a_server_that_does_not_know_whom_it_is_for_is_not_started(office: Office, words: list[str], code: int) -> None:
    done = subprocess.run(office.argv(*words), env=office.environ, capture_output=True, stdin=subprocess.DEVNULL)

    assert (done.returncode, done.stdout) == (code, b"")


def test_a_worker_cannot_make_itself_an_orchestrator(office: Office) -> None:
    environ = {**office.environ, "DEVCLAW_TOKEN": "guessed"}

    done = subprocess.run(office.argv("--all-groups"), env=environ, capture_output=True, stdin=subprocess.DEVNULL)

    assert (done.returncode, done.stdout) == (2, b"")


def _call(ident: int, tool: str, **arguments: Any) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": ident,
        "method": "tools/call",
        "params": {"name": tool, "arguments": arguments},
    }


def _send(server: subprocess.Popen[bytes], *messages: dict[str, Any]) -> None:
    assert server.stdin is not None
    for message in messages:
        server.stdin.write(json.dumps(message).encode() + b"\n")
        if message is HELLO:
            server.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    server.stdin.flush()


def _line(server: subprocess.Popen[bytes]) -> dict[str, Any]:
    assert server.stdout is not None
    found: dict[str, Any] = json.loads(server.stdout.readline())
    return found


def _answer(server: subprocess.Popen[bytes], ident: int) -> dict[str, Any]:
    while (found := _line(server)).get("id") != ident:
        continue
    return found


def _threads(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/task"))
