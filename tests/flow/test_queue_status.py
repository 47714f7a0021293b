"""queue_status: what waits and who works; an outage is an outage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from devclaw_py import catalogue
from devclaw_py.errors import StateCorrupt
from devclaw_py.model.caller import HUMAN, Caller, CallerKind
from devclaw_py.model.pipeline import State
from devclaw_py.model.project import Project
from tests.conftest import GROUP, Office


def status(office: Office, **arguments: Any) -> dict[str, Any]:
    """Return the status of all projects."""
    return catalogue.call(office.app, "queue_status", arguments, HUMAN)


def test_the_queues_are_listed_oldest_first(office: Office) -> None:
    first = office.seed("First")
    office.seed("Second")
    improve = office.seed("Improve", State.TO_IMPROVE)
    office.seed("Test", State.TO_TEST)

    answer = office.done("queue_status")

    queue = answer["projects"][0]["queue"]
    assert answer["counts"] == {"toImprove": 1, "toTest": 1, "toDo": 2}
    assert queue["toImprove"] == [{"id": improve, "title": "Improve", "priority": 3, "url": "memory://shop/3"}]
    assert queue["toDo"][0]["id"] == first


def test_what_waits_for_a_person_is_listed_and_announced(office: Office) -> None:
    issue = office.seed("Which colour?", State.REFINING)

    answer = office.done("queue_status")

    assert [task["id"] for task in answer["projects"][0]["refining"]] == [issue]
    assert "1 Refining" in answer["announcement"]


def test_a_project_that_is_held_back_says_so(office: Office) -> None:
    office.done("project_mode", mode="paused")

    answer = office.done("queue_status")

    assert answer["projects"][0]["mode"] == "paused"
    assert "It is paused: nothing more is handed out" in answer["announcement"]


def test_a_project_that_runs_says_nothing_of_its_mode(office: Office) -> None:
    assert "handed out" not in office.done("queue_status")["announcement"]


def test_all_issues_are_listed_however_many(office: Office) -> None:
    for number in range(150):
        office.seed(f"Task {number}")

    assert office.done("queue_status")["counts"]["toDo"] == 150


def test_the_workers_are_shown_with_what_they_hold(office: Office) -> None:
    issue = office.doing()

    entry = office.done("queue_status")["projects"][0]

    assert (entry["dev"]["active"], entry["dev"]["issueId"], entry["dev"]["model"]) == (True, issue, "medior")
    assert (entry["qa"]["active"], entry["qa"]["issueId"]) == (False, None)
    assert "DEV on #1, QA idle" in office.done("queue_status")["announcement"]


def test_an_unknown_project_is_refused_with_the_known_ones(office: Office) -> None:
    answer = status(office, projectGroupId="-9")

    assert answer["error"]["code"] == "unknown_project"
    assert "shop (-1001)" in answer["error"]["message"]
    assert "project_register" in answer["error"]["hint"]


def test_a_tracker_that_is_down_is_an_error_and_no_empty_queue(office: Office) -> None:
    office.seed()
    office.faulty_tracker().down()

    answer = office.done("queue_status")

    assert answer["projects"][0]["queue"] is None
    assert answer["projects"][0]["error"]["code"] == "tracker_unavailable"
    assert "⚠️" in answer["announcement"]


def test_one_projects_broken_tracker_leaves_the_others_readable(office: Office) -> None:
    office.app.store.registry.add(Project(group_id="-2", name="blog", repo="/nowhere/blog"))
    office.seed()
    inner = office.app.open_tracker

    def broken(project: Project) -> Any:
        if project.name == "blog":
            raise StateCorrupt("its numbers cannot be read")
        return inner(project)

    office.app = replace(office.app, open_tracker=broken)

    shop, blog = status(office)["projects"]

    assert len(shop["queue"]["toDo"]) == 1
    assert blog["error"]["code"] == "state_corrupt"


def test_a_bound_orchestrator_sees_its_own_group_only(office: Office) -> None:
    office.app.store.registry.add(Project(group_id="-2", name="blog", repo="/nowhere/blog"))
    bound = Caller(kind=CallerKind.ORCHESTRATOR, group_id=GROUP)

    answer = catalogue.call(office.app, "queue_status", {}, bound)

    assert [entry["name"] for entry in answer["projects"]] == ["shop"]


def test_a_waiting_report_is_shown_with_its_reason(office: Office) -> None:
    issue = office.testing()
    office.work.repo(office.project).waiting = "the main checkout has tracked changes"
    office.done("task_complete", role="qa", result="pass")

    parked = office.done("queue_status")["projects"][0]["parked"]

    assert (parked[0]["tool"], parked[0]["issueId"]) == ("task_complete", issue)
    assert "tracked changes" in parked[0]["reason"]


def test_a_status_takes_no_lock(office: Office) -> None:
    with office.app.store.hold(f"project:{GROUP}", wait_s=1, holder="somebody"):
        office.done("queue_status")


def test_a_status_changes_nothing(office: Office) -> None:
    office.doing()
    before = office.snapshot()

    office.done("queue_status")

    assert office.snapshot() == before


def test_no_projects_are_said(tmp_path: Any, office: Office) -> None:
    office.app.store.registry.remove(GROUP)

    assert "No projects are registered" in status(office)["announcement"]


def test_the_sums_are_unknown_when_a_tracker_is_down(office: Office) -> None:
    office.seed()
    office.faulty_tracker().down()

    answer = office.done("queue_status")

    assert answer["counts"] == {"toImprove": None, "toTest": None, "toDo": None}
    assert "nothing waits" not in answer["announcement"]


def test_an_operation_without_an_issue_is_named_by_its_tool(office: Office) -> None:
    tracker = office.faulty_tracker()
    tracker.arm("create", after=True)
    tracker.arm("list_all", after=False)
    office.call("task_create", title="One")

    assert "task_create waits" in office.done("queue_status")["announcement"]
