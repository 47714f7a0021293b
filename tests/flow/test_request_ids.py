"""requestId: the same id answers the first outcome and does nothing again."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.pipeline import State
from tests.conftest import GROUP, Killed, Office

CALLS: dict[str, dict[str, Any]] = {
    "task_pickup": {"role": "qa", "issueId": 2},
    "task_complete": {"role": "dev", "result": "done", "summary": "Ready"},
    "task_create": {"title": "More", "pickup": True},
    "task_update": {"issueId": 2, "state": "Planning"},
    "task_comment": {"issueId": 1, "body": "Half way"},
    "project_update": {"channel": "telegram"},
    "project_register": {"projectGroupId": "-2", "name": "blog", "repo": "/nowhere/blog", "baseBranch": "main"},
    "devclaw_setup": {"models": {"junior": "anthropic/small"}},
}
# A point past the commit point of each operation that has one.
POINTS = {
    "task_pickup": "pickup.10.accept",
    "task_create": "create.2.issue",
    "task_update": "update.6.seat",
    "task_comment": "comment.2.comment",
    "task_complete": "complete.7.comment",
    "project_register": "register.4.registry",
    "devclaw_setup": "setup.4.settings",
}


def ask(office: Office, tool: str) -> dict[str, Any]:
    """Call a tool under the request id r-1."""
    group = {} if tool == "devclaw_setup" else {"projectGroupId": GROUP}
    return catalogue.call(office.app, tool, {**group, **CALLS[tool], "requestId": "r-1"}, HUMAN)


@pytest.fixture
def busy(office: Office) -> Office:
    """An office in which dev holds #1 and #2 waits for qa; the project chains."""
    office.change(auto_chain=True)
    office.doing()
    office.seed("Test me", State.TO_TEST)
    return office


@pytest.mark.parametrize("tool", CALLS)
def test_the_same_id_answers_the_first_outcome_and_does_nothing(busy: Office, tool: str) -> None:
    first = ask(busy, tool)
    assert first["success"], first
    before = busy.snapshot()

    assert ask(busy, tool) == {**first, "repeated": True}
    assert busy.snapshot() == before


@pytest.mark.parametrize("tool", POINTS)
def test_the_same_id_after_a_crash_does_it_once(busy: Office, tool: str) -> None:
    busy.kill_at(POINTS[tool])
    with pytest.raises(Killed):
        ask(busy, tool)

    again = ask(busy, tool)

    assert again["success"], again
    settled = busy.snapshot()
    assert ask(busy, tool)["success"]
    assert busy.snapshot() == settled
    assert len(busy.agent.received) <= 2
    assert len([task for task in busy.tracker.list_all() if task.title == "More"]) == (tool == "task_create")
    assert len([body for body in busy.comments(1) if "Half way" in body]) == (tool == "task_comment")


# A set-up that was cut off is made again: each of its files is whole by itself.
@pytest.mark.parametrize("tool", [tool for tool in POINTS if tool != "devclaw_setup"])
def test_the_same_id_after_a_crash_says_that_it_is_a_repetition(busy: Office, tool: str) -> None:
    busy.kill_at(POINTS[tool])
    with pytest.raises(Killed):
        ask(busy, tool)

    assert ask(busy, tool).get("repeated") is True


def test_another_id_is_another_call(office: Office) -> None:
    for request in ("a", "b"):
        office.done("task_create", title="More", requestId=request)

    assert len(office.tracker.list_all()) == 2


def test_an_id_is_forgotten_after_a_day(office: Office) -> None:
    office.done("task_create", title="More", requestId="a")
    office.clock.sleep(24 * 3600 + 1)
    office.done("task_create", title="More", requestId="a")

    assert len(office.tracker.list_all()) == 2


def test_a_refused_call_may_be_made_again_under_its_id(office: Office) -> None:
    issue = office.seed(state=State.PLANNING)
    assert office.refused("task_pickup", issueId=issue, role="dev", requestId="a") == "wrong_state"
    office.tracker.human_moves(issue, State.TO_DO)

    assert "repeated" not in office.done("task_pickup", issueId=issue, role="dev", requestId="a")


def test_ids_belong_to_a_group(office: Office) -> None:
    office.done("task_create", title="More", requestId="a")
    catalogue.call(office.app, "project_register", CALLS["project_register"], HUMAN)

    answer = catalogue.call(
        office.app, "task_create", {"projectGroupId": "-2", "title": "Other", "requestId": "a"}, HUMAN
    )

    assert answer["issue"]["title"] == "Other"


def test_a_report_that_waited_answers_its_outcome_once_it_is_settled(office: Office) -> None:
    office.testing()
    repo = office.work.repo(office.project)
    repo.waiting = "the main checkout has tracked changes"
    report: dict[str, Any] = {"role": "qa", "result": "pass", "summary": "Seen it", "requestId": "a"}
    assert office.done("task_complete", **report)["pending"]
    assert office.done("task_complete", **report)["pending"]
    repo.waiting = ""
    office.clock.sleep(61)
    office.done("task_create", title="Anything")

    answer = office.done("task_complete", **report)

    assert "pending" not in answer
    assert (answer["issueClosed"], answer["repeated"]) == (True, True)


@pytest.mark.parametrize("request_id", ["", " ", "a\nb", "x" * 201, 5, None])
def test_an_id_of_a_wrong_form_is_refused(office: Office, request_id: Any) -> None:
    answer = office.call("task_create", title="More", requestId=request_id)

    assert answer["success"] is (request_id is None)


def test_a_health_check_of_all_projects_is_made_once_for_a_request_id(office: Office) -> None:
    answers = [catalogue.call(office.app, "session_health", {"autoFix": True, "requestId": "q"}, HUMAN) for _ in "ab"]

    assert [answer.get("repeated") for answer in answers] == [None, True]
