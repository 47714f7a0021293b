"""What a worker's MCP server is called, how an agent is told of it, and which tools it has.

Standard library only: the server lives on it beside every worker.
"""

from __future__ import annotations

from typing import Any

SERVER = "devclaw"
COMMAND = "worker-mcp"
TOKEN_FILE = "DEVCLAW_TOKEN_FILE"

READY = "mcp-ready"
"""The file in the session's folder that stands there once the client has the tools; the server's start removes it."""

TOOLS = ("task_context", "task_complete", "task_comment", "task_create")


def worker_mcp_config(program: str, token_file: str) -> dict[str, Any]:
    """Return the MCP configuration of a worker's session, as ``--mcp-config`` takes it.

    ``program`` is the absolute path of ``devclaw``, ``token_file`` that of the session's token; the token itself
    stands nowhere in it. With ``alwaysLoad`` the tools are in the first request instead of behind a search.
    """
    server = {
        "type": "stdio",
        "command": program,
        "args": [COMMAND],
        "env": {TOKEN_FILE: token_file},
        "alwaysLoad": True,
    }
    return {"mcpServers": {SERVER: server}}
