"""The server over streamable HTTP: who gets in, how much, and what several clients see."""

from __future__ import annotations

import asyncio
import http.client
import json
import stat
import subprocess
from collections.abc import Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

if TYPE_CHECKING:
    from tests.real.mcp.conftest import Office, Server

SHOP, BANK = "-1001", "-1002"
Said = Callable[[Any], dict[str, Any]]
LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPTED = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_two_clients_are_served_side_by_side(office: Office, said: Said, mode: str) -> None:
    async def use(server: Server) -> None:
        async with (
            office.http_client(server.url, server.token, mode=mode) as ann,
            office.http_client(server.url, server.token, mode=mode) as bob,
        ):
            create = {"projectGroupId": SHOP, "title": "Add a footer"}
            with office.busy():
                waiting = asyncio.create_task(ann.call_tool("task_create", create))
                shown = said(await asyncio.wait_for(bob.call_tool("queue_status", {}), 20))
                assert [project["name"] for project in shown["projects"]] == ["shop", "bank"]
                assert not waiting.done()
            assert said(await waiting)["success"]

    with office.listening() as server:
        asyncio.run(use(server))

    assert office.issues() == ["Add a footer"]


def test_only_who_shows_the_token_is_answered(office: Office) -> None:
    with office.listening() as server:
        wrong = {
            "none": {},
            "another": {"Authorization": "Bearer " + "x" * 43},
            "begun": {"Authorization": f"Bearer {server.token[:-1]}"},
            "empty": {"Authorization": "Bearer "},
            "no scheme": {"Authorization": server.token},
            "not ASCII": {"Authorization": "Bearer \xe9"},
        }
        assert {name: _post(server, LIST, **headers)[0] for name, headers in wrong.items()} == dict.fromkeys(wrong, 401)
        assert _post(server, LIST, Authorization=f"Bearer {server.token}")[0] == 200


def test_the_token_stands_in_a_private_file_and_nowhere_else(office: Office) -> None:
    with office.listening() as server:
        assert stat.S_IMODE(server.token_file.stat().st_mode) == 0o600
        assert _post(server, LIST, Authorization=f"Bearer {server.token}x")[0] == 401
        server.process.terminate()
        assert server.process.stderr is not None
        said = f"{server.process.args!r} {server.process.stderr.read()}"
        assert "ended" in said
        assert server.token not in said + (office.workspace / "memory" / "audit.log").read_text()


def test_a_groups_token_opens_no_other_server(office: Office) -> None:
    with office.listening("--group", SHOP) as shop, office.listening() as all_groups:
        assert shop.token != all_groups.token
        assert _post(all_groups, LIST, Authorization=f"Bearer {shop.token}")[0] == 401


def test_a_page_in_a_browser_is_refused(office: Office) -> None:
    with office.listening() as server:
        known = {"Authorization": f"Bearer {server.token}"}
        assert _post(server, LIST, **known, Origin="https://evil.example")[0] == 403
        assert _post(server, LIST, **known, Host="evil.example")[0] == 421


def test_a_body_that_is_too_long_is_refused_unread(office: Office) -> None:
    with office.listening() as server:
        status, _ = _post(server, {**LIST, "pad": "x" * 1_100_000}, Authorization=f"Bearer {server.token}")
        assert status == 413
        assert _post(server, LIST, Authorization=f"Bearer {server.token}")[0] == 200


def test_hostile_bodies_are_refused_and_the_server_goes_on(office: Office) -> None:
    with office.listening() as server:
        known = {"Authorization": f"Bearer {server.token}"}
        bodies = (b"\xff\xfe", b"[" * 100_000, b"{}", b"[]", b"null", b'{"jsonrpc": "2.0", "id": {}, "method": 1}')
        assert {_send(server, body, **known)[0] for body in bodies} == {400}
        assert _post(server, LIST, **known)[0] == 200


def test_a_client_goes_on_after_the_server_was_started_again(office: Office, said: Said) -> None:
    with office.listening() as first:
        port = str(urlsplit(first.url).port)

        async def use() -> None:
            async with office.http_client(first.url, first.token) as client:
                assert said(await client.call_tool("queue_status", {}))["success"]
                first.process.terminate()
                assert await asyncio.to_thread(first.process.wait, 40) == 0
                with office.listening("--all-groups", "--port", port):
                    assert said(await client.call_tool("queue_status", {}))["success"]

        asyncio.run(use())


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_the_server_listens_to_no_other_machine_unasked(office: Office, host: str) -> None:
    argv = office.argv("--all-groups", "--http", "--host", host, "--port", "0")

    done = subprocess.run(argv, env=office.environ, capture_output=True, text=True, timeout=60)

    assert done.returncode == 2
    assert "--allow-remote" in done.stderr


def test_other_machines_are_answered_where_that_is_wanted(office: Office) -> None:
    with office.listening("--all-groups", "--host", "0.0.0.0", "--allow-remote") as server:
        asked = {"Host": "office.example", "Authorization": f"Bearer {server.token}"}
        assert _post(server, LIST, **asked)[0] == 200
        assert _post(server, LIST, Host="office.example")[0] == 401


def test_a_token_that_others_may_read_is_not_used(office: Office) -> None:
    with office.listening() as server:
        server.token_file.chmod(0o644)
    argv = office.argv("--all-groups", "--http", "--port", "0")

    done = subprocess.run(argv, env=office.environ, capture_output=True, text=True, timeout=60)

    assert done.returncode == 4
    assert "may be read by others" in done.stderr


def _post(server: Server, message: dict[str, Any], **headers: str) -> tuple[int, bytes]:
    return _send(server, json.dumps(message).encode(), **headers)


def _send(server: Server, body: bytes, **headers: str) -> tuple[int, bytes]:
    place = urlsplit(server.url)
    assert place.hostname is not None
    connection = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
    try:
        connection.request("POST", place.path, body, {**ACCEPTED, **headers})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()
