"""Workers that hold a task and have not reported, over fakes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from devclaw_py.agents.memory import MemoryAgent
from devclaw_py.kernel.clock import timestamp
from devclaw_py.model.following import End, Ended
from devclaw_py.model.journal import Following
from devclaw_py.model.pipeline import State
from devclaw_py.night import heartbeat
from devclaw_py.operations.following import follow
from devclaw_py.rules.following import REMINDERS
from tests.conftest import GROUP, Killed, Office

DEV = "shop-dev-medior"


@pytest.fixture
def issue(office: Office) -> int:
    """An issue whose worker has accepted it and is idle."""
    return office.doing()


def ends(office: Office, issue: int, how: End = End.QUIET, *, key: str = "k1", ago_s: float = 0, **more: Any) -> None:
    at = office.clock.now() - timedelta(seconds=ago_s)
    office.agent.ends[f"{issue}.1"] = Ended(how=how, key=key, at=at, words="its turn ended", **more)


def passes(office: Office, seconds: float) -> list[str]:
    office.clock.sleep(seconds)
    return [done["did"] for done in follow(office.app, GROUP)]


def typed(office: Office) -> list[str]:
    return [line for line in office.terminal.typed(DEV) if line.startswith("notice")]


def told(office: Office) -> list[str]:
    return [row.announcement.text for row in office.app.store.journal.outbox(GROUP)]


def test_a_worker_that_ends_its_turn_without_a_report_is_reminded(office: Office, issue: int) -> None:
    ends(office, issue)

    assert passes(office, 29) == []
    assert passes(office, 2) == ["worker_reminded"]

    assert f"task #{issue}, attempt 1, has no report" in typed(office)[-1]
    assert f"tasks/{issue}.1.md" in typed(office)[-1]
    (line,) = office.lines("worker_reminded")
    assert (line["reminder"], line["issue"], line["session"]) == (1, issue, DEV)


def test_after_three_reminders_the_group_is_told_once_and_the_task_may_be_taken(office: Office, issue: int) -> None:
    for number in range(8):
        ends(office, issue, key=f"k{number}")
        passes(office, 300)

    assert len(typed(office)) == REMINDERS
    assert len([text for text in told(office) if "needs a person" in text]) == 1
    assert office.seat("dev").holds(issue, 1)

    office.done("session_health", autoFix=True)
    assert office.states(issue) == (State.TO_DO,)


def test_session_health_takes_no_task_from_a_worker_that_can_be_reminded(office: Office, issue: int) -> None:
    ends(office, issue, ago_s=31)

    answer = office.done("session_health", autoFix=True)

    assert [(found["type"], found["fixed"]) for found in answer["issues"]] == [("silent_worker", True)]
    assert office.seat("dev").holds(issue, 1)
    assert len(typed(office)) == 1


def test_the_heartbeat_follows_up(office: Office, issue: int) -> None:
    ends(office, issue)
    office.clock.sleep(31)

    (visit,) = heartbeat.tick(office.app).visits

    assert [done["did"] for done in visit.urged] == ["worker_reminded"]


def test_the_door_follows_up_other_workers_and_never_its_own_caller(office: Office, issue: int) -> None:
    ends(office, issue)
    office.clock.sleep(31)

    assert "urged" not in office.done("task_comment", office.worker(), issueId=issue, body="still at it")
    assert typed(office) == []
    assert office.done("task_create", title="Another")["urged"][0]["did"] == "worker_reminded"


def test_a_worker_that_has_reported_is_not_reminded(office: Office, issue: int) -> None:
    ends(office, issue)
    office.done("task_complete", role="dev", result="done", summary="It stands", attempt=1)

    assert passes(office, 9000) == []


def test_a_worker_at_work_is_not_reminded(office: Office, issue: int) -> None:
    ends(office, issue)
    office.agent.working.add(DEV)

    assert passes(office, 9000) == []


def test_a_pass_that_is_killed_before_enter_reminds_once_in_the_end(
    office: Office, issue: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(office, issue)
    office.clock.sleep(31)

    def dies(*args: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(office.agent, "post", dies)
        with pytest.raises(Killed):
            follow(office.app, GROUP)

    assert passes(office, 0) == ["worker_reminded"]
    assert passes(office, 60) == []
    assert len(typed(office)) == 1


def test_of_two_passes_at_once_one_reminds(office: Office, issue: int) -> None:
    ends(office, issue)
    office.clock.sleep(31)
    journal = office.app.store.journal
    write, seen = journal.follow, list[bool]()

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(journal, name)

        def follow(self, following: Following) -> bool:
            # Another process comes first with the same decision.
            seen.append(write(following))
            return write(following)

    class Store:
        journal = Slow()

        def __getattr__(self, name: str) -> Any:
            return getattr(office.app.store, name)

    store: Any = Store()
    assert follow(replace(office.app, store=store), GROUP) == []

    assert seen == [True]
    assert typed(office) == []
    assert len(office.app.store.journal.attempts(GROUP, issue)) == 1


def test_a_report_that_comes_in_before_enter_is_not_answered_with_a_reminder(
    office: Office, issue: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends(office, issue)
    office.clock.sleep(31)
    post = office.agent.post

    def reports(*args: Any) -> None:
        office.done("task_complete", office.worker(), role="dev", result="done", summary="It stands", attempt=1)
        post(*args)

    monkeypatch.setattr(office.agent, "post", reports)
    assert follow(office.app, GROUP) == []

    assert typed(office) == []


def test_a_resumed_worker_is_told_to_go_on_exactly_once(office: Office, issue: int) -> None:
    office.agent.resumes = True
    office.terminal.kill(DEV)

    office.done("session_health", autoFix=True)
    office.done("session_health", autoFix=True)

    assert len(typed(office)) == 1
    assert "was cut off" in typed(office)[0]
    (attempt,) = office.app.store.journal.attempts(GROUP, issue)
    assert attempt.followed is not None
    assert (attempt.followed.restarts, attempt.followed.reminders) == (1, 0)


def test_a_worker_without_credit_is_announced_and_left(office: Office, issue: int) -> None:
    ends(office, issue, End.REFUSED)

    assert passes(office, 11) == ["worker_needs_help"]
    assert passes(office, 9000) == []

    assert typed(office) == []
    found = office.done("session_health", autoFix=True)["issues"]
    assert [(each["type"], each.get("fixed")) for each in found if each["type"] != "stale_worker"] == [
        ("worker_failing", None)
    ]
    assert office.seat("dev").holds(issue, 1)


def limited(office: Office, issue: int) -> str:
    until = office.clock.now() + timedelta(hours=2)
    ends(office, issue, End.LIMITED, until=until)
    assert passes(office, 11) == ["worker_parked"]
    return timestamp(until)


def test_a_limit_parks_the_account_says_it_once_and_goes_on_by_itself(office: Office, issue: int) -> None:
    until = limited(office, issue)
    assert passes(office, 600) == []
    assert len([text for text in told(office) if "usage limit" in text]) == 1

    another = office.seed("Another")
    answer = office.call("task_pickup", issueId=another, role="dev")
    assert answer["success"] is False
    office.change(dev=office.seat("dev").release())
    answer = office.call("task_pickup", issueId=another, role="dev")
    assert answer["error"]["code"] == "usage_limited"
    assert answer["error"]["retryable"] is True
    assert until in answer["error"]["message"]


def test_after_the_limit_the_worker_is_told_to_go_on_once(office: Office, issue: int) -> None:
    limited(office, issue)

    assert passes(office, 7200) == ["worker_told_on"]
    assert passes(office, 30) == []

    office.app.sessions.check_not_parked()
    assert len(typed(office)) == 1


def test_other_credentials_end_the_limit(office: Office, issue: int) -> None:
    limited(office, issue)
    office.app.sessions.root.joinpath("parked-memory.json").unlink()

    assert passes(office, 30) == ["worker_told_on"]


def test_a_wish_waits_for_the_limit(office: Office, issue: int) -> None:
    office.change(auto_chain=True)
    limited(office, issue)

    answer = office.done("task_complete", role="dev", result="done", summary="It stands", attempt=1)
    assert (answer["autoChain"]["dispatched"], answer["autoChain"]["waiting"]) == (False, True)

    office.clock.sleep(7200)
    (visit,) = heartbeat.tick(office.app).visits
    assert [outcome["dispatched"] for outcome in visit.followed] == [True]


def test_a_stalled_worker_is_interrupted_announced_and_told_to_go_on(office: Office, issue: int) -> None:
    office.agent.working.add(DEV)
    office.agent.quiet[DEV] = office.clock.now()
    assert passes(office, 800) == []

    assert passes(office, 101) == ["worker_interrupted"]
    ends(office, issue, End.BROKEN_OFF, key="broken")
    assert passes(office, 1) == ["worker_told_on"]

    assert office.agent.interrupted == [DEV]
    assert any("was stuck" in text for text in told(office))


def test_a_message_of_a_person_goes_before_a_reminder(office: Office, issue: int) -> None:
    office.agent.working.add(DEV)
    office.done("session_send", role="dev", text="use tabs")
    office.agent.working.clear()
    ends(office, issue)

    assert passes(office, 31) == []


def test_the_memory_agent_leaves_programs_that_ended_to_session_health(office: Office, issue: int) -> None:
    assert isinstance(office.agent, MemoryAgent)
    office.agent.endings[f"{issue}.1"] = "its program ended with exit code 3"

    assert passes(office, 9000) == []


def test_a_worker_that_stays_stuck_is_stopped_and_its_task_goes_back(office: Office, issue: int) -> None:
    office.agent.resumes = True
    office.agent.working.add(DEV)
    since = office.clock.now()
    office.agent.quiet[DEV] = since
    office.clock.sleep(901)
    assert passes(office, 1) == ["worker_interrupted"]
    # Escape has changed nothing: the turn goes on and stays silent.
    office.agent.working.add(DEV)
    office.agent.quiet[DEV] = since

    office.done("session_health", autoFix=True)
    assert office.seat("dev").active
    office.clock.sleep(901)
    office.done("session_health", autoFix=True)

    assert not office.seat("dev").active
    assert [attempt.reason for attempt in office.app.store.journal.attempts(office.project.group_id)] == ["stalled"]
    assert [session.name for session in office.terminal.sessions() if session.alive] == []
