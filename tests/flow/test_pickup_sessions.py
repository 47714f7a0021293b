"""task_pickup and the worker's session: kept, resumed, or a new one."""

from __future__ import annotations

from devclaw_py.model.journal import Intent
from devclaw_py.operations.shared import sessions_in_use
from tests.conftest import Office


def test_the_next_task_of_a_tier_goes_to_the_same_session(office: Office) -> None:
    office.doing()
    office.done("task_complete", role="dev", result="done")

    answer = office.done("task_pickup", issueId=office.seed("Second"), role="dev", model="medior")

    assert answer["sessionAction"] == "send"
    assert [session for session, _ in office.agent.received] == ["shop-dev-medior"] * 2


def test_another_tier_has_a_session_of_its_own_and_the_first_key_is_kept(office: Office) -> None:
    office.doing()
    office.done("task_complete", role="dev", result="done")

    answer = office.done("task_pickup", issueId=office.seed("Second"), role="dev", model="senior")

    assert answer["sessionAction"] == "spawn"
    assert office.seat("dev").sessions == {
        "junior": None,
        "medior": "tmux:shop-dev-medior",
        "senior": "tmux:shop-dev-senior",
    }


def test_a_dead_session_that_can_be_resumed_is(office: Office) -> None:
    office.doing()
    office.done("task_complete", role="dev", result="done")
    office.terminal.kill("shop-dev-medior")
    office.agent.resumes = True

    answer = office.done("task_pickup", issueId=office.seed("Second"), role="dev", model="medior")

    assert answer["sessionAction"] == "resume"
    assert "Resuming" in answer["announcement"]


def test_a_session_that_a_fix_is_about_to_resume_is_in_use(office: Office) -> None:
    fix = Intent(
        op="f",
        kind="health",
        tool="health_fix",
        group_id="-2",
        issue=1,
        session="blog-dev-medior",
        at=office.clock.now(),
    )
    office.app.store.journal.begin(fix)

    assert "blog-dev-medior" in sessions_in_use(office.app)
