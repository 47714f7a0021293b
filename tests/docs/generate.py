"""Writes docs/reference from the catalogue, the errors, the settings and the command line.

Run from the repository's root: ``python -m tests.docs.generate``
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from devclaw_py import catalogue
from devclaw_py.faces.cli.app import cli
from devclaw_py.rules.callers import WORKER_TOOLS
from devclaw_py.rules.reference import errors_reference, settings_reference
from devclaw_py.tools.base import Group, Tool

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "python -m tests.docs.generate"
WRITTEN = f"<!-- Written by `{COMMAND}`; tests/docs/test_reference.py compares. -->\n"

TOOLS_HEAD = """# Tools

Each tool takes one JSON object and answers one. `devclaw call TOOL '{...}'` prints the answer and exits by the table of
errors below; `devclaw call TOOL -` reads the object from standard input. For people every tool is a command as well,
with dashes and flags: `devclaw task-pickup --project-group-id -1001 --role dev`; with `--json` it prints the answer.

A success is `{"success": true, ..., "announcement": "..."}`: the announcement is the line that the group should read. A
failure is `{"success": false, "error": {"code", "message", "retryable", "hint"}}`. Beside them stand, where they apply:

| field | meaning |
|---|---|
| `pending`, `reason` | the call is kept in the journal and carried out later by itself |
| `repeated` | this call was answered before; the answer is the first one's |
| `announced` | where devclaw sends announcements itself: true, the group is told already; false, it is yours to say |
| `operation` | with `pending`, through a gateway: the operation that goes on; its end is told to the group |
| `autoChain`, `pickup` | the pickup that followed a report or a creation: `dispatched`, or `waiting` with a `reason` |
| `followed` | pickups of other tasks that this call made possible |
| `settled` | what was left open by an earlier process and was settled before this call ran |
| `warnings`, `warning` | what a person should look at; the call itself is done |
"""
ERRORS_HEAD = """## Errors

`retryable` says whether the same call may succeed later unchanged; the answer's own `retryable` counts, because some
`config_error` of git are retryable. A call that was refused has changed nothing.
"""
CLI_HEAD = """# Command line

The workspace is `--workspace DIR`, else `$DEVCLAW_WORKSPACE`, else the nearest folder at or above the current one that
holds `memory/projects.json`, else `~/.devclaw`. Results go to standard output and everything else to standard error.
"""


def tools_page() -> str:
    """Return docs/reference/tools.md."""
    tools = "\n".join(_tool(tool) for tool in catalogue.ALL)
    return f"{TOOLS_HEAD}\n{WRITTEN}\n{tools}\n{ERRORS_HEAD}\n{errors_reference()}\n"


def settings_page() -> str:
    """Return docs/reference/settings.md."""
    title, _, rest = settings_reference().partition("\n")
    return f"{title}\n\n{WRITTEN}{rest.rstrip()}\n"


def cli_page() -> str:
    """Return docs/reference/cli.md: the commands that are no tools, then one line for each tool's command."""
    tools = {tool.name.replace("_", "-"): tool for tool in catalogue.ALL}
    lines = [CLI_HEAD, WRITTEN]
    for words, command in _commands(typer.main.get_command(cli), ()):
        if words[0] not in tools:
            lines += _command(words, command)
    rows = [f"| `devclaw {name}` | {tool.summary} |" for name, tool in tools.items()]
    head = "Their flags are the parameters in [tools.md](tools.md), with dashes; `--help` lists them."
    return "\n".join([*lines, "## Tools", "", head, "", "| command | |", "|---|---|", *rows, ""])


PAGES = {
    "docs/reference/tools.md": tools_page,
    "docs/reference/settings.md": settings_page,
    "docs/reference/cli.md": cli_page,
}


def _tool(tool: Tool) -> str:
    schema = tool.args.model_json_schema(by_alias=True)
    required = {*schema.get("required", ()), *(["projectGroupId"] if tool.group is Group.NEEDED else [])}
    rows = [
        f"| `{name}` | {_type(found, schema)} | {_default(found, needed=name in required)} | {found['description']} |"
        for name, found in schema["properties"].items()
    ]
    who = "Workers may call it." if tool.name in WORKER_TOOLS else "Workers may not call it."
    table = ["| parameter | type | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join([f"## {tool.name}", "", f"{tool.description.strip()} {who}", "", *table, ""])


def _type(found: dict[str, Any], schema: dict[str, Any]) -> str:
    if "$ref" in found:
        return _type(schema["$defs"][found["$ref"].rpartition("/")[2]], schema)
    if "anyOf" in found:
        return _type(next(kind for kind in found["anyOf"] if kind.get("type") != "null"), schema)
    if "enum" in found:
        return ", ".join(f"`{word}`" for word in found["enum"])
    if found["type"] == "array":
        return f"list of {_type(found['items'], schema)}"
    if found["type"] == "object":
        return f"object of {_type(found['additionalProperties'], schema)} by {_type(found['propertyNames'], schema)}"
    return str(found["type"])


def _default(found: dict[str, Any], *, needed: bool) -> str:
    if needed:
        return "required"
    default = found.get("default")
    return "" if default in (None, "", [], {}) else f"`{json.dumps(default)}`"


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command with its words; typer carries click inside it in some versions, so no class is named."""
    children = getattr(command, "commands", None)
    if children is None:
        yield words, command
        return
    for name, child in children.items():
        yield from _commands(child, (*words, name))


def _command(words: tuple[str, ...], command: Any) -> list[str]:
    told = " ".join((command.help or "").split())
    rows = [f"| {_words(option)} | {option.help or ''} |" for option in command.params]
    table = ["| argument or option | |", "|---|---|", *rows, ""] if rows else []
    return [f"## devclaw {' '.join(words)}", "", told, "", *table]


def _words(option: Any) -> str:
    if option.param_type_name == "argument":
        return f"`{(option.metavar or option.name).upper()}`"
    return ", ".join(f"`{word}`" for word in (*option.opts, *option.secondary_opts))


def main() -> None:
    """Write every page."""
    for path, page in PAGES.items():
        (ROOT / path).write_text(page(), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
