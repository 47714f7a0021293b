"""A process is killed at every fail point, for real: SIGKILL, real git, local tracker and tmux."""

from __future__ import annotations

import signal
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from devclaw_py.operations.registry import fail_points
from tests.real.crash.conftest import Yard
from tests.real.crash.judge import violations


@dataclass(frozen=True)
class Case:
    """What stands before the call, and the call that is killed."""

    kind: str
    before: Callable[[Yard], object]
    tool: str
    arguments: dict[str, Any]


def _seed(yard: Yard) -> None:
    yard.call("task_create", title="Add a footer", label="To Do")


def _dev(yard: Yard) -> None:
    _seed(yard)
    yard.call("task_pickup", issueId=1, role="dev")
    yard.idle()


def _tested(yard: Yard) -> None:
    _dev(yard)
    yard.call("task_complete", role="dev", result="done", summary="made")


def _qa(yard: Yard) -> None:
    _tested(yard)
    yard.call("task_pickup", issueId=1, role="qa")
    yard.idle()


def _report(role: str, result: str) -> dict[str, str]:
    return {"role": role, "result": result, "summary": "seen"}


def _odd(yard: Yard) -> None:
    _seed(yard)
    issue = yard.workspace / "memory/issues/shop/1.md"
    issue.write_text(issue.read_text().replace("[To Do]", "[To Do, Planning]"))


CASES = {
    "pickup-dev": Case("pickup", _seed, "task_pickup", {"issueId": 1, "role": "dev"}),
    "pickup-qa": Case("pickup", _tested, "task_pickup", {"issueId": 1, "role": "qa"}),
    "done": Case("complete", _dev, "task_complete", _report("dev", "done")),
    "pass": Case("complete", _qa, "task_complete", _report("qa", "pass")),
    "fail": Case("complete", _qa, "task_complete", _report("qa", "fail")),
    "create": Case("create", lambda yard: None, "task_create", {"title": "New", "label": "Done"}),
    "comment": Case("comment", _seed, "task_comment", {"issueId": 1, "body": "hi"}),
    "update": Case("update", _dev, "task_update", {"issueId": 1, "state": "Planning"}),
    "setup": Case("setup", lambda yard: None, "devclaw_setup", {"models": {"junior": "anthropic/x"}}),
    "change": Case("change", lambda yard: None, "project_update", {"autoChain": True}),
    "health": Case("health", _odd, "session_health", {"autoFix": True}),
}
POINTS = [(name, point) for name, case in CASES.items() for point in fail_points() if point.startswith(f"{case.kind}.")]


@pytest.mark.parametrize(("case", "point"), POINTS)
def test_a_killed_call_is_settled_and_the_task_goes_on(yard: Yard, case: str, point: str) -> None:
    given = CASES[case]
    given.before(yard)

    killed = yard.start(given.tool, failpoint=f"{point}:kill", **given.arguments)
    _, err = killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL, err
    yard.recover()
    if given.kind == "health":
        yard.call(given.tool, **given.arguments)
    yard.idle()

    assert violations(yard) == []
    assert yard.intents() == []
    assert yard.rows("line") == []


@pytest.mark.parametrize("point", [point for point in fail_points() if point.startswith("register.")])
def test_a_killed_registration_can_be_made_again(make_yard: Callable[[], Yard], point: str) -> None:
    yard = make_yard()
    arguments = {"name": "shop", "repo": str(yard.repo), "baseBranch": "main"}

    killed = yard.start("project_register", failpoint=f"{point}:kill", **arguments)
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    yard.recover()

    assert yard.intents() == []
    if not yard.app().store.registry.all():
        yard.call("project_register", **arguments)
    _seed(yard)
    assert violations(yard) == []


@pytest.mark.parametrize("point", [point for point in fail_points() if point.startswith("remove.")])
def test_a_killed_removal_is_settled(yard: Yard, point: str) -> None:
    _dev(yard)
    yard.call("task_complete", role="dev", result="blocked", summary="no")

    killed = yard.run("project", "remove", "shop", "--yes", failpoint=f"{point}:kill")
    killed.communicate(timeout=60)
    assert killed.returncode == -signal.SIGKILL
    yard.recover()

    assert yard.intents() == []
    assert yard.rows("line") == []
    assert violations(yard) == []
    assert [line["event"] for line in yard.lines()].count("project_remove") == 1
