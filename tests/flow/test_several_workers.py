"""Several workers of one role: each has its seat, its sessions and its worktrees."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from devclaw_py.model.caller import Caller, CallerKind
from devclaw_py.model.pipeline import Role, RoleExecution, SeatKey, State, Tier
from tests.conftest import GROUP, Office


@pytest.fixture
def three(office: Office) -> Office:
    """A project with three devs."""
    office.done("project_update", workers={"dev": 3})
    return office


def pickup(office: Office, **more: Any) -> dict[str, Any]:
    return office.done("task_pickup", role="dev", model="medior", **more)


def worker(office: Office, key: SeatKey) -> Caller:
    seat = office.project.seat(*key)
    assert seat.tier is not None
    return Caller(
        kind=CallerKind.WORKER, group_id=GROUP, role=key.role, tier=seat.tier, session=seat.session(seat.tier)
    )


def test_as_many_tasks_run_as_there_are_workers_and_no_more(three: Office) -> None:
    for _ in range(4):
        three.seed()

    sessions = [pickup(three)["sessionKey"] for _ in range(3)]

    assert sessions == ["tmux:shop-dev-medior", "tmux:shop-dev-medior-2", "tmux:shop-dev-medior-3"]
    assert three.refused("task_pickup", role="dev", model="medior") == "worker_busy"
    assert len({str(three.work.desk(three.project, Role.DEV, Tier.MEDIOR, n).worktree) for n in (1, 2, 3)}) == 3


def test_each_worker_ends_its_own_task(three: Office) -> None:
    issues = [three.seed() for _ in range(3)]
    for issue in issues:
        pickup(three, issueId=issue)
    key = SeatKey(Role.DEV, 2)

    three.done("task_complete", worker(three, key), role="dev", result="done", issueId=issues[1], attempt=1)

    assert [three.states(issue) for issue in issues] == [(State.DOING,), (State.TO_TEST,), (State.DOING,)]
    assert [seat.active for seat in three.project.seats(Role.DEV).values()] == [True, False, True]


def test_a_worker_cannot_end_the_task_of_the_one_beside_it(three: Office) -> None:
    issues = [three.seed() for _ in range(2)]
    for issue in issues:
        pickup(three, issueId=issue)

    answer = three.call(
        "task_complete", worker(three, SeatKey(Role.DEV, 2)), role="dev", result="done", issueId=issues[0], attempt=1
    )

    assert answer["error"]["code"] == "not_allowed"
    assert three.states(issues[0]) == (State.DOING,)


def test_a_report_that_could_mean_two_tasks_needs_the_issue(three: Office) -> None:
    for _ in range(2):
        three.seed()
        pickup(three)

    assert three.refused("task_complete", role="dev", result="done") == "invalid_arguments"


def test_a_fix_goes_to_the_worker_that_knows_the_task(three: Office) -> None:
    issues = [three.seed() for _ in range(3)]
    for issue in issues:
        pickup(three, issueId=issue)
    for issue in issues:
        three.done("task_complete", role="dev", result="done", issueId=issue)
    three.done("task_pickup", role="qa", issueId=issues[2])
    three.done("task_complete", role="qa", result="fail", summary="It is red.", issueId=issues[2])

    assert pickup(three, issueId=issues[2])["sessionKey"] == "tmux:shop-dev-medior-3"


def test_a_worker_that_has_a_session_of_the_tier_is_taken_before_a_new_one(three: Office) -> None:
    first = three.seed()
    pickup(three, issueId=first)
    three.done("task_complete", role="dev", result="done", issueId=first)

    second = pickup(three, issueId=three.seed())

    assert (second["sessionKey"], second["sessionAction"]) == ("tmux:shop-dev-medior", "send")


def test_one_role_at_a_time_counts_every_seat(three: Office) -> None:
    three.done("project_update", roleExecution=RoleExecution.SEQUENTIAL)
    tested = three.seed(state=State.TO_TEST)
    for _ in range(2):
        pickup(three, issueId=three.seed())
    three.done("task_complete", role="dev", result="done", issueId=three.project.dev.issue)

    assert three.refused("task_pickup", role="qa", issueId=tested) == "worker_busy"


def test_fewer_workers_leave_a_task_that_is_at_work_to_its_end(three: Office) -> None:
    issues = [three.seed() for _ in range(3)]
    for issue in issues:
        pickup(three, issueId=issue)

    three.done("project_update", workers={"dev": 1})
    three.done("task_complete", role="dev", result="done", issueId=issues[2])

    assert three.states(issues[2]) == (State.TO_TEST,)
    three.done("task_complete", role="dev", result="done", issueId=issues[0])
    assert pickup(three, issueId=three.seed())["sessionKey"] == "tmux:shop-dev-medior"
    assert three.refused("task_pickup", role="dev", model="medior", issueId=three.seed()) == "worker_busy"


def test_a_dead_session_costs_its_own_task_and_no_other(three: Office) -> None:
    issues = [three.seed() for _ in range(3)]
    for issue in issues:
        pickup(three, issueId=issue)
    three.terminal.kill("shop-dev-medior-2")

    answer = three.done("session_health", autoFix=True)

    assert [(found["type"], found["issueId"]) for found in answer["issues"]] == [("session_dead", issues[1])]
    assert [three.states(issue) for issue in issues] == [(State.DOING,), (State.TO_DO,), (State.DOING,)]
    assert [seat.active for seat in three.project.seats(Role.DEV).values()] == [True, False, True]


def test_a_person_moves_the_second_workers_issue_and_that_worker_is_told(three: Office) -> None:
    issues = [three.seed() for _ in range(2)]
    for issue in issues:
        pickup(three, issueId=issue)

    answer = three.done("task_update", issueId=issues[1], state="Planning")

    assert (answer["released"], answer["workerTold"]) == ("dev", True)
    assert [seat.active for seat in three.project.seats(Role.DEV).values()] == [True, False, False]


def test_the_file_of_a_project_with_one_worker_a_role_has_no_further_seats(office: Office) -> None:
    office.done("task_pickup", role="dev", model="medior", issueId=office.seed())
    text = (office.app.workspace / "memory" / "projects.json").read_text(encoding="utf-8")

    assert Counter(json.loads(text)["projects"][GROUP])["devWorkers"] == 0
    assert "workers" not in json.loads(text)["projects"][GROUP]


def test_the_file_has_the_further_seats_beside_the_first(three: Office) -> None:
    for _ in range(2):
        pickup(three, issueId=three.seed())
    text = (three.app.workspace / "memory" / "projects.json").read_text(encoding="utf-8")

    entry = json.loads(text)["projects"][GROUP]

    assert entry["workers"] == {"dev": 3}
    assert (entry["dev"]["issueId"], [seat["issueId"] for seat in entry["devWorkers"]]) == ("1", ["2"])


def test_queue_status_shows_every_seat(three: Office) -> None:
    for _ in range(2):
        pickup(three, issueId=three.seed())

    answer = three.done("queue_status")

    entry = answer["projects"][0]
    assert [entry["dev"]["issueId"], *(seat["issueId"] for seat in entry["devWorkers"])] == [1, 2, None]
    assert "DEV on #1, QA idle, DEV-2 on #2, DEV-3 idle" in answer["announcement"]


def test_a_number_of_workers_outside_the_bounds_is_refused(office: Office) -> None:
    assert office.refused("project_update", workers={"dev": 0}) == "invalid_arguments"
    assert office.refused("project_update", workers={"dev": 17}) == "invalid_arguments"


def test_a_task_that_a_worker_does_not_accept_goes_to_the_one_beside_it(three: Office) -> None:
    issue = three.seed()
    three.agent.deaf.add("shop-dev-medior")
    three.refused("task_pickup", role="dev", model="medior", issueId=issue)

    assert pickup(three, issueId=issue)["sessionKey"] == "tmux:shop-dev-medior-2"


def test_a_failed_delivery_does_not_make_a_desk_the_tasks_own(three: Office) -> None:
    first, second = three.seed(), three.seed()
    pickup(three, issueId=first)
    three.agent.deaf.add("shop-dev-medior-2")
    three.refused("task_pickup", role="dev", model="medior", issueId=second)
    three.done("task_complete", role="dev", result="blocked", summary="no", issueId=first)

    assert pickup(three, issueId=second)["sessionKey"] == "tmux:shop-dev-medior"
