"""What follows a report when the next task is for the very session that reports."""

from __future__ import annotations

import pytest

from devclaw_py.model.caller import Caller, CallerKind
from devclaw_py.model.pipeline import Role, State, Tier
from tests.conftest import GROUP, Office

QA = Caller(kind=CallerKind.WORKER, group_id=GROUP, role=Role.QA, tier=Tier.QA, session="shop-qa-qa")


@pytest.fixture
def testing(office: Office) -> Office:
    """QA holds #1 and reports from a session at work, and #2 waits for QA."""
    office.app.store.registry.change(GROUP, lambda found: found.model_copy(update={"auto_chain": True}))
    for issue in (office.seed("One"), office.seed("Two")):
        office.done("task_pickup", issueId=issue, role="dev")
        office.done("task_complete", role="dev", result="done")
    office.agent.working.add("shop-qa-qa")
    return office


def report(office: Office) -> None:
    office.done("task_complete", QA, role="qa", result="pass", issueId=1, attempt=2)


def test_a_report_does_not_use_up_an_attempt_on_its_own_session(testing: Office) -> None:
    report(testing)

    assert [attempt.number for attempt in testing.app.store.journal.attempts(GROUP, 2)] == [1]


def test_the_task_that_waits_for_the_session_is_picked_up_by_the_next_call(testing: Office) -> None:
    report(testing)
    testing.agent.working.clear()

    testing.done("task_comment", issueId=2, body="anything")

    assert testing.states(2) == (State.TESTING,)
