"""Pausing, draining, stopping and resuming a project."""

from __future__ import annotations

import pytest

from devclaw_py.model.caller import CHAIN, HEARTBEAT
from devclaw_py.model.pipeline import Mode, State
from tests.conftest import Office


@pytest.mark.parametrize("mode", ["paused", "draining", "stopped"])
def test_nothing_new_is_begun_unattended_until_the_project_is_resumed(office: Office, mode: str) -> None:
    issue = office.seed()
    office.done("project_mode", mode=mode)

    assert office.refused("task_pickup", HEARTBEAT, role="dev", issueId=issue) == "worker_busy"
    office.done("project_mode", mode="running")
    office.done("task_pickup", HEARTBEAT, role="dev", issueId=issue)


def test_a_persons_own_pickup_is_not_held_back(office: Office) -> None:
    office.done("project_mode", mode="paused")

    office.done("task_pickup", role="dev", issueId=office.seed())


def test_what_follows_a_report_waits_while_the_project_is_paused(office: Office) -> None:
    office.change(auto_chain=True)
    issue = office.doing()
    office.done("project_mode", mode="paused")

    answer = office.done("task_complete", role="dev", result="done")

    assert (answer["autoChain"]["dispatched"], answer["autoChain"]["waiting"]) == (False, True)
    assert office.states(issue) == (State.TO_TEST,)


def test_a_draining_project_still_tests_what_was_begun(office: Office) -> None:
    issue = office.doing()
    office.done("project_mode", mode="draining")
    office.done("task_complete", role="dev", result="done")

    office.done("task_pickup", CHAIN, role="qa", issueId=issue)


def test_stop_puts_the_workers_to_rest_and_their_tasks_back(office: Office) -> None:
    issue = office.doing()

    answer = office.done("project_mode", mode="stopped")

    assert (answer["stopped"], answer["putBack"]) == (["shop-dev-medior"], [issue])
    assert office.states(issue) == (State.TO_DO,)
    assert not office.seat("dev").active
    assert office.terminal.sessions() == []


def test_a_stop_ends_the_sessions_although_the_tracker_is_down(office: Office) -> None:
    issue = office.doing()
    office.faulty_tracker().down()

    answer = office.done("project_mode", mode="stopped")

    assert (answer["stopped"], answer["putBack"]) == (["shop-dev-medior"], [])
    assert office.project.mode is Mode.STOPPED
    assert office.tracker.get(issue).labels


def test_a_stopped_projects_dead_session_is_never_resumed(office: Office) -> None:
    issue = office.doing()
    office.agent.resumes = True
    office.done("project_mode", mode="stopped")

    office.done("session_health", autoFix=True)

    assert office.states(issue) == (State.TO_DO,)
    assert [session.name for session in office.terminal.sessions() if session.alive] == []


def test_the_group_is_told_once_what_the_project_does_from_now_on(office: Office) -> None:
    heard = office.hear()

    office.done("project_mode", mode="paused")
    office.done("project_mode", mode="paused")

    assert [row.announcement.text for row in heard] == [
        'Project "shop" is paused: nothing more is handed out, what is at work goes on.'
    ]
