"""The heartbeat hands out: from the queues of all projects, through the door."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from devclaw_py.model.caller import CHAIN
from devclaw_py.model.pipeline import Mode, State
from devclaw_py.model.project import Project
from devclaw_py.night.dispatch import Handed, hand_out
from devclaw_py.trackers.faulty import FaultyTracker
from devclaw_py.trackers.memory import MemoryTracker
from tests.conftest import GROUP, Office


def handed(office: Office, **more: Any) -> Handed:
    projects = office.app.store.registry.all().values()
    return hand_out(office.app, projects, room=more.pop("room", 12), **more)


def given(found: Handed) -> list[tuple[int, str]]:
    return [(answer["issueId"], answer["role"]) for answer in found.answers if answer["success"]]


def fail_test(office: Office, issue: int) -> None:
    office.done("task_complete", role="dev", result="done", issueId=issue)
    office.done("task_pickup", role="qa", issueId=issue)
    office.done("task_complete", role="qa", result="fail", summary="It is red.", issueId=issue)


def test_dev_and_qa_get_their_next_issues_in_one_tick(office: Office) -> None:
    todo, tested = office.seed(), office.seed(state=State.TO_TEST)

    found = handed(office)

    assert given(found) == [(tested, "qa"), (todo, "dev")]
    assert (office.states(todo), office.states(tested)) == ((State.DOING,), (State.TESTING,))


def test_a_dry_run_says_what_would_be_done_and_does_nothing(office: Office) -> None:
    office.seed()
    before = office.snapshot()

    found = handed(office, dry_run=True)

    assert ([pickup.issue for pickup in found.plan.pickups], found.answers) == ([1], [])
    assert office.snapshot() == before


def test_each_pickup_of_the_heartbeat_has_its_line(office: Office) -> None:
    office.seed()
    handed(office)

    (line,) = office.lines("task_pickup")
    assert line["caller"] == "heartbeat"


def test_a_project_that_cannot_be_read_costs_the_others_nothing(office: Office) -> None:
    office.app.store.registry.add(
        office.project.model_copy(update={"group_id": "-1002", "name": "till", "slug": "till", "repo": "/till"})
    )
    other, down = MemoryTracker("till", clock=office.clock), FaultyTracker(office.tracker)
    issue = other.create("Fix it", "", labels=[State.TO_DO.value]).number
    down.down()
    office.app = replace(office.app, open_tracker=lambda project: down if project.group_id == GROUP else other)

    found = handed(office)

    assert list(found.troubles) == [GROUP]
    assert [(answer["groupId"], answer["issueId"]) for answer in found.answers] == [("-1002", issue)]


def test_a_pickup_that_fails_pauses_and_the_next_issue_is_not_kept_waiting(office: Office) -> None:
    first, second = office.seed(), office.seed()
    office.agent.accepts = False
    handed(office)
    office.agent.accepts = True

    found = handed(office)

    assert office.states(first) == (State.TO_DO,)
    assert given(found) == [(second, "dev")]


def test_a_session_that_fails_stops_the_projects_further_pickups_of_the_tick(office: Office) -> None:
    office.done("project_update", workers={"dev": 3})
    for _ in range(3):
        office.seed()
    office.agent.accepts = False

    found = handed(office)

    assert [answer["error"]["code"] for answer in found.answers] == ["delivery_unconfirmed"]


def test_after_two_failures_the_next_tier_has_it(office: Office) -> None:
    issue = office.seed("Fix a typo")
    tiers = []
    for _ in range(3):
        handed(office)
        tiers.append(office.seat("dev").model)
        fail_test(office, issue)

    assert tiers == ["junior", "junior", "medior"]


def test_an_issue_that_keeps_coming_back_ends_in_refining_with_its_story(office: Office) -> None:
    issue = office.seed("Fix a typo")
    for _ in range(office.app.settings.limits.attempts):
        handed(office)
        fail_test(office, issue)

    handed(office)

    assert office.states(issue) == (State.REFINING,)
    story = office.comments(issue)[-1]
    assert story.count("* attempt ") == 2 * office.app.settings.limits.attempts
    assert "fail: It is red." in story


def test_a_person_who_puts_it_back_gets_as_many_attempts_again(office: Office) -> None:
    issue = office.seed("Fix a typo")
    for _ in range(office.app.settings.limits.attempts):
        handed(office)
        fail_test(office, issue)
    handed(office)

    office.done("task_update", issueId=issue, state="To Do")

    assert given(handed(office)) == [(issue, "dev")]


def test_a_stop_between_comment_and_move_repeats_neither(office: Office) -> None:
    issue = office.seed("Fix a typo")
    for _ in range(office.app.settings.limits.attempts):
        handed(office)
        fail_test(office, issue)
    faulty = office.faulty_tracker()
    faulty.arm("put", after=False)
    handed(office)

    handed(office)

    assert office.states(issue) == (State.REFINING,)
    assert sum("keeps coming back" in comment for comment in office.comments(issue)) == 1


def test_a_paused_project_is_left_alone(office: Office) -> None:
    office.seed()
    office.change(mode=Mode.PAUSED)

    assert handed(office).answers == []


def sequential(office: Office) -> None:
    beat = office.app.settings.heartbeat.model_copy(update={"project_execution": "sequential"})
    office.app = replace(office.app, settings=office.app.settings.model_copy(update={"heartbeat": beat}))


def test_one_project_at_a_time_holds_for_what_follows_a_report_too(office: Office) -> None:
    sequential(office)
    repo = str(office.app.workspace / "other")
    office.app.store.registry.add(Project(group_id="-2", name="other", slug="other", repo=repo, base_branch="main"))
    issue = office.seed(state=State.TO_TEST)
    elsewhere = office.app.open_tracker(office.app.store.registry.get("-2")).create("x", "", labels=["To Do"])
    office.done("task_pickup", projectGroupId="-2", issueId=elsewhere.number, role="dev")

    assert office.refused("task_pickup", CHAIN, role="qa", issueId=issue) == "worker_busy"
    office.done("task_pickup", role="qa", issueId=issue)
