"""``devclaw mcp``: the tools for orchestrators in Claude Code, Codex and every other client of MCP."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from pydantic import TypeAdapter, ValidationError

from devclaw_py.errors import ConfigError, InvalidArguments
from devclaw_py.faces.cli.options import Command, Workspace
from devclaw_py.faces.lasting import LastingApp
from devclaw_py.faces.opening import locate, require_person
from devclaw_py.model.caller import Caller, CallerKind
from devclaw_py.rules.arguments import GroupId

PORT = 8722
OneGroup = Annotated[
    str | None, typer.Option("--group", metavar="ID", help="For the project of this chat group alone.")
]
AllGroups = Annotated[bool, typer.Option("--all-groups", help="For every project of the workspace.")]


def add_to(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("mcp", cls=Command)(mcp)


def mcp(
    group: OneGroup = None,
    all_groups: AllGroups = False,
    http: Annotated[bool, typer.Option("--http", help="Listen for HTTP instead of serving one client.")] = False,
    host: Annotated[str, typer.Option("--host", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0 chooses a free one.")] = PORT,
    allow_remote: Annotated[
        bool, typer.Option("--allow-remote", help="Take requests that other machines send, or a proxy for them.")
    ] = False,
    workspace: Workspace = None,
) -> None:
    """Serve the tools to an orchestrator as an MCP server: on standard input and output, or over HTTP."""
    caller = Caller(kind=CallerKind.ORCHESTRATOR, group_id=group_of(group, all_groups=all_groups))
    lasting = LastingApp(locate(workspace, os.environ), os.environ)
    app = lasting.app()
    require_person(app, os.environ, "serve the tools to an orchestrator")
    try:
        from devclaw_py.faces.mcp.calls import Calls
        from devclaw_py.faces.mcp.stdio import serve as serve_client
    except ImportError as error:
        raise ConfigError(f"{error.name} is not installed", hint="pip install 'devclaw-py[mcp]'") from error
    calls = Calls(lasting.app, caller)
    if not http:
        serve_client(calls)

    from devclaw_py.faces.mcp import http as over_http
    from devclaw_py.faces.mcp.token import token_file, token_of

    over_http.check_place(host, remote=allow_remote)
    path = token_file(app.workspace, caller.group_id)
    token = token_of(path)
    place = over_http.listen(host, port)
    shown = f"[{host}]" if ":" in host else host
    print(f"Listening at http://{shown}:{place.getsockname()[1]}{over_http.PATH}", file=sys.stderr)
    print(f"The token is in {path}", file=sys.stderr, flush=True)
    over_http.serve(calls, place, token, remote=allow_remote)


def group_of(group: str | None, *, all_groups: bool) -> str | None:
    """Return the group that is meant; None means all.

    Raises:
        InvalidArguments: neither or both were said, or the id cannot be one.
    """
    if (group is None) is not all_groups:
        raise InvalidArguments("whom is it for? Say either --group ID or --all-groups", hint="devclaw project list")
    if group is None:
        return None
    try:
        return TypeAdapter(GroupId).validate_python(group)
    except ValidationError as error:
        raise InvalidArguments(f"--group: {error.errors()[0]['msg'].removeprefix('Value error, ')}") from None
