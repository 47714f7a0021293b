"""The whole way of one task on a forge, whatever fails on it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

from devclaw_py import catalogue
from devclaw_py.model.caller import HUMAN
from tests.real.crash.conftest import GROUP
from tests.real.crash.hub import HubYard

SETTLED_S = 60.0


@dataclass(frozen=True)
class Step:
    """One call of the task's way, and the state that the issue is in after it."""

    tool: str
    arguments: dict[str, Any]
    state: str


def _report(role: str, result: str) -> dict[str, Any]:
    return {"role": role, "result": result, "summary": "seen"}


WAY = (
    Step("task_create", {"title": "Add a footer", "label": "To Do"}, "To Do"),
    Step("task_pickup", {"issueId": 1, "role": "dev"}, "Doing"),
    Step("task_complete", _report("dev", "done"), "To Test"),
    Step("task_pickup", {"issueId": 1, "role": "qa"}, "Testing"),
    Step("task_complete", _report("qa", "pass"), "Done"),
)


def go(yard: HubYard) -> None:
    """Take a task the whole way; after each call comes what follows a failure, and the call again if it needs it."""
    for step in WAY:
        catalogue.call(yard.app(), step.tool, {"projectGroupId": GROUP, **step.arguments}, HUMAN)
        yard.idle()
        settle(yard)
        if state(yard) != step.state:
            yard.call(step.tool, **step.arguments)
            settle(yard)
            yard.idle()
        assert state(yard) == step.state
        assert yard.wrong() == []


def settle(yard: HubYard) -> None:
    """Recover until nothing is left to do."""
    deadline = time.monotonic() + SETTLED_S
    yard.recover()
    while yard.intents() or yard.rows("line"):
        assert time.monotonic() < deadline, yard.intents()
        yard.recover()


def state(yard: HubYard) -> str:
    """Return the state of the only issue; an empty text when there is none."""
    tasks = yard.tasks()
    assert len(tasks) <= 1, "the issue was made twice"
    return ", ".join(label for label in tasks[0].labels if label != "devclaw") if tasks else ""
