"""Slash commands in a group: answers without a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devclaw_py import catalogue
from devclaw_py.app import App
from devclaw_py.model.caller import Caller

TOOLS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "status": ("queue_status", {}),
    "queue": ("queue_status", {}),
    "health": ("session_health", {"autoFix": False}),
}
USAGE = "/devclaw status: what waits and who works\n/devclaw queue: the waiting issues\n/devclaw health: what is stuck"
SHOWN = 10


def answer(app: App, words: str, caller: Caller) -> str:
    """Return what the group reads."""
    word = (words.split() or ["status"])[0].lower()
    if word not in TOOLS:
        return USAGE
    tool, arguments = TOOLS[word]
    found = catalogue.call(app, tool, arguments, caller)
    if not found["success"]:
        return f"✖ {found['error']['message']}"
    return "\n".join(_queued(found)) if word == "queue" else str(found["announcement"])


def _queued(found: Mapping[str, Any]) -> list[str]:
    """Return the waiting issues of each project, in the order in which they are picked up."""
    lines = []
    for project in found["projects"]:
        queue = project["queue"]
        if queue is None:
            lines.append(f"✖ {project['name']}: {project['error']['message']}")
            continue
        waiting = [f"#{issue['id']} {issue['title']}" for issues in queue.values() for issue in issues]
        more = [f"and {len(waiting) - SHOWN} more"] if len(waiting) > SHOWN else []
        lines += [f"📊 {project['name']}: {'nothing waits' if not waiting else ''}".rstrip(), *waiting[:SHOWN], *more]
    return lines or ["📊 No projects are registered."]
