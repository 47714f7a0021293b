"""How the catalogue is listed to MCP clients."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.tools.base import Group

pytest.importorskip("mcp", reason="the SDK comes with the extra mcp")


def listed(group_id: str | None) -> dict[str, Any]:
    from devclaw_py.faces.mcp.server import tools

    return {tool.name: tool for tool in tools(group_id)}


def test_only_tools_that_write_nothing_are_called_read_only() -> None:
    marked = {name for name, tool in listed(None).items() if tool.annotations.read_only_hint}
    assert marked == {"queue_status", "task_context"}


def test_what_may_end_or_replace_something_is_called_destructive() -> None:
    marked = {name for name, tool in listed(None).items() if tool.annotations.destructive_hint}
    assert {"task_complete", "task_update", "session_health", "project_mode", "devclaw_setup"} <= marked
    assert marked.isdisjoint({"task_create", "task_comment", "task_pickup", "queue_status", "task_context"})


def test_who_is_bound_to_no_group_has_to_name_one() -> None:
    needed = {tool.name for tool in catalogue.ALL if tool.group is Group.NEEDED}
    for group_id, wanted in ((None, needed), ("-1001", set())):
        found = {name for name, tool in listed(group_id).items() if "projectGroupId" in tool.input_schema["required"]}
        assert found == wanted
