"""The worker's MCP protocol: what each line is answered, whatever the line is."""

from __future__ import annotations

import json
from typing import Any

import pytest

from devclaw_py.faces import worker_protocol, worker_schema
from devclaw_py.faces.worker_protocol import (
    CLIENT_KEY,
    HANDSHAKE_VERSIONS,
    TOOLS_FILE,
    VERSION_KEY,
    Protocol,
    Wanted,
    too_long,
)
from devclaw_py.rules.worker_mcp import TOOLS, worker_mcp_config

NEWEST = "2026-07-28"


@pytest.fixture
def protocol() -> Protocol:
    return Protocol(worker_schema.listed())


def ask(protocol: Protocol, method: str, params: object = None, *, ident: object = 1) -> Any:
    """Send one request and return what the protocol answers."""
    message = {"jsonrpc": "2.0", "id": ident, "method": method, **({} if params is None else {"params": params})}
    return protocol.answer(json.dumps(message).encode())


def code_of(reply: Any) -> int:
    """Return the code of a reply that is an error."""
    return int(reply["error"]["code"])


@pytest.mark.parametrize("version", HANDSHAKE_VERSIONS)
def test_a_known_version_is_agreed_to(protocol: Protocol, version: str) -> None:
    assert ask(protocol, "initialize", {"protocolVersion": version})["result"]["protocolVersion"] == version


@pytest.mark.parametrize("version", ["2099-01-01", NEWEST, None, 7, [], "x" * 10_000])
def test_any_other_version_is_countered_with_the_newest_that_has_a_handshake(
    protocol: Protocol, version: object
) -> None:
    assert ask(protocol, "initialize", {"protocolVersion": version})["result"]["protocolVersion"] == "2025-11-25"


def test_the_server_promises_tools_and_nothing_else(protocol: Protocol) -> None:
    assert ask(protocol, "initialize", {})["result"]["capabilities"] == {"tools": {}}


def test_a_ping_is_answered_before_the_handshake(protocol: Protocol) -> None:
    assert ask(protocol, "ping", ident="p") == {"jsonrpc": "2.0", "id": "p", "result": {}}


@pytest.mark.parametrize(
    "method", ["resources/list", "prompts/get", "logging/setLevel", "", "x" * 9999, "server/discover"]
)
def test_an_unknown_method_is_said_to_be_unknown(protocol: Protocol, method: str) -> None:
    reply = ask(protocol, method)

    assert code_of(reply) == worker_protocol.METHOD_NOT_FOUND
    assert len(json.dumps(reply)) < 300


@pytest.mark.parametrize(
    "method", ["notifications/initialized", "notifications/cancelled", "notifications/no/such", "tools/call", "ping"]
)
def test_a_notification_is_never_answered_and_calls_nothing(protocol: Protocol, method: str) -> None:
    line = json.dumps({"jsonrpc": "2.0", "method": method, "params": {"name": "task_context", "requestId": 1}})

    assert protocol.answer(line.encode()) is None


@pytest.mark.parametrize("answer", [{"result": {}}, {"error": {"code": 1, "message": "x"}}])
def test_an_answer_to_nothing_is_passed_over(protocol: Protocol, answer: dict[str, Any]) -> None:
    assert protocol.answer(json.dumps({"jsonrpc": "2.0", "id": 1, **answer}).encode()) is None


@pytest.mark.parametrize(
    "line",
    [
        b"hello",
        b"{",
        b"\xff\xfe{\x00}\x00",
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": "\xe9"}',
        b"[" * 200_000,
        b'{"a":' * 100_000,
        b"9" * 10_000,
        b"\x00\x1b[2J",
    ],
)
def test_garbage_is_a_parse_error_without_an_id(protocol: Protocol, line: bytes) -> None:
    reply: Any = protocol.answer(line)

    assert (code_of(reply), reply["id"]) == (worker_protocol.PARSE_ERROR, None)


@pytest.mark.parametrize(
    ("message", "ident"),
    [
        ([], None),
        ([{"jsonrpc": "2.0", "id": 1, "method": "ping"}], None),
        ("ping", None),
        (None, None),
        (7, None),
        ({}, None),
        ({"jsonrpc": "2.0", "id": 1}, 1),
        ({"jsonrpc": "1.0", "id": 1, "method": "ping"}, 1),
        ({"id": 1, "method": "ping"}, 1),
        ({"jsonrpc": "2.0", "id": 1, "method": ["ping"]}, 1),
        ({"jsonrpc": "2.0", "id": None, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": True, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": {"a": 1}, "method": "ping"}, None),
        ({"jsonrpc": "2.0", "id": float("nan"), "method": "ping"}, None),
    ],
)
def test_what_is_no_request_is_refused_with_its_id_when_it_has_one(
    protocol: Protocol, message: object, ident: object
) -> None:
    reply: Any = protocol.answer(json.dumps(message).encode())

    assert (code_of(reply), reply["id"]) == (worker_protocol.INVALID_REQUEST, ident)


