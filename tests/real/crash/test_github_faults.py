"""A whole task on an emulated GitHub, in which one request fails: before it acts, after it, or as a read for good."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.model.caller import HUMAN
from tests.forge.emulated import GitHub
from tests.forge.proxy import Fault
from tests.real.crash.conftest import GROUP, Yard
from tests.real.crash.hub import HubYard, hub_yard

FULL = bool(os.environ.get("DEVCLAW_CI_FULL"))
WRITES = re.compile(r"(POST|PATCH|PUT|DELETE) ")
# A read is sent again twice, so it has to fail three times to fail.
READ_TRIES = 3
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


def ended_well(yard: HubYard) -> None:
    """Hold what must be in the end: one request, one comment of a report, each worker once."""
    pulls = yard.hub.human("GET", "/pulls?state=all")
    assert [bool(pull["merged_at"]) for pull in pulls] == [True]
    comments = yard.hub.human("GET", "/issues/1/comments")
    assert len({comment["body"] for comment in comments}) == len(comments) == 2
    assert len(yard.witnessed()) == len(set(yard.witnessed()))


def counted(make_yard: Callable[[], Yard], github: GitHub) -> list[str]:
    """Return the requests of a task that nothing disturbs."""
    yard = hub_yard(make_yard, github)
    github.proxy.log.clear()
    go(yard)
    ended_well(yard)
    yard.kill_server()
    return github.proxy.lines()


def fails(make_yard: Callable[[], Yard], github: GitHub, fault: Fault) -> None:
    """Take a task the whole way with a fault in it."""
    yard = hub_yard(make_yard, github)
    github.proxy.faults.append(fault)
    go(yard)
    github.proxy.faults.clear()
    ended_well(yard)
    yard.kill_server()


SAMPLE = {
    "the take": "DELETE .*/labels/To%20Do$",
    "the request": "POST .*/pulls$",
    "the merge": "PUT .*/merge$",
}


@pytest.mark.parametrize("write", SAMPLE)
def test_a_write_whose_answer_is_lost_is_settled_once(
    make_yard: Callable[[], Yard], github: GitHub, write: str
) -> None:
    fails(make_yard, github, Fault(SAMPLE[write], drop="after"))

    assert 0 in github.proxy.statuses_of(SAMPLE[write])


def test_a_task_costs_thirteen_writes(make_yard: Callable[[], Yard], github: GitHub) -> None:
    creation, *writes = [line for line in counted(make_yard, github) if WRITES.match(line)]

    assert creation.endswith("/issues")
    assert len(writes) == 13


@pytest.mark.skipif(not FULL, reason="a task for each request of a task: set DEVCLAW_CI_FULL")
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("how", ["before", "after"])
def test_no_request_that_fails_loses_or_doubles_anything(
    make_yard: Callable[[], Yard], emulator: Any, github: GitHub, how: str
) -> None:
    lines = counted(make_yard, github)
    print(f"{len(lines)} requests")

    for number, line in enumerate(lines):
        write = bool(WRITES.match(line))
        if how == "after" and not write:
            continue
        forge = emulator.repository()
        emulator.proxy.clear()
        hub = GitHub(emulator.proxy, forge, github.folder)
        print(f"{number}: {line}")
        fails(make_yard, hub, Fault("", drop=how, spared=number, times=1 if write else READ_TRIES))
