"""What must hold in a yard, judged from its files, git and the workers' own log."""

from __future__ import annotations

from devclaw_py import catalogue
from tests.crash.invariants import broken
from tests.real.crash.conftest import GROUP, Yard


def violations(yard: Yard, group: str = GROUP) -> list[str]:
    """Return what does not hold in one project, in words."""
    return broken(
        group=group,
        registry=yard.workspace / "memory" / "projects.json",
        tasks=yard.tasks(group),
        intents=[intent for intent in yard.intents() if intent.group_id == group],
        attempts=[attempt for attempt in yard.attempts() if attempt.group_id == group],
        lines=yard.lines(),
        accepted=yard.witnessed(group),
        tools=catalogue.TOOLS,
    ) + [f"lost: {row}" for row in yard.unreachable(group)]
