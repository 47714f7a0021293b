"""The protocol's side: what the SDK's server asks for, answered from the catalogue and `Calls`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from devclaw_py import __version__, catalogue
from devclaw_py.errors import DevClawError
from devclaw_py.faces.cli.words import told
from devclaw_py.faces.mcp.calls import KINDS, PROJECT, PROMPTS, Calls
from devclaw_py.faces.mcp.hands import Hands, TooMany
from devclaw_py.faces.schemas import parameters
from devclaw_py.operations.ending import failure
from devclaw_py.tools.base import Group, Tool

OVERLOADED = -32000
JSON = "application/json"
NAME = "devclaw"
INSTRUCTIONS = (
    "devclaw runs a team of coding workers: issues move through Planning, To Do, Doing, To Test, Testing and Done, and "
    "these tools are the only way to move them. You orchestrate and never write the code yourself. Look at "
    "queue_status before you decide; the prompt `orchestrator` is the whole role. A refused call has changed "
    "nothing; its hint says what to do. `pending: true` is kept and finished by itself: do not call again."
)
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "success": {"type": "boolean"},
        "announcement": {"type": "string", "description": "What the group should read."},
        "error": {
            "type": "object",
            "properties": {
                "code": {"type": "string"},
                "message": {"type": "string"},
                "retryable": {"type": "boolean"},
                "hint": {"type": "string"},
            },
        },
    },
    "required": ["success"],
}
Context = ServerRequestContext[Any, Any]
Found = TypeVar("Found")


def tools(group_id: str | None) -> list[types.Tool]:
    """Return every tool as a client lists it; a caller who is bound to no group has to name one where it is needed."""
    return [_listed(tool, named=group_id is None and tool.group is Group.NEEDED) for tool in catalogue.ALL]


def _listed(tool: Tool, *, named: bool) -> types.Tool:
    schema = parameters(tool)
    if named:
        schema["required"] = ["projectGroupId", *schema["required"]]
    return types.Tool(
        name=tool.name,
        title=tool.name.replace("_", " ").capitalize(),
        description=tool.description,
        input_schema=schema,
        output_schema=OUTPUT,
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.writes, destructive_hint=tool.destructive, idempotent_hint=tool.idempotent
        ),
    )


class Face:
    """The handlers of one server."""

    def __init__(self, calls: Calls, hands: Hands) -> None:
        self._calls, self._hands = calls, hands
        self._tools = tools(calls.group_id)

    def server(self) -> Server[Any]:
        """Return the SDK's server."""
        return Server(
            NAME,
            version=__version__,
            title="DevClaw",
            instructions=f"{INSTRUCTIONS} {self._calls.bound()}",
            on_list_tools=self._list_tools,
            on_call_tool=self._call,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read,
            on_list_prompts=self._list_prompts,
            on_get_prompt=self._prompt,
        )

    async def _list_tools(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=self._tools)

    async def _call(self, _: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        answer, text = await self._run(partial(self._calls.answer, params.name, params.arguments or {}))
        content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(content=content, structured_content=answer, is_error=not answer["success"])

    async def _list_resources(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        found = await self._run(self._calls.resources)
        return types.ListResourcesResult(
            resources=[
                types.Resource(uri=one.uri, name=one.name, description=one.description, mime_type=JSON) for one in found
            ]
        )

    async def _list_templates(
        self, _: Context, __: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(
            resource_templates=[
                types.ResourceTemplate(
                    uri_template=f"{PROJECT}{{groupId}}/{kind}", name=kind, description=about, mime_type=JSON
                )
                for kind, about in KINDS.items()
            ]
        )

    async def _read(self, _: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(params.uri)
        text = await self._run(partial(self._calls.read, uri))
        return types.ReadResourceResult(contents=[types.TextResourceContents(uri=uri, mime_type=JSON, text=text)])

    async def _list_prompts(self, _: Context, __: types.PaginatedRequestParams | None) -> types.ListPromptsResult:
        return types.ListPromptsResult(
            prompts=[types.Prompt(name=name, description=about) for name, (_file, about) in PROMPTS.items()]
        )

    async def _prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        text = await self._run(partial(self._calls.prompt, params.name))
        said = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
        return types.GetPromptResult(description=PROMPTS[params.name][1], messages=[said])

    async def _run(self, deed: Callable[[], Found]) -> Found:
        """Carry a deed out on a thread; what is refused reaches the client in its own words."""
        try:
            return await self._hands.run(deed)
        except TooMany:
            raise MCPError(OVERLOADED, "too many calls wait already; nothing was done") from None
        except (DevClawError, OSError) as error:
            refused = told(error)
            raise MCPError(types.INVALID_PARAMS, str(refused), failure(refused)["error"]) from None


def complain(text: str) -> None:
    """Say something to whoever keeps the server: standard output is the protocol's."""
    with suppress(OSError):
        print(f"devclaw mcp: {text}", file=sys.stderr, flush=True)
