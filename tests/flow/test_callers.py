"""Who may call what: a worker its own task, an orchestrator its own group."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.model.caller import HUMAN, Caller, CallerKind
from devclaw_py.model.pipeline import State
from devclaw_py.model.project import Project
from tests.conftest import GROUP, Office

OTHER = "-2"

# Arguments with which each tool succeeds for a dev that holds #1.
CALLS: dict[str, dict[str, Any]] = {
    "task_pickup": {"role": "qa", "issueId": 2},
    "task_complete": {"role": "dev", "result": "done", "issueId": 1, "attempt": 1},
    "task_create": {"title": "More"},
    "task_update": {"issueId": 2, "state": "Planning"},
    "task_comment": {"issueId": 1, "body": "Half way"},
    "task_context": {"issueId": 1},
    "queue_status": {},
    "session_send": {"role": "dev", "text": "Use tabs"},
    "project_update": {"autoChain": True},
}
WORKERS = {"task_complete", "task_create", "task_comment", "task_context", "queue_status"}


@pytest.fixture
def busy(office: Office) -> Office:
    """An office in which dev holds #1 and #2 waits for qa; group -2 has a project, too."""
    office.doing()
    office.seed("Test me", State.TO_TEST)
    office.app.store.registry.add(Project(group_id=OTHER, name="blog", repo="/nowhere/blog"))
    return office


def raw(office: Office, tool: str, arguments: dict[str, Any], caller: Caller) -> dict[str, Any]:
    """Call without naming the group."""
    return catalogue.call(office.app, tool, arguments, caller)


def code_of(answer: dict[str, Any]) -> str | None:
    """Return the error's code, or None for a success."""
    return None if answer["success"] else answer["error"]["code"]


@pytest.mark.parametrize("tool", CALLS)
@pytest.mark.parametrize("kind", [CallerKind.HUMAN, CallerKind.ORCHESTRATOR, CallerKind.HEARTBEAT])
def test_these_callers_may_use_every_tool(busy: Office, kind: CallerKind, tool: str) -> None:
    assert code_of(busy.call(tool, Caller(kind=kind), **CALLS[tool])) is None


@pytest.mark.parametrize("tool", CALLS)
def test_a_bound_orchestrator_needs_no_group(busy: Office, tool: str) -> None:
    assert code_of(raw(busy, tool, CALLS[tool], Caller(kind=CallerKind.ORCHESTRATOR, group_id=GROUP))) is None


@pytest.mark.parametrize("tool", CALLS)
def test_a_bound_orchestrator_cannot_name_another_group(busy: Office, tool: str) -> None:
    before = busy.snapshot()

    answer = busy.call(tool, Caller(kind=CallerKind.ORCHESTRATOR, group_id=OTHER), **CALLS[tool])

    assert code_of(answer) == "not_allowed"
    assert busy.snapshot() == before


@pytest.mark.parametrize("tool", [tool for tool in CALLS if tool != "queue_status"])
def test_an_unbound_caller_must_name_a_group(busy: Office, tool: str) -> None:
    answer = raw(busy, tool, CALLS[tool], HUMAN)

    assert code_of(answer) == "invalid_arguments"
    assert "projectGroupId" in answer["error"]["message"]


@pytest.mark.parametrize("tool", CALLS)
def test_a_worker_may_use_five_tools(busy: Office, tool: str) -> None:
    before = busy.snapshot()

    answer = raw(busy, tool, CALLS[tool], busy.worker())

    assert code_of(answer) == (None if tool in WORKERS else "not_allowed")
    assert tool in WORKERS or busy.snapshot() == before


@pytest.mark.parametrize("tool", CALLS)
def test_a_worker_cannot_name_another_group(busy: Office, tool: str) -> None:
    assert code_of(busy.call(tool, busy.worker(group_id=OTHER), **CALLS[tool])) == "not_allowed"


@pytest.mark.parametrize("tool", ["project_register", "devclaw_setup"])
def test_a_worker_cannot_change_the_workspace(busy: Office, tool: str) -> None:
    arguments = {"name": "x", "repo": "/x", "baseBranch": "main"} if tool == "project_register" else {}

    assert code_of(raw(busy, tool, arguments, busy.worker())) == "not_allowed"


def test_a_worker_cannot_pick_up_what_it_creates(busy: Office) -> None:
    assert code_of(busy.call("task_create", busy.worker(), title="More", pickup=True)) == "not_allowed"


@pytest.mark.parametrize("tool", ["task_complete", "task_comment", "task_context"])
def test_a_worker_cannot_touch_the_issue_of_another(busy: Office, tool: str) -> None:
    before = busy.snapshot()

    assert code_of(busy.call(tool, busy.worker(), **CALLS[tool] | {"issueId": 2})) == "not_allowed"
    assert busy.snapshot() == before


def test_a_worker_cannot_report_for_the_other_role(busy: Office) -> None:
    busy.done("task_pickup", issueId=2, role="qa")
    report = {"role": "qa", "result": "pass", "issueId": 2, "attempt": 1}

    assert code_of(busy.call("task_complete", busy.worker(), **report)) == "not_allowed"


@pytest.mark.parametrize("issue", [{"issueId": 1}, {}], ids=["named", "left out"])
def test_a_worker_cannot_report_for_a_colleague_of_its_role(busy: Office, issue: dict[str, int]) -> None:
    busy.done("task_complete", role="dev", result="blocked")
    busy.done("task_update", issueId=1, state="To Do")
    busy.done("task_pickup", issueId=1, role="dev", model="senior")
    before = busy.snapshot()

    answer = busy.call("task_complete", busy.worker(), role="dev", result="done", attempt=2, **issue)

    assert code_of(answer) == "not_allowed"
    assert busy.snapshot() == before


def test_a_worker_may_repeat_its_report_of_a_task_it_held(busy: Office) -> None:
    busy.done("task_complete", busy.worker(), **CALLS["task_complete"])

    assert busy.done("task_complete", busy.worker(), **CALLS["task_complete"])["repeated"]


def test_a_refused_caller_is_named_in_the_log(busy: Office) -> None:
    raw(busy, "task_update", CALLS["task_update"], busy.worker())

    line = busy.lines("task_update")[-1]
    assert (line["caller"], line["error"], line["project"]) == ("worker:shop-dev-medior", "not_allowed", "shop")


def test_groups_do_not_touch_each_other(busy: Office) -> None:
    shop = busy.snapshot()["registry"][GROUP]
    issue = raw(busy, "task_create", {"projectGroupId": OTHER, "title": "Post", "label": "To Do"}, HUMAN)["issueId"]

    answer = raw(busy, "task_pickup", {"projectGroupId": OTHER, "issueId": issue, "role": "dev"}, HUMAN)

    assert answer["sessionKey"].startswith("tmux:blog-dev-")
    assert busy.snapshot()["registry"][GROUP] == shop
    assert busy.states(1) == (State.DOING,)
