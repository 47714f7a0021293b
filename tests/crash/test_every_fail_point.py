"""Every fail point, killed in this process over fakes: what is left is settled by the next call.

The kill is a BaseException that nothing in devclaw catches; locks are freed as the kernel frees them. The same points
are reached by real SIGKILLs in tests/real.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.model.caller import HUMAN
from devclaw_py.operations.recovery import settle
from devclaw_py.operations.registry import ALL, fail_points
from devclaw_py.operations.wishes import carry_out
from devclaw_py.state.files import FilesStore
from devclaw_py.state.flush import flush_lines
from tests.conftest import GROUP, Office, make_office
from tests.crash.invariants import broken


class Killed(BaseException):
    """What SIGKILL is for a process."""


def kill() -> None:
    raise Killed


Act = Callable[[Office], dict[str, Any]]


def _pickup(office: Office) -> dict[str, Any]:
    return office.call("task_pickup", issueId=1, role="dev")


def _working_dev(office: Office) -> None:
    office.seed()
    office.done("task_pickup", issueId=1, role="dev")
    office.work.repo(office.app.store.registry.get(GROUP)).commit("devclaw/1-add-a-footer")


def _working_qa(office: Office) -> None:
    _working_dev(office)
    office.done("task_complete", role="dev", result="done", summary="made")
    office.done("task_pickup", issueId=1, role="qa")


def _two_labels(office: Office) -> None:
    office.tracker.seed("Odd", labels=["To Do", "Planning"])


def _fresh(office: Office) -> None:
    office.app.store.registry.remove(GROUP)


# What is done before the fail point is armed, the call that is killed, and where its issue ends.
CASES: dict[str, tuple[Callable[[Office], object], Act]] = {
    "pickup": (lambda office: office.seed(), _pickup),
    "complete": (_working_qa, lambda office: office.call("task_complete", role="qa", result="pass", summary="seen")),
    "create": (lambda office: None, lambda office: office.call("task_create", title="New", label="Done")),
    "comment": (lambda office: office.seed(), lambda office: office.call("task_comment", issueId=1, body="hi")),
    "update": (_working_dev, lambda office: office.call("task_update", issueId=1, state="Planning", reason="later")),
    "register": (
        _fresh,
        lambda office: office.call("project_register", name="shop", repo=_repo(office), baseBranch="main"),
    ),
    "setup": (
        lambda office: None,
        lambda office: catalogue.call(office.app, "devclaw_setup", {"models": {"junior": "anthropic/x"}}, HUMAN),
    ),
    "health": (_two_labels, lambda office: office.call("session_health", autoFix=True)),
}


def _repo(office: Office) -> str:
    return str(office.app.workspace / "shop")


def restarted(office: Office) -> Office:
    """Return the office with new hands over the same outside world, as the next process has."""
    store = FilesStore(office.app.workspace, office.clock, office.app.settings)
    return replace(office, app=replace(office.app, faults=FailPoints(), store=store))


def recover(office: Office) -> None:
    """Do what ``devclaw recover`` does."""
    for group_id in {GROUP, "", *(intent.group_id for intent in office.app.store.journal.intents())}:
        with office.app.store.hold(f"project:{group_id}", wait_s=1, holder="recover"):
            settle(office.app, group_id, force=True)
        carry_out(office.app, group_id)
    flush_lines(office.app.store)


def violations(office: Office) -> list[str]:
    store = office.app.store
    return broken(
        registry=office.app.workspace / "memory" / "projects.json",
        tasks=office.tracker.list_all(),
        intents=store.journal.intents(),
        attempts=store.journal.attempts(GROUP),
        lines=[dict(line) for line in store.audit.read()],
        accepted=office.agent.received,
        tools=catalogue.TOOLS,
    )


@pytest.mark.parametrize("point", fail_points())
def test_a_kill_at_any_point_is_settled_by_the_next_process(tmp_path: Path, point: str) -> None:
    before, act = CASES[point.partition(".")[0]]
    office = make_office(tmp_path)
    before(office)
    armed = replace(office, app=replace(office.app, faults=FailPoints(point, kill)))

    with pytest.raises(Killed):
        act(armed)
    after = restarted(office)
    recover(after)

    assert violations(after) == []
    assert after.app.store.journal.intents() == []
    assert after.app.store.journal.queued_lines() == []


@pytest.mark.parametrize("point", fail_points())
def test_an_error_at_any_point_leaves_nothing_half_done(tmp_path: Path, point: str) -> None:
    before, act = CASES[point.partition(".")[0]]
    office = make_office(tmp_path)
    before(office)

    def fail() -> None:
        raise ConnectionError("the machine had a bad moment")

    armed = replace(office, app=replace(office.app, faults=FailPoints(point, fail)))

    act(armed)
    after = restarted(office)
    recover(after)

    assert violations(after) == []
    assert after.app.store.journal.intents() == []


def test_every_operation_has_a_case() -> None:
    assert {operation.kind for operation in ALL} == set(CASES)
