"""A whole task on an emulated GitHub, in which one request fails: before it acts, after it, or as a read for good."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.forge.emulated import GitHub
from tests.forge.proxy import Fault
from tests.real.crash.conftest import Yard
from tests.real.crash.hub import HubYard, hub_yard
from tests.real.crash.way import go

FULL = bool(os.environ.get("DEVCLAW_CI_FULL"))
WRITES = re.compile(r"(POST|PATCH|PUT|DELETE) ")
# A read is sent again twice, so it has to fail three times to fail.
READ_TRIES = 3


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
    github.proxy.log.clear()
    github.proxy.faults.append(fault)
    go(yard)
    github.proxy.faults.clear()
    ended_well(yard)
    yard.kill_server()


# Of each write how it is answered, 0 for not at all: an interrupted pickup is undone and made again, a request and a
# merge are found to be there.
SAMPLE = {
    "DELETE .*/labels/To%20Do$": [0, 200],
    "POST .*/pulls$": [0],
    "PUT .*/merge$": [0],
}


@pytest.mark.parametrize("write", SAMPLE, ids=["the take", "the request", "the merge"])
def test_a_write_whose_answer_is_lost_is_settled_once(
    make_yard: Callable[[], Yard], github: GitHub, write: str
) -> None:
    fails(make_yard, github, Fault(write, drop="after"))

    assert github.proxy.statuses_of(write) == SAMPLE[write]


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
