"""The heartbeat and recover: every project is visited, and none keeps another from it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from devclaw_py.errors import ProjectBusy, StateCorrupt
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.journal import Attempt, Closing, Intent, OutboxRow, Wish
from devclaw_py.model.pipeline import Role, State
from devclaw_py.model.project import Project
from devclaw_py.night.dispatch import Known
from devclaw_py.night.heartbeat import Tick, tick, visit_all
from devclaw_py.night.loop import run
from devclaw_py.operations.removal import remove_project
from devclaw_py.operations.steps import Call
from devclaw_py.state.looks import Looks
from devclaw_py.trackers.memory import MemoryTracker
from tests.conftest import GROUP, Office

OTHER = "-1002"


def add_other(office: Office) -> None:
    repo = str(office.app.workspace / "other")
    office.app.store.registry.add(Project(group_id=OTHER, name="other", slug="other", repo=repo, base_branch="main"))


def comment(office: Office, group: str, **more: object) -> Intent:
    facts = {"op": f"op{group}", "kind": "comment", "tool": "task_comment", "group_id": group, "issue": 1}
    payload = {"body": "hello", "author": None, "marker": "x", "title": "t", "url": ""}
    return Intent.model_validate({**facts, "at": office.clock.now(), "payload": payload, **more})


def wish(office: Office, issue: int, group: str = GROUP) -> None:
    journal, now = office.app.store.journal, office.clock.now()
    journal.begin(comment(office, group, op="wished", issue=99))
    journal.close("wished", Closing(wish=Wish(group_id=group, issue=issue, role=Role.DEV, at=now)))


def announce(office: Office, group: str) -> None:
    row = OutboxRow(
        key=f"k{group}", group_id=group, announcement=Announcement(emoji="x", text="y"), at=office.clock.now()
    )
    office.app.store.journal.queue(row)


def test_a_tick_carries_out_wishes(office: Office) -> None:
    issue = office.seed()
    wish(office, issue)

    visits = tick(office.app).visits

    assert visits[0].followed[0]["dispatched"]
    assert office.states(issue) == (State.DOING,)


def test_a_tick_sends_what_waits(office: Office) -> None:
    announce(office, GROUP)

    visits = tick(office.app).visits

    assert (visits[0].sent, visits[0].unsent) == (1, 0)


def test_one_projects_failure_does_not_stop_the_others(office: Office) -> None:
    add_other(office)
    # No operation is of this kind: settling it meets a bug.
    office.app.store.journal.begin(comment(office, GROUP, kind="nonsense"))
    announce(office, OTHER)

    first, second = tick(office.app).visits

    assert first.error is not None
    assert (second.error, second.sent) == (None, 1)


def test_a_project_that_another_operation_holds_is_left_for_the_next_tick(office: Office) -> None:
    office.app.store.journal.begin(comment(office, GROUP))

    with office.app.store.hold(f"project:{GROUP}", wait_s=0, holder="task_pickup"):
        visits = tick(office.app).visits

    assert visits[0].error is None
    assert "task_pickup" in (visits[0].busy or "")


def test_two_ticks_do_not_run_at_once(office: Office) -> None:
    with office.app.store.hold("heartbeat", wait_s=0, holder="heartbeat"), pytest.raises(ProjectBusy):
        tick(office.app)


def test_a_tick_leaves_what_is_parked_until_its_time_and_force_does_not(office: Office) -> None:
    issue = office.seed()
    later = office.clock.now() + timedelta(minutes=5)
    office.app.store.journal.begin(comment(office, GROUP, issue=issue, next_try=later))

    assert tick(office.app).visits[0].settled == []
    assert visit_all(office.app, force=True)[0].settled == [f"task_comment of #{issue} was settled"]


def test_a_tick_tells_what_waits_for_its_time(office: Office) -> None:
    later, payload = office.clock.now() + timedelta(minutes=5), {"waits": "the checkout has changes"}
    office.app.store.journal.begin(comment(office, GROUP, issue=office.seed(), next_try=later, payload=payload))

    visit = tick(office.app).visits[0]

    assert visit.waiting == ["task_comment of #1 waits: the checkout has changes"]
    assert visit.eventful


def test_an_interrupted_registration_is_settled_though_its_group_has_no_project(office: Office) -> None:
    entry = Project(group_id=OTHER, name="other", slug="other", repo="/other").on_disk()
    payload = {"project": "other", "entry": entry}
    office.app.store.journal.begin(
        comment(office, OTHER, kind="register", tool="project_register", issue=None, payload=payload)
    )

    visits = visit_all(office.app, force=True)

    assert [visit.settled for visit in visits] == [[], ["project_register was settled"]]
    assert office.app.store.journal.intents() == []


def test_attempts_of_a_removed_project_are_ended(office: Office) -> None:

    issue = office.seed()
    office.done("task_pickup", issueId=issue, role="dev", model="medior")
    call = Call(op="op", tool="project_remove", caller=HUMAN, at=office.clock.now())

    answer = remove_project(office.app, call, group_id=GROUP, force=True)

    attempts: list[Attempt] = office.app.store.journal.attempts(GROUP)
    assert [attempt.reason for attempt in attempts] == ["removed"]
    assert answer["sessionsStopped"] == ["shop-dev-medior"]
    assert office.terminal.sessions() == []
    assert office.states(issue) == (State.DOING,)


def lasting(office: Office, ticks: int) -> list[Tick]:
    """The first ticks of a lasting heartbeat."""
    told: list[Tick] = []
    run(office.app, told=told.append, stopping=lambda: len(told) >= ticks)
    return told


def test_a_lasting_heartbeat_outlives_a_slip_in_the_registry(office: Office) -> None:
    path = office.app.workspace / "memory" / "projects.json"
    content = path.read_bytes()
    path.write_bytes(b"{")
    told: list[Tick] = []

    def mended(done: Tick) -> None:
        told.append(done)
        path.write_bytes(content)

    run(office.app, told=mended, stopping=lambda: len(told) == 2)

    assert [type(done.trouble) for done in told] == [StateCorrupt, type(None)]
    assert [visit.group_id for visit in told[1].visits] == [GROUP]


def test_a_mark_that_stays_is_no_reason_for_the_next_tick_at_once(office: Office) -> None:
    Looks(office.app.workspace).want(GROUP)
    office.faulty_tracker().down()
    began = office.clock.monotonic()

    lasting(office, 3)

    assert office.clock.monotonic() - began >= 2 * office.app.settings.heartbeat.every_s


def test_workers_of_a_project_that_cannot_be_visited_count(office: Office) -> None:
    office.doing()
    add_other(office)
    other = MemoryTracker("other", clock=office.clock)
    other.create("Fix it", "", labels=[State.TO_DO.value])
    trackers = {GROUP: office.tracker, OTHER: other}
    office.app = replace(office.app, open_tracker=lambda project: trackers[project.group_id])
    beat = office.app.settings.heartbeat.model_copy(update={"project_execution": "sequential"})
    office.app = replace(office.app, settings=office.app.settings.model_copy(update={"heartbeat": beat}))

    with office.app.store.hold(f"project:{GROUP}", wait_s=0, holder="somebody"):
        done = tick(office.app)

    assert done.plan.pickups == ()
    assert [held.issue for held in done.plan.held] == [1]


def test_what_could_not_be_mended_is_looked_at_again_though_nothing_changes(office: Office) -> None:
    known = Known()
    tick(office.app, known=known)
    issue = office.seed(state=State.TO_DO)
    office.tracker.put(issue, State.TO_TEST)
    with office.app.store.hold(f"project:{GROUP}", wait_s=0, holder="somebody"):
        tick(office.app, known=known)
    assert len(office.states(issue)) == 2

    tick(office.app, known=known)

    assert len(office.states(issue)) == 1


def test_a_terminal_that_cannot_be_asked_does_not_end_the_heartbeat(office: Office) -> None:
    issue = office.seed()
    office.terminal.down()
    (visit,) = tick(office.app).visits
    office.terminal.up()

    assert visit.error is not None
    assert visit.error["code"] == "session_failed"
    tick(office.app)
    assert office.states(issue) == (State.DOING,)
