"""A task's whole way through the tools, over fakes."""

from __future__ import annotations

from devclaw_py.model.pipeline import State
from tests.conftest import Office


def test_a_task_goes_from_to_do_to_done(office: Office) -> None:
    issue = office.seed()

    office.done("task_pickup", issueId=issue, role="dev", model="medior")
    office.work.repo(office.app.store.registry.get("-1001")).commit(f"devclaw/{issue}-add-a-footer")
    office.done("task_complete", role="dev", result="done", summary="Footer stands")
    office.done("task_pickup", issueId=issue, role="qa")
    office.done("task_complete", role="qa", result="pass", summary="Seen it")

    assert office.states(issue) == (State.DONE,)
    assert office.tracker.get(issue).closed
    assert not office.seat("dev").active
    assert not office.seat("qa").active
