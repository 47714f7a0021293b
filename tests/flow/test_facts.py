"""What is known to go wrong elsewhere and belongs to no one tool; see tests/coverage_of_facts.toml."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.errors import ConfigError
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.journal import Closing, Intent, Wish
from devclaw_py.model.pipeline import Role, RoleExecution, State
from devclaw_py.model.project import Project
from devclaw_py.night.heartbeat import tick
from devclaw_py.state import audit
from tests.conftest import GROUP, Office

OTHER = "-2"


def wish(office: Office, issue: int, role: Role) -> None:
    """Let a pickup wait for the next occasion."""
    journal, now, op = office.app.store.journal, office.clock.now(), f"wish-{issue}"
    journal.begin(Intent(op=op, kind="comment", tool="task_comment", group_id=GROUP, issue=900 + issue, at=now))
    journal.close(op, Closing(wish=Wish(group_id=GROUP, issue=issue, role=role, at=now)))


@contextmanager
def full_disk_below_the_log() -> Iterator[None]:
    """Let no line be added to the audit log; it can be read."""

    def refuse(path: Path, line: bytes) -> int:
        raise ConfigError(f"{path} could not be written: No space left on device")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(audit, "append_line", refuse)
        yield


def test_of_two_pickups_at_once_one_gets_the_issue(office: Office) -> None:
    issue, start, answers = office.seed(), Barrier(2), list[dict[str, Any]]()

    def pick() -> None:
        start.wait()
        answers.append(office.call("task_pickup", issueId=issue, role="dev", model="medior"))

    threads = [Thread(target=pick) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(answer["success"] for answer in answers) == [False, True]
    assert len(office.agent.received) == 1
    assert office.states(issue) == (State.DOING,)


def test_a_project_is_not_registered_without_a_group(office: Office) -> None:
    before = office.snapshot()

    answer = catalogue.call(
        office.app, "project_register", {"name": "blog", "repo": "/srv/blog", "baseBranch": "main"}, HUMAN
    )

    assert answer["error"]["code"] == "invalid_arguments"
    assert "projectGroupId" in f"{answer['error']}"
    assert office.snapshot() == before


def test_a_tick_gives_a_sequential_project_one_task_at_a_time(office: Office) -> None:
    office.change(role_execution=RoleExecution.SEQUENTIAL)
    wish(office, office.seed("Build it"), Role.DEV)
    wish(office, office.seed("Test it", State.TO_TEST), Role.QA)

    tick(office.app)
    tick(office.app)

    assert [office.seat("dev").active, office.seat("qa").active] == [True, False]
    assert office.states(2) == (State.TO_TEST,)
    office.done("task_complete", role="dev", result="blocked", summary="No password")
    assert office.seat("qa").issue == 2


def test_the_status_of_a_sequential_project_shows_the_issue_that_is_held(office: Office) -> None:
    office.change(role_execution=RoleExecution.SEQUENTIAL)
    office.seed("Earlier")
    held = office.doing("Later")

    entry = office.done("queue_status")["projects"][0]

    assert (entry["dev"]["active"], entry["dev"]["issueId"]) == (True, held)
    assert (entry["qa"]["active"], entry["qa"]["issueId"]) == (False, None)
    assert [issue["id"] for issue in entry["queue"]["toDo"]] == [1]


def test_a_label_that_could_not_be_put_back_is_shown_as_waiting(office: Office) -> None:
    issue = office.seed()
    tracker = office.faulty_tracker()
    tracker.interrupt(4, tracker.down)

    answer = office.call("task_pickup", issueId=issue, role="dev")

    assert answer["error"]["code"] == "tracker_unavailable"
    assert "put back" not in answer["error"]["message"]
    tracker.up()
    (parked,) = office.done("queue_status")["projects"][0]["parked"]
    assert (parked["tool"], parked["issueId"]) == ("task_pickup", issue)


def test_a_pickup_of_the_next_task_with_a_tracker_that_is_down_finds_no_empty_queue(office: Office) -> None:
    office.seed()
    office.faulty_tracker().down()

    assert office.refused("task_pickup", role="dev") == "tracker_unavailable"


def test_each_group_hears_of_its_own_project_only(office: Office) -> None:
    heard = office.hear()
    office.app.store.registry.add(Project(group_id=OTHER, name="blog", repo="/nowhere/blog"))
    office.doing("For the shop")

    office.done("task_create", projectGroupId=OTHER, title="For the blog", label="To Do")
    office.done("task_pickup", projectGroupId=OTHER, issueId=1, role="dev")

    told = [(row.group_id, row.announcement.text) for row in heard]
    assert {group for group, _ in told} == {GROUP, OTHER}
    assert [text for group, text in told if group == GROUP and "blog" in text] == []
    assert [text for group, text in told if group == OTHER and "shop" in text] == []


def test_a_pickup_that_a_tick_makes_is_told_to_the_group(office: Office) -> None:
    heard = office.hear()
    wish(office, office.seed(), Role.DEV)

    tick(office.app)

    assert [row.announcement.emoji for row in heard] == ["🔧"]


def test_a_log_that_cannot_be_written_takes_back_nothing_that_was_done(office: Office) -> None:
    issue = office.seed()

    with full_disk_below_the_log():
        answer = office.done("task_pickup", issueId=issue, role="dev")

    assert "audit.log" in answer["warning"]
    assert office.seat("dev").holds(issue, 1)
    office.done("task_create", title="Anything")
    assert [line["ok"] for line in office.lines("task_pickup")] == [True]


def test_a_look_is_answered_while_the_log_cannot_be_written(office: Office) -> None:
    with full_disk_below_the_log():
        assert "audit.log" in office.done("queue_status")["warning"]


def test_a_refusal_keeps_its_code_while_the_log_cannot_be_written(office: Office) -> None:
    with full_disk_below_the_log():
        assert office.refused("task_pickup", issueId=99, role="dev") == "invalid_arguments"


def test_a_log_that_cannot_be_read_is_named_before_a_pickup_does_anything(office: Office) -> None:
    issue = office.seed()
    (office.app.workspace / "memory" / "audit.log").mkdir()

    answer = office.call("task_pickup", issueId=issue, role="dev")

    assert answer["error"]["code"] == "config_error"
    assert "audit.log" in answer["error"]["message"]
    assert office.states(issue) == (State.TO_DO,)
