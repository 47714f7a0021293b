"""What a task used: one line in the audit log, and sums in the journal."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from devclaw_py.model.usage import Spending, Tokens
from tests.conftest import GROUP, Office

DEV = "shop-dev-medior"
FIRST = f"{DEV}#1"


@pytest.fixture
def worker(office: Office) -> Office:
    """An office whose worker has a conversation in which something was said already."""
    office.agent.used[DEV] = 0.0
    office.agent.spent[FIRST] = 1000
    return office


def usages(office: Office) -> list[Mapping[str, object]]:
    return office.lines("task_usage")


def spending(office: Office, group: str | None = GROUP) -> Spending:
    now = office.clock.now()
    return office.app.store.journal.spending(group, since=now - timedelta(days=1), until=now + timedelta(days=1))


def test_a_reported_task_has_its_tokens_and_cost_since_its_pickup(worker: Office) -> None:
    issue = worker.doing()
    worker.agent.spent[FIRST] = 1500

    worker.done("task_complete", role="dev", result="done")

    (line,) = usages(worker)
    tokens = {"memory": {"input": 0, "output": 500, "cacheRead": 0, "cacheCreation": 0}}
    assert (line["issue"], line["attempt"], line["tokens"], line["costUsd"]) == (issue, 1, tokens, 0.5)
    assert spending(worker) == Spending(attempts=1, tokens=Tokens(output=500), cost_usd=0.5)


def test_what_is_said_after_a_report_counts_for_the_next_task(worker: Office) -> None:
    worker.doing()
    worker.agent.spent[FIRST] = 1500
    worker.done("task_complete", role="dev", result="done")
    worker.agent.spent[FIRST] = 1600
    worker.doing("Second")
    worker.agent.spent[FIRST] = 1700

    worker.done("task_complete", role="dev", result="done")

    assert [line["costUsd"] for line in usages(worker)] == [0.5, 0.2]
    assert spending(worker).tokens == Tokens(output=700)


def test_a_task_that_somebody_moved_has_its_usage(worker: Office) -> None:
    issue = worker.doing()
    worker.agent.spent[FIRST] = 1010

    worker.done("task_update", issueId=issue, state="Planning")

    assert [(line["ended"], line["costUsd"]) for line in usages(worker)] == [("moved", 0.01)]


def test_a_task_that_health_took_from_a_dead_session_has_its_usage(worker: Office) -> None:
    worker.doing()
    worker.agent.spent[FIRST] = 1010
    worker.terminal.kill(DEV)

    worker.done("session_health", autoFix=True)

    assert [line["costUsd"] for line in usages(worker)] == [0.01]
    assert spending(worker).attempts == 1


def test_a_report_that_somebody_beat_has_its_usage(worker: Office) -> None:
    issue = worker.doing()
    worker.agent.spent[FIRST] = 1010
    worker.tracker.take(issue, worker.states(issue)[0])
    worker.tracker.put(issue, worker.states(worker.seed("x"))[0])

    assert worker.refused("task_complete", role="dev", result="done", issueId=issue, attempt=1) == "conflict"

    assert [(line["ended"], line["costUsd"]) for line in usages(worker)] == [("conflict", 0.01)]


def test_usage_that_cannot_be_read_is_null_and_the_task_completes(worker: Office) -> None:
    issue = worker.doing()
    worker.agent.spent[FIRST] = None

    worker.done("task_complete", role="dev", result="done")

    assert [state.value for state in worker.states(issue)] == ["To Test"]
    assert [(line["tokens"], line["costUsd"]) for line in usages(worker)] == [(None, None)]
    assert spending(worker) == Spending(attempts=1, uncounted=1, unpriced=1)


def test_a_report_that_waited_is_counted_up_to_the_next_task_of_the_session(worker: Office) -> None:
    issue = worker.doing()
    faulty = worker.faulty_tracker()
    faulty.down()
    worker.agent.spent[FIRST] = 1500
    assert worker.done("task_complete", role="dev", result="done")["pending"]
    faulty.up()
    second = worker.seed("Second")
    worker.done("task_pickup", issueId=second, role="dev", model="medior")
    worker.agent.spent[FIRST] = 9000

    worker.done("session_health", autoFix=True)

    assert [(line["issue"], line["costUsd"]) for line in usages(worker)] == [(issue, 0.5)]


def test_a_pickup_that_was_undone_has_no_usage(worker: Office) -> None:
    worker.agent.accepts = False

    worker.refused("task_pickup", issueId=worker.seed(), role="dev", model="medior")

    assert usages(worker) == []


def test_an_agent_that_counts_nothing_has_no_line(office: Office) -> None:
    office.doing()

    office.done("task_complete", role="dev", result="done")

    assert usages(office) == []
    assert spending(office) == Spending()


def test_an_attempts_usage_is_in_the_journal_for_good(worker: Office) -> None:
    issue = worker.doing()
    worker.agent.spent[FIRST] = 1500
    worker.done("task_complete", role="dev", result="done")

    (attempt,) = worker.app.store.journal.attempts(GROUP, issue)

    assert attempt.usage is not None
    assert attempt.usage.total == Tokens(output=500)
