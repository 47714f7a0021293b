"""Work that is found at a desk is saved under the task that left it, and the audit log says so."""

from __future__ import annotations

import pytest

from devclaw_py.model.pipeline import Role, Tier
from tests.conftest import Office


@pytest.fixture
def left(office: Office) -> Office:
    """An office in which #1 was blocked and has left an edit at the desk of dev medior."""
    office.doing("A")
    office.done("task_complete", role="dev", result="blocked", summary="x")
    office.work.repo(office.project).edit(office.work.desk(office.project, Role.DEV, Tier.MEDIOR).worktree)
    return office


def test_work_is_rescued_under_the_task_that_left_it(left: Office) -> None:
    busy, next_ = left.seed("B"), left.seed("C")
    left.agent.working.add("shop-dev-medior")
    assert left.refused("task_pickup", issueId=busy, role="dev", model="medior") == "worker_busy"
    left.agent.working.clear()

    left.done("task_pickup", issueId=next_, role="dev", model="medior")

    assert [rescue.ref for rescue in left.work.repo(left.project).rescues] == ["refs/devclaw/rescue/1/1-1"]


def test_the_rescue_of_an_undone_pickup_stands_in_the_audit_log(left: Office) -> None:
    issue = left.seed("B")
    left.agent.accepts = False

    assert left.refused("task_pickup", issueId=issue, role="dev", model="medior") == "delivery_unconfirmed"

    assert len(left.lines("rescue")) == 1
