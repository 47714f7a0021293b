"""Budgets: nothing is handed out without money, a worker that has none rests, and a group is told once."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from devclaw_py.model.caller import CHAIN, HEARTBEAT
from devclaw_py.model.pipeline import State, Tier
from devclaw_py.model.settings import BudgetSettings
from devclaw_py.night.heartbeat import beat, tick
from devclaw_py.rules.schedule import Plan
from tests.conftest import Office

DEV = "shop-dev-medior"
FIRST = f"{DEV}#1"


@pytest.fixture
def worker(office: Office) -> Office:
    """An office whose worker counts tokens; a thousand of them cost a dollar."""
    office.agent.used[DEV] = 0.0
    office.agent.spent[FIRST] = 0
    return office


def limited(office: Office, **budget: Any) -> None:
    settings = office.app.settings.model_copy(update={"budget": BudgetSettings(**budget)})
    office.app = replace(office.app, settings=settings)


def spend(office: Office, usd: float) -> None:
    office.agent.spent[FIRST] = (office.agent.spent[FIRST] or 0) + int(1000 * usd)


def spent(office: Office, usd: float) -> int:
    """Have a task reported that has cost so much."""
    issue = office.doing()
    spend(office, usd)
    office.done("task_complete", role="dev", result="done")
    return issue


def planned(office: Office) -> Plan:
    return tick(office.app, dry_run=True).plan


@pytest.mark.parametrize(
    "budget",
    [{"project_usd": 2}, {"project_tokens": 2000}, {"day_usd": 2}, {"tier_usd": {Tier.MEDIOR: 2}}],
    ids=["project", "tokens", "day", "tier"],
)
def test_nothing_is_handed_out_of_a_budget_that_is_used_up(worker: Office, budget: dict[str, Any]) -> None:
    spent(worker, 2)
    issue = worker.seed("Next")
    limited(worker, **budget)

    found = planned(worker)

    assert issue not in [pickup.issue for pickup in found.pickups]
    assert "is used up" in next(held.why for held in found.held if held.issue == issue)


def test_what_is_left_of_a_budget_is_handed_out(worker: Office) -> None:
    spent(worker, 1.9)
    issue = worker.seed("Next")
    limited(worker, project_usd=2)

    assert issue in [pickup.issue for pickup in planned(worker).pickups]


def test_a_tasks_budget_keeps_no_other_task_waiting(worker: Office) -> None:
    issue = spent(worker, 2)
    worker.done("task_update", issueId=issue, state="To Improve")
    other = worker.seed("Other")
    limited(worker, task_usd=2)

    assert [pickup.issue for pickup in planned(worker).pickups] == [other]


def test_a_new_day_has_a_new_budget(worker: Office) -> None:
    spent(worker, 2)
    issue = worker.seed("Next")
    limited(worker, project_usd=2)

    worker.clock.sleep(86400)

    assert issue in [pickup.issue for pickup in planned(worker).pickups]


def test_what_another_worker_has_used_up_to_now_counts(worker: Office) -> None:
    worker.done("project_update", workers={"dev": 2})
    worker.doing()
    issue = worker.seed("Next")
    limited(worker, project_usd=2)
    spend(worker, 2)

    assert issue not in [pickup.issue for pickup in planned(worker).pickups]


@pytest.mark.parametrize("caller", [HEARTBEAT, CHAIN], ids=str)
def test_an_unattended_pickup_is_held_back_at_the_door_and_a_persons_is_not(worker: Office, caller: Any) -> None:
    spent(worker, 2)
    issue = worker.seed("Next")
    limited(worker, project_usd=2)

    assert worker.refused("task_pickup", caller, role="dev", issueId=issue, model="medior") == "worker_busy"
    worker.done("task_pickup", role="dev", issueId=issue, model="medior")


def test_what_follows_a_report_waits_for_money(worker: Office) -> None:
    worker.change(auto_chain=True)
    limited(worker, project_usd=2)

    issue = worker.doing()
    spend(worker, 2)
    answer = worker.done("task_complete", role="dev", result="done")

    assert (answer["autoChain"]["dispatched"], answer["autoChain"]["waiting"]) == (False, True)
    assert worker.states(issue) == (State.TO_TEST,)


def test_a_worker_that_uses_a_budget_up_is_put_to_rest_and_its_task_is_kept(worker: Office) -> None:
    limited(worker, task_usd=2)
    issue = worker.doing()
    worker.agent.resumes = True
    spend(worker, 2.5)

    beat(worker.app)

    assert worker.states(issue) == (State.TO_DO,)
    assert not worker.seat("dev").active
    assert [session.name for session in worker.terminal.sessions() if session.alive] == []
    (attempt,) = worker.app.store.journal.attempts(worker.project.group_id, issue)
    assert (attempt.reason, attempt.usage and attempt.usage.cost_usd) == ("budget", 2.5)


def test_it_is_not_handed_out_again_until_the_limit_is_raised(worker: Office) -> None:
    limited(worker, task_usd=2)
    issue = worker.doing()
    spend(worker, 2.5)
    beat(worker.app)
    beat(worker.app)
    assert worker.states(issue) == (State.TO_DO,)

    worker.done("project_update", budget={"taskUsd": 5})
    beat(worker.app)

    assert worker.states(issue) == (State.DOING,)


def test_a_worker_that_spends_too_much_is_stopped_although_the_tracker_is_down(worker: Office) -> None:
    limited(worker, task_usd=2)
    issue = worker.doing()
    worker.agent.resumes = True
    spend(worker, 2.5)
    faulty = worker.faulty_tracker()
    faulty.down()

    beat(worker.app)
    beat(worker.app)

    assert [session.name for session in worker.terminal.sessions() if session.alive] == []
    faulty.up()
    beat(worker.app)
    assert worker.states(issue) == (State.TO_DO,)


def test_a_task_that_a_person_picked_up_over_the_budget_goes_on(worker: Office) -> None:
    spent(worker, 2)
    limited(worker, project_usd=2)
    issue = worker.doing("Next")
    spend(worker, 2)

    beat(worker.app)

    assert worker.states(issue) == (State.DOING,)


def test_a_report_that_is_in_is_not_cut_off(worker: Office) -> None:
    limited(worker, task_usd=2)
    issue = worker.doing()
    spend(worker, 2.5)
    worker.done("task_complete", role="dev", result="done")

    beat(worker.app)

    assert worker.states(issue) == (State.TO_TEST,)
    assert "over_budget" not in [line.get("finding") for line in worker.lines("health_fix")]


def test_the_group_is_told_once_what_it_cost_and_how_to_go_on(worker: Office) -> None:
    heard = worker.hear()
    spent(worker, 2)
    worker.seed("Next")
    worker.seed("Another")
    limited(worker, project_usd=2)

    for _ in range(3):
        beat(worker.app)

    (told,) = [row.announcement for row in heard if row.announcement.emoji == "💰"]
    assert told.text == (
        "shop waits: the budget of the project for this day is used up: $2.00 of $2.00. "
        "An attempt has cost $2.00 on average."
    )
    assert "devclaw project-update --project-group-id -1001 --budget projectUsd=4" in told.notes[0]


def test_health_without_autofix_says_it_and_stops_nobody(worker: Office) -> None:
    limited(worker, task_usd=2)
    worker.doing()
    spend(worker, 2.5)

    found = worker.done("session_health")

    assert [issue["type"] for issue in found["issues"]] == ["over_budget"]
    assert [session.alive for session in worker.terminal.sessions()] == [True]


def test_a_projects_own_limits_are_kept_and_taken_back(office: Office) -> None:
    office.done("project_update", budget={"taskUsd": 5, "projectTokens": 1000})
    office.done("project_update", budget={"taskUsd": None})
    assert office.project.budget == {"projectTokens": 1000}

    office.done("project_update", budget={"projectTokens": None})

    assert office.project.budget == {}
    assert "budget" not in office.project.on_disk()
    assert office.done("project_update", budget={"projectTokens": None})["changed"] == {}


@pytest.mark.parametrize("budget", [{"dayUsd": 5}, {"taskUsd": -1}, {"taskUsd": "much"}])
def test_a_limit_that_a_project_cannot_have_is_refused(office: Office, budget: dict[str, Any]) -> None:
    assert office.refused("project_update", budget=budget) == "invalid_arguments"
