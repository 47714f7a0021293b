"""What the plugin's folder says of itself and of the tools, made from the catalogue.

``python -m devclaw_py.faces.claude_plugin.manifest`` writes the files anew; a test compares them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from devclaw_py import __version__, catalogue
from devclaw_py.kernel import files
from devclaw_py.model.pipeline import StateKind, Tier
from devclaw_py.rules import workflow

FOLDER = Path(__file__).with_name("plugin")
SKILL = Path("skills", "devclaw", "SKILL.md")
SERVERS = Path(".mcp.json")

NAME = "devclaw"
SUMMARY = "Turns wishes into issues and issues into merged work: a pipeline, and worker sessions that do the work."
AUTHOR = {"name": "DevClaw"}
DEFAULT = ("devclaw", "mcp", "--all-groups")


def plugin() -> dict[str, Any]:
    """Return plugin.json."""
    return {
        "name": NAME,
        "version": __version__,
        "description": SUMMARY,
        "author": AUTHOR,
        "license": "MIT",
        "keywords": ["orchestration", "issues", "workers", "tmux"],
    }


def marketplace() -> dict[str, Any]:
    """Return marketplace.json, which lets the folder be added as a marketplace of one plugin."""
    return {
        "name": NAME,
        "description": SUMMARY,
        "owner": AUTHOR,
        "plugins": [{"name": NAME, "source": "./", "description": SUMMARY}],
    }


def servers(command: Sequence[str] = DEFAULT) -> dict[str, Any]:
    """Return .mcp.json: how Claude Code starts the server."""
    return {"mcpServers": {NAME: {"type": "stdio", "command": command[0], "args": list(command[1:])}}}


def skill(written: str) -> str:
    """Return the skill's text with what follows from the code put between its marks."""
    for mark, text in (("pipeline", _pipeline()), ("tools", _tools())):
        new = f"<!-- {mark} -->\n{text}\n<!-- end -->"
        written = re.sub(rf"<!-- {mark} -->\n.*?<!-- end -->", new, written, flags=re.S)
    tiers = ", ".join(tier.value for tier in Tier if tier is not Tier.QA)
    return re.sub(r"<!-- tiers -->.*?<!-- end -->", f"<!-- tiers -->{tiers}<!-- end -->", written)


def _tools() -> str:
    rows = [f"| `{tool.name}` | {tool.summary} |" for tool in catalogue.ALL]
    return "\n".join(("| tool | what it does |", "|---|---|", *rows))


def _pipeline() -> str:
    picked = [
        f"| {', '.join(workflow.queues_of(role))} | `task_pickup` for {role} | {state} |"
        for role, state in workflow.ACTIVE.items()
    ]
    ended = [
        f"| {workflow.ACTIVE[role]} | {role} reports `{result}` | {state} |"
        for (role, result), state in workflow.COMPLETIONS.items()
    ]
    waiting = ", ".join(state for state, kind in workflow.KIND.items() if kind is StateKind.HOLD)
    return "\n".join(("| from | by | to |", "|---|---|---|", *picked, *ended, "", f"{waiting} wait for a person."))


def texts() -> dict[Path, str]:
    """Return the files that follow from the code, by their place in the folder."""
    return {
        Path(".claude-plugin", "plugin.json"): _json(plugin()),
        Path(".claude-plugin", "marketplace.json"): _json(marketplace()),
        SERVERS: _json(servers()),
        SKILL: skill((FOLDER / SKILL).read_text(encoding="utf-8")),
    }


def write_for(folder: Path, command: Sequence[str]) -> None:
    """Write the whole plugin into ``folder``, its server started by ``command``.

    Raises:
        ConfigError: the machine refused.
    """
    for source in sorted(path for path in FOLDER.rglob("*") if path.is_file()):
        place = source.relative_to(FOLDER)
        content = _json(servers(command)).encode() if place == SERVERS else source.read_bytes()
        files.folder((folder / place).parent)
        files.write(folder / place, content)


def _json(found: dict[str, Any]) -> str:
    return json.dumps(found, indent=2, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the files anew."""
    for place, content in texts().items():
        files.write(files.folder((FOLDER / place).parent) / place.name, content.encode())


if __name__ == "__main__":
    main()