@pytest.mark.parametrize("params", [[], "x", 1, None])
def test_params_that_are_no_object_are_invalid(protocol: Protocol, params: object) -> None:
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

    assert code_of(protocol.answer(line.encode())) == worker_protocol.INVALID_PARAMS


def test_a_call_is_handed_on_with_its_arguments(protocol: Protocol) -> None:
    assert ask(protocol, "tools/call", {"name": "task_comment", "arguments": {"body": "\ud800"}}) == Wanted(
        1, "task_comment", {"body": "\ud800"}, versioned=False
    )


@pytest.mark.parametrize(
    "tool", ["task_pickup", "task_update", "queue_status", "--help", "", None, 3, ["task_context"], {}]
)
def test_no_other_tool_is_handed_on(protocol: Protocol, tool: object) -> None:
    assert code_of(ask(protocol, "tools/call", {"name": tool})) == worker_protocol.INVALID_PARAMS


@pytest.mark.parametrize("arguments", [[], "x", 1, False])
def test_arguments_that_are_no_object_are_invalid(protocol: Protocol, arguments: object) -> None:
    reply = ask(protocol, "tools/call", {"name": "task_context", "arguments": arguments})

    assert code_of(reply) == worker_protocol.INVALID_PARAMS


def test_the_newest_version_is_discovered_without_a_handshake(protocol: Protocol) -> None:
    found = ask(protocol, "server/discover", {"_meta": {VERSION_KEY: NEWEST}})["result"]

    assert (found["supportedVersions"], found["resultType"], found["cacheScope"]) == ([NEWEST], "complete", "private")


def test_a_request_of_a_later_version_is_told_which_ones_there_are(protocol: Protocol) -> None:
    reply = ask(protocol, "tools/list", {"_meta": {VERSION_KEY: "2099-01-01"}})

    assert code_of(reply) == worker_protocol.UNSUPPORTED_VERSION
    assert reply["error"]["data"] == {"supported": [NEWEST], "requested": "2099-01-01"}


def test_a_client_without_a_handshake_is_known_by_its_requests(protocol: Protocol) -> None:
    ask(protocol, "tools/list", {"_meta": {VERSION_KEY: NEWEST, CLIENT_KEY: {"name": "a client", "version": "1"}}})

    assert protocol.client == "a client 1"


@pytest.mark.parametrize("meta", [None, 1, "x", [], {}, {"progressToken": 1}])
def test_other_meta_changes_nothing(protocol: Protocol, meta: object) -> None:
    assert "resultType" not in ask(protocol, "tools/list", {"_meta": meta})["result"]


@pytest.mark.parametrize(
    ("head", "tail", "ident"),
    [
        (b'{"jsonrpc":"2.0","id":7,"method":', b"xxx", 7),
        (b'{"id": "a-1", "method":', b"xxx", "a-1"),
        (b'{"method":"tools/call",', b'"}},"jsonrpc":"2.0","id":9}\n', 9),
        (b'{"method":"tools/call",', b'"arguments":{"id":9}}}\n', None),
        (b"x", b"y", None),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000, b"", None),
    ],
)
def test_a_line_too_long_is_refused_with_the_id_at_its_ends(head: bytes, tail: bytes, ident: object) -> None:
    assert too_long(head, tail, 10)["id"] == ident


def test_the_file_of_tools_is_what_the_catalogue_says() -> None:
    # python -m devclaw_py.faces.worker_schema writes it anew.
    assert TOOLS_FILE.read_text(encoding="utf-8") == worker_schema.text()


def test_a_worker_has_four_tools(protocol: Protocol) -> None:
    listed = ask(protocol, "tools/list")["result"]["tools"]

    assert tuple(tool["name"] for tool in listed) == TOOLS
    assert set(TOOLS) == {"task_complete", "task_comment", "task_create", "task_context"}


def test_no_tool_asks_for_what_the_token_says() -> None:
    asked = {name for tool in worker_schema.listed() for name in tool["inputSchema"]["properties"]}

    assert asked & {"role", "authorRole", "projectGroupId", "pickup"} == set()
    assert {"issueId", "attempt", "result", "requestId"} <= asked


def test_a_report_must_name_issue_and_attempt() -> None:
    schema = next(tool["inputSchema"] for tool in worker_schema.listed() if tool["name"] == "task_complete")

    assert {"result", "issueId", "attempt"} <= set(schema["required"])


def test_the_schemas_have_no_references() -> None:
    assert "$ref" not in worker_schema.text()


def test_the_configuration_names_program_and_token_file_and_is_always_loaded() -> None:
    assert worker_mcp_config("/opt/bin/devclaw", "/w/memory/sessions/s/token") == {
        "mcpServers": {
            "devclaw": {
                "type": "stdio",
                "command": "/opt/bin/devclaw",
                "args": ["worker-mcp"],
                "env": {"DEVCLAW_TOKEN_FILE": "/w/memory/sessions/s/token"},
                "alwaysLoad": True,
            }
        }
    }
