"""What the plugin's folder says of itself, made from the catalogue: manifest, package, tools.

``python -m devclaw_py.faces.openclaw.manifest`` writes the files anew; a test compares them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from devclaw_py import __version__, catalogue
from devclaw_py.faces.schemas import parameters
from devclaw_py.kernel.files import write
from devclaw_py.model.pipeline import Tier

FOLDER = Path(__file__).with_name("plugin")

ID, PACKAGE = "devclaw", "openclaw-devclaw"
SUMMARY = "Turns group chats into software teams: issues move through a pipeline, worker sessions do the work."

# The gateway that all of this is tried on, and the oldest one with the same interface.
TRIED, OLDEST = "2026.9.6", "2026.9.0"

TEXT = {"type": "string"}
CONFIG: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "python": {**TEXT, "description": "Python interpreter that has devclaw_py installed."},
        "workspace": {**TEXT, "description": "DevClaw's workspace; left out: $DEVCLAW_WORKSPACE, else ~/.devclaw."},
        "models": {
            "type": "object",
            "description": "Model of each tier.",
            "additionalProperties": False,
            "properties": {tier.value: TEXT for tier in Tier},
        },
        "allowFrom": {
            "type": "array",
            "description": "Senders beside the gateway's owners that may use DevClaw in their groups; *: all.",
            "items": {"type": ["string", "number"]},
        },
        "answerWithinS": {
            "type": "number",
            "description": "Seconds after which a long call is answered with its operation's id.",
            "exclusiveMinimum": 0,
            "default": 20,
        },
    },
}


def tools() -> list[dict[str, Any]]:
    """Return every tool as the gateway registers it."""
    return [
        {
            "name": tool.name,
            "label": tool.name.replace("_", " ").capitalize(),
            "description": tool.summary,
            "parameters": parameters(tool),
        }
        for tool in catalogue.ALL
    ]


def manifest() -> dict[str, Any]:
    """Return openclaw.plugin.json."""
    return {
        "id": ID,
        "name": "DevClaw",
        "description": SUMMARY,
        "version": __version__,
        "categories": ["agent-orchestration"],
        "activation": {"onStartup": True},
        "contracts": {"tools": list(catalogue.TOOLS)},
        "cliCommands": [{"name": ID, "description": "The devclaw command line", "hasSubcommands": True}],
        "commandAliases": [{"name": ID, "kind": "runtime-slash", "cliCommand": ID}],
        "configSchema": CONFIG,
        "uiHints": {"python": {"label": "Python interpreter", "placeholder": "/path/to/venv/bin/python"}},
    }


def package() -> dict[str, Any]:
    """Return package.json."""
    return {
        "name": PACKAGE,
        "version": __version__,
        "description": SUMMARY,
        "type": "module",
        "license": "MIT",
        "keywords": ["openclaw", "openclaw-plugin", "devclaw", "orchestration", "tmux", "python"],
        "files": ["index.js", "bridge.js", "tools.json", "openclaw.plugin.json"],
        "peerDependencies": {"openclaw": f">={OLDEST}"},
        "peerDependenciesMeta": {"openclaw": {"optional": True}},
        "openclaw": {
            "extensions": ["./index.js"],
            "compat": {"pluginApi": f">={OLDEST}", "minGatewayVersion": OLDEST},
            "build": {"openclawVersion": TRIED, "pluginSdkVersion": TRIED},
        },
    }


FILES = {"tools.json": tools, "openclaw.plugin.json": manifest, "package.json": package}


def text(name: str) -> str:
    """Return a file's content."""
    return json.dumps(FILES[name](), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write the files anew."""
    for name in FILES:
        write(FOLDER / name, text(name).encode())


if __name__ == "__main__":
    main()
