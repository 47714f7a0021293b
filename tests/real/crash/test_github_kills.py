"""Processes killed and racing with an emulated GitHub as tracker; git, tmux and the workspace's files are real."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable

import pytest

from devclaw_py.operations.registry import fail_points
from tests.forge.emulated import GitHub
from tests.real.crash.conftest import Yard
from tests.real.crash.hub import HubYard, hub_yard
from tests.real.crash.test_kills import CASES

FULL = bool(os.environ.get("DEVCLAW_CI_FULL"))
# Each fail point of what speaks to the tracker once; in the full job also the other ways to the same points.
KINDS = ("pickup-dev", "pass", "create", "comment", "update", *(("pickup-qa", "done", "fail") if FULL else ()))
POINTS = [(name, point) for name in KINDS for point in fail_points() if point.startswith(f"{CASES[name].kind}.")]
CLAIMERS = 8


@pytest.fixture
def yard(make_yard: Callable[[], Yard], github: GitHub) -> HubYard:
    return hub_yard(make_yard, github)


@pytest.mark.parametrize(("case", "point"), POINTS)
def test_a_killed_call_leaves_one_state_on_github_and_the_task_goes_on(yard: HubYard, case: str, point: str) -> None:
    given = CASES[case]
    given.before(yard)

    killed = yard.start(given.tool, failpoint=f"{point}:kill", **given.arguments)
    _, err = killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL, err
    yard.recover()
    yard.idle()

    assert yard.wrong() == []
    assert yard.intents() == []
    assert yard.rows("line") == []


def test_of_eight_processes_that_claim_one_issue_one_gets_it(yard: HubYard, github: GitHub) -> None:
    yard.call("task_create", title="Add a footer", label="To Do")

    claims = [yard.start("task_pickup", issueId=1, role="dev") for _ in range(CLAIMERS)]
    answers = [json.loads(claim.communicate(timeout=180)[0]) for claim in claims]
    yard.idle()

    assert sum(answer["success"] for answer in answers) == 1
    assert github.labels(1) == {"Doing", "devclaw"}
    assert yard.wrong() == []
