"""``devclaw mcp`` on standard input and output, as a client sees it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psutil

from tests.bench.measure import Row, Scale, ms_of
from tests.bench.office import Office, bytecode, office, python

MB = 1_000_000
GROUP = "-1001"
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
CALL = {"name": "queue_status", "arguments": {"projectGroupId": GROUP}}


def rows(scale: Scale) -> list[Row]:
    """Measure one server with many calls, and many starts."""
    called = Row("mcp_call", "`queue_status` of one project through `devclaw mcp`, request to answer")
    ready = Row("mcp_ready", "`devclaw mcp`: start of the process to the answer to `tools/list`")
    memory = Row("mcp_memory", "MB of memory of `devclaw mcp` after these calls")
    beside = called.compared.setdefault("the same call in the process", [])
    bare = ready.compared.setdefault("`python -c 'import mcp.server.stdio'`", [])
    with office() as found, bytecode() as env:
        found.register(GROUP, "shop")
        with _server(found, env):
            pass  # compiles
        for _ in range(scale.processes):
            started = time.perf_counter()
            with _server(found, env):
                ready.values.append((time.perf_counter() - started) * 1000)
            bare.append(ms_of(lambda: python("-c", "import mcp.server.stdio", env=env, cwd=found.folder)))
        with _server(found, env) as server:
            _ask(server, "tools/call", CALL)
            for _ in range(scale.repeats):
                called.values.append(ms_of(lambda: _ask(server, "tools/call", CALL)))
                beside.append(ms_of(lambda: found.call("queue_status", projectGroupId=GROUP)))
            memory.values.append(psutil.Process(server.pid).memory_full_info().uss / MB)
    return [called, ready, memory]


@contextmanager
def _server(found: Office, env: dict[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    argv = [sys.executable, "-m", "devclaw_py", "--workspace", str(found.folder), "mcp", "--all-groups"]
    pipe, nothing = subprocess.PIPE, subprocess.DEVNULL
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=nothing, env=env) as server:
        try:
            _ask(server, "initialize", HELLO)
            _tell(server, {"jsonrpc": "2.0", "method": "notifications/initialized"})
            _ask(server, "tools/list", {})
            yield server
        finally:
            server.kill()


def _ask(server: subprocess.Popen[bytes], method: str, params: dict[str, Any]) -> None:
    _tell(server, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert server.stdout is not None
    answer = json.loads(server.stdout.readline())
    if "error" in answer or answer["result"].get("isError"):
        raise RuntimeError(f"{method}: {answer}")


def _tell(server: subprocess.Popen[bytes], message: dict[str, Any]) -> None:
    assert server.stdin is not None
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()
