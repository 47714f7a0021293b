"""The Model Context Protocol as far as a worker's server speaks it: JSON-RPC 2.0, one message a line.

Two ways of meeting are understood: the handshake (``initialize``) of the versions up to 2025-11-25, and the versions
from 2026-07-28 on, where ``server/discover`` and every request carry the version with them. No I/O here, and standard
library only: why, and what it costs, is in docs/concepts/worker-mcp.md.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devclaw_py import __version__
from devclaw_py.rules.worker_mcp import SERVER

Message = dict[str, Any]

# mcp_types/version.py of the SDK 2.3.
HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
REQUEST_VERSIONS = ("2026-07-28",)
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY = "io.modelcontextprotocol/clientInfo"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
UNSUPPORTED_VERSION = -32022
OVERLOADED = -32000

TOOLS_FILE = Path(__file__).with_name("worker_tools.json")
SHOWN_CHARS = 60
INSTRUCTIONS = (
    "Your work is given to you by devclaw as tasks. task_context shows your current task again. When you stop working "
    "on it, report exactly once with task_complete; nobody reads what is only said in this conversation."
)

# Where the clients in use put an id: first, behind the version, or last.
ID_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,18}|"[\w.:-]{1,100}")\s*,')
ID_LAST = re.compile(rb'"id"\s*:\s*(\d{1,18}|"[\w.:-]{1,100}")\s*\}\s*$')


@dataclass(frozen=True)
class Wanted:
    """A call of one of the worker's tools; ``versioned`` says that its request named its version itself."""

    id: int | str
    tool: str
    arguments: Message
    versioned: bool


class Protocol:
    """Answers messages. ``tools`` is what ``tools/list`` answers."""

    def __init__(self, tools: list[Message]) -> None:
        self._tools = tools
        self._names = [tool["name"] for tool in tools]
        self.listed = False
        self.client = ""

    def answer(self, line: bytes) -> Message | Wanted | None:
        """Return the reply to one line, or the call that it asks for; None when nothing is to be said."""
        try:
            message = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            return failed(None, PARSE_ERROR, "the line is no JSON in UTF-8")
        if not isinstance(message, dict):
            return failed(None, INVALID_REQUEST, "one JSON-RPC message a line is understood, and no batch of them")
        if "method" not in message and ("result" in message or "error" in message):
            return None  # an answer; nothing was asked
        ident, method = message.get("id"), message.get("method")
        if "id" in message and (isinstance(ident, bool) or not isinstance(ident, int | str)):
            return failed(None, INVALID_REQUEST, "an id is a whole number or a string")
        if not isinstance(method, str) or message.get("jsonrpc") != "2.0":
            return failed(ident, INVALID_REQUEST, 'a request has "jsonrpc": "2.0" and a method')
        if ident is None:
            # A notification. A cancelled call goes on: a report is kept as soon as it is read, nobody can take it back.
            return None
        return self._request(ident, method, message.get("params", {}))

    def _request(self, ident: int | str, method: str, params: object) -> Message | Wanted:
        if not isinstance(params, dict):
            return failed(ident, INVALID_PARAMS, "params is an object")
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        version = meta.get(VERSION_KEY)
        if version is not None and version not in REQUEST_VERSIONS:
            asked = {"supported": list(REQUEST_VERSIONS), "requested": str(version)[:SHOWN_CHARS]}
            return failed(ident, UNSUPPORTED_VERSION, "unsupported protocol version", asked)
        self.client = _named(meta.get(CLIENT_KEY)) or self.client
        if method == "tools/call":
            return self._wanted(ident, params, versioned=version is not None)
        result = self._result(method, params, versioned=version is not None)
        if result is None:
            return failed(ident, METHOD_NOT_FOUND, f"there is no method {method[:SHOWN_CHARS]!r} here")
        return succeeded(ident, result, versioned=version is not None)

    def _result(self, method: str, params: Message, *, versioned: bool) -> Message | None:
        if method == "ping":
            return {}
        if method == "tools/list":
            self.listed = True
            return {"tools": self._tools, **_cacheable(versioned)}
        if method == "initialize":
            return self._initialized(params)
        if method == "server/discover" and versioned:
            return {"supportedVersions": list(REQUEST_VERSIONS), **_introduction(), **_cacheable(versioned)}
        return None

    def _initialized(self, params: Message) -> Message:
        self.client = _named(params.get("clientInfo"))
        asked = params.get("protocolVersion")
        version = asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]
        return {"protocolVersion": version, "serverInfo": _identity(), **_introduction()}

    def _wanted(self, ident: int | str, params: Message, *, versioned: bool) -> Message | Wanted:
        name, arguments = params.get("name"), params.get("arguments")
        if not isinstance(name, str) or name not in self._names:
            known = ", ".join(self._names)
            return failed(
                ident, INVALID_PARAMS, f"there is no tool {str(name)[:SHOWN_CHARS]!r} here; there are {known}"
            )
        if arguments is not None and not isinstance(arguments, dict):
            return failed(ident, INVALID_PARAMS, "arguments is an object")
        return Wanted(ident, name, arguments or {}, versioned)


def too_long(head: bytes, tail: bytes, limit: int) -> Message:
    """Return the reply to a line that was not read whole; with its id when its first or last bytes show one."""
    found = ID_FIRST.match(head) or ID_LAST.search(tail)
    return failed(json.loads(found[1]) if found else None, INVALID_REQUEST, f"a line has at most {limit} bytes")


def called(wanted: Wanted, text: str, *, ok: bool) -> Message:
    """Return the reply to a tool's call: one text, the tool's answer as JSON."""
    result = {"content": [{"type": "text", "text": text}], "isError": not ok}
    return succeeded(wanted.id, result, versioned=wanted.versioned)


def succeeded(ident: int | str, result: Message, *, versioned: bool) -> Message:
    """Return a reply that answers a request."""
    kind = {"resultType": "complete"} if versioned else {}
    return {"jsonrpc": "2.0", "id": ident, "result": {**result, **kind}}


def failed(ident: int | str | None, code: int, message: str, about: Message | None = None) -> Message:
    """Return a reply that says what was wrong with a request."""
    error = {"code": code, "message": message, **({} if about is None else {"data": about})}
    return {"jsonrpc": "2.0", "id": ident, "error": error}


def _named(client: object) -> str:
    """Return what a client calls itself, with its version."""
    if not isinstance(client, dict):
        return ""
    return f"{client.get('name')} {client.get('version')}"[:SHOWN_CHARS]


def _identity() -> Message:
    return {"name": SERVER, "version": __version__}


def _introduction() -> Message:
    return {"capabilities": {"tools": {}}, "instructions": INSTRUCTIONS}


def _cacheable(versioned: bool) -> Message:
    return {"ttlMs": 0, "cacheScope": "private"} if versioned else {}
