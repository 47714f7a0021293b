"""The tools of a worker's MCP server as MCP lists them, made from the catalogue's argument models.

The server cannot afford to import the catalogue (docs/concepts/worker-mcp.md), so the list lies beside it as
``worker_tools.json``. A test compares the two; ``python -m devclaw_py.faces.worker_schema`` writes it anew.
"""

from __future__ import annotations

import json
from typing import Any

from devclaw_py import catalogue
from devclaw_py.faces.schemas import plain
from devclaw_py.faces.worker_protocol import TOOLS_FILE
from devclaw_py.kernel.files import write
from devclaw_py.rules.worker_mcp import TOOLS
from devclaw_py.tools.base import Tool

# What the token decides, and what a worker may not do.
LEFT_OUT = frozenset({"projectGroupId", "role", "authorRole", "pickup"})

# Optional for other callers, who may mean the current attempt; a worker's report names both.
NEEDED = {"task_complete": ["result", "summary", "issueId", "attempt"]}

# A worker is told of its tools without what is not open to it.
SUMMARIES = {
    "task_complete": "Report how your task ended, exactly once, when you stop working. Use the issue and attempt of "
    "the task message. `success: true` means that the report is kept, also with `pending: true`.",
    "task_context": "Show your current task again: description, comments so far, what QA found, branch, worktree, "
    "and how to report.",
    "task_create": "Create an issue for work that you found and that is not part of your task; it waits for a person.",
    "task_comment": "Add a comment to the issue of your task.",
}
DESCRIPTIONS = {
    ("task_complete", "issueId"): "The issue of the task message.",
    ("task_complete", "attempt"): "The attempt of the task message.",
    ("task_context", "issueId"): "Left out: the issue of your current task.",
    ("task_comment", "issueId"): "The issue of your task.",
    ("task_create", "label"): "State label; left out: Planning.",
}


def listed() -> list[dict[str, Any]]:
    """Return every tool of a worker: name, description, inputSchema, annotations."""
    return [_listed(catalogue.TOOLS[name]) for name in TOOLS]


def _listed(tool: Tool) -> dict[str, Any]:
    schema = tool.args.model_json_schema(by_alias=True)
    shapes = schema.get("$defs", {})
    properties = {name: plain(shape, shapes) for name, shape in schema["properties"].items() if name not in LEFT_OUT}
    for name, shape in properties.items():
        shape["description"] = DESCRIPTIONS.get((tool.name, name), shape["description"])
    required = [name for name in schema.get("required", []) if name not in LEFT_OUT]
    return {
        "name": tool.name,
        "description": SUMMARIES.get(tool.name, tool.summary),
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": NEEDED.get(tool.name, required),
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": not tool.writes, "destructiveHint": False},
    }


def text() -> str:
    """Return the file's content."""
    return json.dumps(listed(), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the file anew."""
    write(TOOLS_FILE, text().encode())


if __name__ == "__main__":
    main()
