"""A journal that was deleted and a registry that somebody broke: no number comes twice, no report is lost."""

from __future__ import annotations

from pathlib import Path

from devclaw_py.model.pipeline import State
from devclaw_py.state.files import FilesStore
from tests.conftest import GROUP, Office, make_office
from tests.crash.cases import restarted


def without_journal(office: Office) -> Office:
    """Return the office after somebody has deleted the journal."""
    store = office.app.store
    assert isinstance(store, FilesStore)
    store.disconnect()
    for path in (office.app.workspace / "memory").glob("journal.db*"):
        path.unlink()
    return restarted(office)


def used(office: Office, issue: int, times: int) -> None:
    """Have attempts at an issue that come to nothing."""
    for _ in range(times):
        office.done("task_pickup", issueId=issue, role="dev")
        office.done("task_complete", role="dev", result="blocked", summary="No key")
        office.done("task_update", issueId=issue, state="To Do")


def test_a_lost_journal_repeats_no_number_of_a_second_issue(office: Office) -> None:
    first, second = office.seed("Add a footer"), office.seed("Add a header")
    used(office, second, 2)
    office = without_journal(office)
    used(office, first, 1)

    assert office.done("task_pickup", issueId=second, role="dev")["attempt"] == 3


def test_an_acceptance_from_before_the_loss_is_not_taken_for_a_new_one(office: Office) -> None:
    issue = office.seed()
    used(office, issue, 1)
    (office.app.workspace / "memory" / "audit.log").unlink()
    office = without_journal(office)

    assert office.done("task_pickup", issueId=issue, role="dev")["attempt"] == 2


def test_a_worker_at_work_when_the_journal_is_lost_can_still_report(office: Office) -> None:
    issue = office.doing()
    office = without_journal(office)

    answer = office.done(
        "task_complete", office.worker(), role="dev", issueId=issue, attempt=1, result="done", summary="Stands"
    )

    assert (answer["attempt"], office.states(issue)) == (1, (State.TO_TEST,))


def test_a_pass_of_an_unknown_commit_says_that_nothing_was_merged(office: Office) -> None:
    issue = office.testing()
    office = without_journal(office)

    answer = office.done("task_complete", role="qa", result="pass", issueId=issue)

    assert "was not merged" in answer["announcement"]


def test_a_report_is_kept_while_the_registry_cannot_be_read(tmp_path: Path) -> None:
    office = make_office(tmp_path)
    issue = office.doing()
    registry = tmp_path / "memory" / "projects.json"
    good = registry.read_text()
    registry.write_text(good[:-9])

    answer = office.done(
        "task_complete", office.worker(), role="dev", issueId=issue, attempt=1, result="done", summary="Stands"
    )
    registry.write_text(good)
    office.call("session_health", autoFix=True)

    assert answer["pending"]
    assert office.states(issue) == (State.TO_TEST,)
    assert [attempt.reason for attempt in office.app.store.journal.attempts(GROUP)] == ["done"]


def test_a_request_that_waits_is_not_begun_again(office: Office) -> None:
    office.kill_at("create.2.issue")
    office.killed("task_create", title="New", requestId="r1")
    office = restarted(office)
    faulty = office.faulty_tracker()
    faulty.down()
    office.call("task_create", title="New", requestId="r1")
    faulty.up()

    office.done("task_create", title="New", requestId="r1")

    assert [task.title for task in office.tracker.list_all()] == ["New"]


def test_what_waits_is_tried_although_the_clock_was_set_back(office: Office) -> None:
    issue = office.doing()
    faulty = office.faulty_tracker()
    faulty.down()
    assert office.done("task_complete", role="dev", result="done")["pending"]
    faulty.up()
    office.clock.sleep(-3600)

    office.call("session_health", autoFix=False)
    office.call("task_create", title="Anything")

    assert office.states(issue) == (State.TO_TEST,)
