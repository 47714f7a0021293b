"""Processes killed and racing with a stand-in for GitLab as tracker, where a move is one write."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import pytest

from devclaw_py.app import App
from devclaw_py.model.project import Forge
from devclaw_py.model.task import Task
from devclaw_py.operations.registry import fail_points
from devclaw_py.trackers.gitlab.shapes import RawIssue
from tests.forge import hand
from tests.forge.gitlab_hands import GitLab
from tests.real.crash.conftest import GROUP, Yard
from tests.real.crash.judge import violations
from tests.real.crash.test_kills import CASES

FULL = bool(os.environ.get("DEVCLAW_CI_FULL"))
# The rows of a move, in which GitLab differs; in the full job each fail point of what speaks to the tracker.
KINDS = ("pickup-dev", "pass", "update", *(("create", "comment", "pickup-qa", "done", "fail") if FULL else ()))
POINTS = [
    (name, point)
    for name in KINDS
    for point in fail_points()
    if point.startswith(f"{CASES[name].kind}.") and (FULL or point.endswith((".take", ".put")))
]
CLAIMERS = 8


@dataclass
class LabYard(Yard):
    """A yard whose issues are on GitLab; they are read as a human sees them."""

    gitlab: GitLab | None = None

    @property
    def hub(self) -> GitLab:
        assert self.gitlab is not None
        return self.gitlab

    @property
    def forge(self) -> Forge:
        return self.hub.forge

    def app(self) -> App:
        return hand.app_on(self.workspace, self.forge, dict(self.environ))

    def start(self, tool: str, *, failpoint: str | None = None, **arguments: Any) -> subprocess.Popen[str]:
        environ = {**self.environ, **({"DEVCLAW_FAILPOINT": failpoint} if failpoint else {})}
        given = json.dumps({"projectGroupId": GROUP, **arguments})
        argv = [sys.executable, hand.__file__, str(self.workspace), self.forge.model_dump_json(), tool, given]
        pipe = subprocess.PIPE
        return subprocess.Popen(argv, env=environ, cwd=self.folder, stdout=pipe, stderr=pipe, text=True)

    def tasks(self, group: str = GROUP) -> list[Task]:
        raws = self.hub.project.issues.values()
        return [RawIssue.model_validate(raw).task() for raw in raws]


@pytest.fixture
def yard(make_yard: Callable[[], Yard], gitlab: GitLab) -> LabYard:
    made = make_yard()
    yard = LabYard(made.folder, made.environ, gitlab)
    yard.add_project(GROUP)
    return yard


@pytest.mark.parametrize(("case", "point"), POINTS)
def test_a_killed_call_leaves_one_state_on_gitlab_and_the_task_goes_on(yard: LabYard, case: str, point: str) -> None:
    given = CASES[case]
    given.before(cast(Yard, yard))

    killed = yard.start(given.tool, failpoint=f"{point}:kill", **given.arguments)
    _, err = killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL, err
    yard.recover()
    yard.idle()

    assert violations(yard) == []
    assert yard.intents() == []
    assert yard.rows("line") == []


def test_of_eight_processes_that_claim_one_issue_one_gets_it(yard: LabYard, gitlab: GitLab) -> None:
    yard.call("task_create", title="Add a footer", label="To Do")
    gitlab.server.log.clear()

    claims = [yard.start("task_pickup", issueId=1, role="dev") for _ in range(CLAIMERS)]
    answers = [json.loads(claim.communicate(timeout=180)[0]) for claim in claims]
    yard.idle()

    assert sum(answer["success"] for answer in answers) == 1
    assert gitlab.labels(1) == {"Doing", "devclaw"}
    assert len([line for line in gitlab.lines() if line == "PUT /issues/1"]) == 1
    assert violations(yard) == []
