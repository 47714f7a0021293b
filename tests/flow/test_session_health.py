"""session_health over fakes: every finding, looked at and mended."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.agents.base import AgentState, Condition
from devclaw_py.errors import RepositoryError, SessionFailed, TrackerUnavailable
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.pipeline import Role, SeatKey, State
from devclaw_py.model.project import Project, Seat
from devclaw_py.operations.update_steps import HEALTH
from devclaw_py.rules.schedule import FIRST_PAUSE_S, LONGEST_PAUSE_S
from devclaw_py.terminals.memory import MemoryTerminal
from devclaw_py.trackers.faulty import FaultyTracker
from devclaw_py.trackers.memory import MemoryTracker
from tests.conftest import GROUP, Office, make_office

DEV = "shop-dev-medior"
Break = Callable[[Office, int], None]


class Killed(BaseException):
    """The process is gone."""


def die() -> None:
    raise Killed


def working(office: Office, state: State = State.TO_DO, **more: Any) -> int:
    """Return an issue that dev has picked up, with a foreign label on it."""
    issue = office.tracker.seed("Add a footer", labels=[state.value, "bug"])
    office.done("task_pickup", issueId=issue, role="dev", model="medior", **more)
    return issue


def edit(office: Office, change: Callable[[Seat], Seat], role: Role = Role.DEV) -> None:
    """Edit a seat in the registry, as a person or a crash would."""
    office.app.store.registry.change(
        GROUP, lambda project: project.with_seat(SeatKey(role), change(project.seat(role)))
    )


def found(answer: dict[str, Any]) -> list[str]:
    return [issue["type"] for issue in answer["issues"]]


def check(office: Office, *, fix: bool = False) -> dict[str, Any]:
    return office.done("session_health", autoFix=fix)


def attempt(office: Office, issue: int, number: int = 1) -> Any:
    return next(a for a in office.app.store.journal.attempts(GROUP, issue) if a.number == number)


def everything(office: Office) -> tuple[Any, ...]:
    """Return all that session_health could have changed."""
    tracker, journal = office.tracker, office.app.store.journal
    return (
        tracker.list_all(),
        [tracker.comments(task.number) for task in tracker.list_all()],
        office.app.store.registry.all(),
        journal.intents(),
        journal.attempts(GROUP),
        journal.wishes(),
        {name: (pane.session, list(pane.typed)) for name, pane in office.terminal.panes.items()},
    )


# How things break, what is found then, and in which state the issue ends.


def session_dead(office: Office, issue: int) -> None:
    office.terminal.kill(DEV, exit_code=1)


def session_missing(office: Office, issue: int) -> None:
    office.terminal.stop(DEV)


def silent(office: Office, issue: int) -> None:
    office.agent.endings[f"{issue}.1"] = "its program ended with exit code 3"


def moved(office: Office, issue: int) -> None:
    office.tracker.human_moves(issue, State.PLANNING)


def moved_beside(office: Office, issue: int) -> None:
    office.tracker.human_labels(issue, [*office.tracker.get(issue).labels, State.REFINING])


def unlabelled(office: Office, issue: int) -> None:
    office.tracker.human_labels(issue, ["bug"])


def unseated(office: Office, issue: int) -> None:
    edit(office, lambda seat: seat.release())


def half_unseated(office: Office, issue: int) -> None:
    edit(office, lambda seat: seat.model_copy(update={"active": False}))


def unseated_and_moved(office: Office, issue: int) -> None:
    half_unseated(office, issue)
    moved(office, issue)


def closed(office: Office, issue: int) -> None:
    office.tracker.human_closes(issue)


def deleted_attempt(office: Office, issue: int) -> None:
    edit(office, lambda seat: seat.model_copy(update={"attempt": 0}))


def attempt_ended(office: Office, issue: int) -> None:
    ended = attempt(office, issue).model_copy(update={"ended": office.clock.now(), "reason": "done"})
    office.app.store.journal.save_attempt(ended)


BREAKS = [
    (session_dead, "session_dead", State.TO_DO),
    (session_missing, "session_dead", State.TO_DO),
    (silent, "silent_worker", State.TO_DO),
    (moved, "label_moved", State.PLANNING),
    (moved_beside, "several_labels", State.REFINING),
    (unlabelled, "no_label", State.TO_DO),
    (unseated, "orphan_label", State.TO_DO),
    (half_unseated, "inactive_with_issue", State.DOING),
    (unseated_and_moved, "inactive_with_issue", State.PLANNING),
    (closed, "issue_closed", State.REFINING),
    (deleted_attempt, "attempt_outdated", State.DOING),
    (attempt_ended, "attempt_outdated", State.TO_DO),
]
each_break = pytest.mark.parametrize(("breaks", "kind", "ends"), BREAKS, ids=[row[0].__name__ for row in BREAKS])


@each_break
def test_a_dry_run_finds_it_and_changes_nothing(office: Office, breaks: Break, kind: str, ends: State) -> None:
    issue = working(office)
    breaks(office, issue)
    before = everything(office)

    answer = check(office)

    assert found(answer) == [kind]
    assert answer["healthy"] is False
    assert (answer["issuesFound"], answer["fixesApplied"]) == (1, 0)
    assert "fixed" not in answer["issues"][0]
    assert answer["issues"][0]["issueId"] == issue
    assert everything(office) == before


@each_break
def test_auto_fix_leaves_one_state_label_and_seat_and_label_in_agreement(
    office: Office, breaks: Break, kind: str, ends: State
) -> None:
    issue = working(office)
    breaks(office, issue)

    answer = check(office, fix=True)

    assert found(answer) == [kind]
    assert answer["issues"][0]["fixed"] is True
    assert answer["fixesApplied"] == 1
    assert office.states(issue) == (ends,)
    assert office.seat("dev").active is (ends is State.DOING)
    assert office.seat("dev").issue == (issue if ends is State.DOING else None)


@each_break
def test_a_second_auto_fix_finds_nothing(office: Office, breaks: Break, kind: str, ends: State) -> None:
    issue = working(office)
    breaks(office, issue)
    check(office, fix=True)

    answer = check(office, fix=True)

    assert answer["issues"] == []
    assert answer["healthy"] is True


@each_break
def test_labels_of_others_survive_the_fix(office: Office, breaks: Break, kind: str, ends: State) -> None:
    issue = working(office)
    breaks(office, issue)

    check(office, fix=True)

    assert "bug" in office.tracker.get(issue).labels


@each_break
def test_each_fix_leaves_one_audit_line_of_its_own(office: Office, breaks: Break, kind: str, ends: State) -> None:
    issue = working(office)
    breaks(office, issue)

    check(office, fix=True)

    (line,) = office.lines("health_fix")
    (whole,) = office.lines("session_health")
    assert (line["ok"], line["finding"], line["issue"], line["cause"]) == (True, kind, issue, whole["op"])
    assert line["op"] != whole["op"]


@each_break
@pytest.mark.parametrize("point", HEALTH.points)
def test_a_fix_that_is_killed_is_settled_by_the_next_call(
    tmp_path: Path, breaks: Break, kind: str, ends: State, point: str
) -> None:
    office = make_office(tmp_path)
    issue = working(office)
    breaks(office, issue)
    with pytest.raises(Killed):
        catalogue.call(
            replace(office.app, faults=FailPoints(point, die)),
            "session_health",
            {"projectGroupId": GROUP, "autoFix": True},
            HUMAN,
        )

    check(office, fix=True)

    assert check(office)["issues"] == []
    assert office.app.store.journal.intents() == []
    assert office.states(issue) == (ends,)
    assert office.seat("dev").active is (ends is State.DOING)


def test_all_is_well_says_so(office: Office) -> None:
    working(office)

    answer = check(office)

    assert answer["healthy"] is True
    assert answer["announcement"] == "💚 All healthy"


def test_a_fix_that_failed_is_reported_and_the_others_are_done(office: Office) -> None:
    first, second = office.seed(), office.seed()
    for issue in (first, second):
        office.tracker.human_moves(issue, State.DOING)
    faulty = FaultyTracker(office.tracker)
    faulty.arm("put", after=False)

    answer = catalogue.call(
        replace(office.app, open_tracker=lambda project: faulty),
        "session_health",
        {"projectGroupId": GROUP, "autoFix": True},
        HUMAN,
    )

    assert [issue["fixed"] for issue in answer["issues"]] == [False, True]
    assert answer["fixesApplied"] == 1
    assert office.states(second) == (State.TO_DO,)


# Sessions.


def test_a_task_that_came_from_to_improve_goes_back_there_when_its_session_dies(office: Office) -> None:
    issue = working(office, State.TO_IMPROVE)
    session_dead(office, issue)

    check(office, fix=True)

    assert office.states(issue) == (State.TO_IMPROVE,)
    assert attempt(office, issue).reason == "session_dead"


def test_a_dead_session_that_has_a_conversation_is_resumed_and_keeps_its_task(office: Office) -> None:
    issue = working(office)
    office.agent.resumes = True
    session_dead(office, issue)

    answer = check(office, fix=True)

    assert answer["issues"][0]["fixed"] is True
    assert office.seat("dev").holds(issue, 1)
    assert office.states(issue) == (State.DOING,)
    assert office.terminal.panes[DEV].session.alive
    assert attempt(office, issue).ended is None
    assert "was cut off" in office.terminal.typed(DEV)[-1]
    assert check(office)["issues"] == []


def test_a_session_that_cannot_be_resumed_after_all_gives_its_task_back(office: Office) -> None:
    issue = working(office)
    office.agent.resumes = True
    session_dead(office, issue)
    office.terminal.fail_next("start")

    answer = check(office, fix=True)

    assert answer["issues"][0]["fixed"] is True
    assert office.states(issue) == (State.TO_DO,)
    assert not office.seat("dev").active


@pytest.mark.parametrize("point", HEALTH.points)
def test_a_resume_that_is_killed_ends_with_a_worker_that_was_told(tmp_path: Path, point: str) -> None:
    office = make_office(tmp_path)
    issue = working(office)
    office.agent.resumes = True
    session_dead(office, issue)
    with pytest.raises(Killed):
        catalogue.call(
            replace(office.app, faults=FailPoints(point, die)),
            "session_health",
            {"projectGroupId": GROUP, "autoFix": True},
            HUMAN,
        )

    check(office, fix=True)

    assert office.seat("dev").holds(issue, 1)
    assert office.terminal.panes[DEV].session.alive
    assert "was cut off" in office.terminal.typed(DEV)[-1]


def test_the_last_screen_of_a_dead_session_is_kept(office: Office) -> None:
    issue = working(office)
    session_dead(office, issue)

    check(office, fix=True)

    assert "task " in (office.app.sessions.folder(DEV) / "last-screen.txt").read_text()


def test_a_silent_worker_keeps_its_session(office: Office) -> None:
    issue = working(office)
    silent(office, issue)

    check(office, fix=True)

    assert office.terminal.panes[DEV].session.alive
    assert attempt(office, issue).reason == "silent_worker"


def test_a_worker_that_says_it_works_is_not_silent(office: Office) -> None:
    issue = working(office)
    silent(office, issue)
    office.agent.working.add(DEV)

    assert check(office, fix=True)["issues"] == []


def test_a_project_that_chains_picks_the_lost_task_up_again(office: Office) -> None:
    office.app.store.registry.change(GROUP, lambda project: project.model_copy(update={"auto_chain": True}))
    issue = working(office)
    session_dead(office, issue)
    check(office, fix=True)
    office.clock.sleep(FIRST_PAUSE_S)

    answer = check(office, fix=True)

    assert answer["followed"][0]["dispatched"] is True
    assert office.seat("dev").holds(issue, 2)
    assert office.states(issue) == (State.DOING,)


def test_a_call_for_all_projects_picks_lost_tasks_up_again_too(office: Office) -> None:
    office.app.store.registry.change(GROUP, lambda project: project.model_copy(update={"auto_chain": True}))
    issue = working(office)
    session_dead(office, issue)
    catalogue.call(office.app, "session_health", {"autoFix": True}, HUMAN)
    assert not office.seat("dev").active, "it pauses first"
    office.clock.sleep(FIRST_PAUSE_S)

    catalogue.call(office.app, "session_health", {"autoFix": True}, HUMAN)

    assert office.seat("dev").holds(issue, 2)


def test_a_task_that_keeps_killing_its_session_is_not_picked_up_for_ever(office: Office) -> None:
    office.app.store.registry.change(GROUP, lambda project: project.model_copy(update={"auto_chain": True}))
    issue = working(office)
    limit = office.app.settings.limits.attempts
    for _ in range(limit + 2):
        if office.seat("dev").active:
            session_dead(office, issue)
        check(office, fix=True)
        office.clock.sleep(LONGEST_PAUSE_S)
        check(office, fix=True)

    assert len(office.app.store.journal.attempts(GROUP, issue)) == limit
    assert office.states(issue) == (State.TO_DO,)


def test_work_of_over_two_hours_is_reported_and_never_taken_away(office: Office) -> None:
    issue = working(office)
    office.clock.sleep(2 * 3600 + 60)

    answer = check(office, fix=True)

    assert found(answer) == ["stale_worker"]
    assert "fixed" not in answer["issues"][0]
    assert office.seat("dev").holds(issue, 1)


def test_the_hours_of_a_reused_session_are_those_of_its_current_task(office: Office) -> None:
    issue = working(office)
    office.clock.sleep(3 * 3600)
    office.done("task_complete", role="dev", result="blocked", summary="stuck")
    office.tracker.human_moves(issue, State.TO_DO)
    office.done("task_pickup", issueId=issue, role="dev", model="medior")

    assert check(office)["issues"] == []


def test_a_seat_that_the_original_wrote_gives_its_task_back(office: Office) -> None:
    issue = office.seed(state=State.DOING)
    seat = Seat(active=True, issue_id=str(issue), model="medior", sessions={"medior": "agent:main:subagent:abc"})
    edit(office, lambda _: seat)

    assert found(check(office, fix=True)) == ["session_dead"]
    assert office.states(issue) == (State.TO_DO,)
    assert not office.seat("dev").active


# A person's move.


def test_a_worker_whose_issue_was_moved_is_told_and_released(office: Office) -> None:
    issue = working(office)
    moved(office, issue)

    check(office, fix=True)

    assert office.states(issue) == (State.PLANNING,)
    assert f"#{issue} was moved to Planning" in office.terminal.typed(DEV)[-1]
    assert attempt(office, issue).reason == "moved"


def test_a_stale_label_beside_a_newer_one_of_ours_goes_and_the_worker_stays(office: Office) -> None:
    issue = working(office)
    office.tracker.human_labels(issue, [State.TO_DO, "bug"])
    office.clock.sleep(1)
    office.tracker.put(issue, State.DOING)

    check(office, fix=True)

    assert office.states(issue) == (State.DOING,)
    assert office.seat("dev").holds(issue, 1)


@pytest.mark.parametrize("last", [State.PLANNING, State.TO_IMPROVE, State.DONE])
def test_of_several_labels_without_a_seat_the_one_put_last_stays(office: Office, last: State) -> None:
    issue = office.seed(state=State.TO_DO)
    office.tracker.human_labels(issue, [State.TO_DO, State.TO_TEST])
    office.tracker.human_labels(issue, [State.TO_DO, State.TO_TEST, last])

    assert found(check(office, fix=True)) == ["several_labels"]
    assert office.states(issue) == (last,)


def test_an_issue_without_history_is_put_before_a_person(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    issue = office.seed(state=State.TO_DO)
    office.tracker.human_labels(issue, [State.TO_DO, State.TO_TEST])
    monkeypatch.setattr(MemoryTracker, "label_events", lambda self, number: [])

    check(office, fix=True)

    assert office.states(issue) == (State.REFINING,)
    assert "a person decides" in office.tracker.comments(issue)[-1].body


def test_an_issue_whose_labels_went_without_a_trace_goes_where_its_last_report_left_it(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue = working(office)
    office.done("task_complete", role="dev", result="done", summary="stands")
    office.tracker.human_labels(issue, [])
    monkeypatch.setattr(MemoryTracker, "label_events", lambda self, number: [])

    check(office, fix=True)

    assert office.states(issue) == (State.TO_TEST,)


def test_an_issue_of_somebody_else_is_never_touched(office: Office) -> None:
    issue = office.tracker.seed("Not ours", labels=["question"])
    other = office.tracker.seed("Neither", labels=[], closed=True)

    assert check(office, fix=True)["issues"] == []
    assert office.tracker.get(issue).labels == ("question",)
    assert office.tracker.get(other).labels == ()


def test_a_person_who_moves_the_issue_during_the_fix_wins(office: Office) -> None:
    issue = working(office)
    session_dead(office, issue)
    faulty = FaultyTracker(office.tracker)
    app = replace(office.app, open_tracker=lambda project: faulty)
    # list_all, take, get, put: right before ours is put.
    faulty.interrupt(4, lambda: office.tracker.human_moves(issue, State.PLANNING))

    answer = catalogue.call(app, "session_health", {"projectGroupId": GROUP, "autoFix": True}, HUMAN)

    assert faulty.calls[:4] == ["list_all", "take", "get", "put"]
    assert answer["issues"][0]["fixed"] is False
    assert office.states(issue) == (State.PLANNING,)
    check(office, fix=True)
    assert office.states(issue) == (State.PLANNING,)
    assert not office.seat("dev").active


# Closed issues.


@pytest.mark.parametrize("state", [State.TO_DO, State.TO_TEST, State.TO_IMPROVE, State.DOING, State.TESTING])
def test_a_closed_issue_whose_work_is_merged_is_done(office: Office, state: State) -> None:
    issue = office.tracker.seed("Merged", labels=[state.value], closed=True)
    repo = office.work.repo(office.app.store.registry.get(GROUP))
    repo.branches[f"devclaw/{issue}-merged"] = repo.base[-1]

    check(office, fix=True)

    assert office.states(issue) == (State.DONE,)
    assert office.tracker.comments(issue) == []
    assert office.tracker.get(issue).closed


def test_a_closed_issue_whose_work_is_not_merged_is_put_before_a_person(office: Office) -> None:
    issue = working(office)
    closed(office, issue)

    check(office, fix=True)

    assert "is not in main" in office.tracker.comments(issue)[-1].body
    assert "stop working" in office.terminal.typed(DEV)[-1]


def test_when_git_cannot_answer_nothing_is_concluded_about_the_closed_issue(office: Office) -> None:
    issue = office.tracker.seed("Closed", labels=[State.TO_TEST.value], closed=True)
    office.work.repo(office.app.store.registry.get(GROUP)).broken = "git is not there"

    answer = check(office, fix=True)

    assert [(f["type"], f["severity"]) for f in answer["issues"]] == [("issue_unknown", "unknown")]
    assert office.states(issue) == (State.TO_TEST,)


def test_the_seat_of_a_deleted_issue_is_released(office: Office) -> None:
    issue = working(office)
    office.tracker.delete(issue)

    answer = check(office, fix=True)

    assert (found(answer), answer["issues"][0]["fixed"]) == (["issue_gone"], True)
    assert not office.seat("dev").active
    assert check(office)["issues"] == []


def test_a_seat_that_is_busy_with_nothing_is_released(office: Office) -> None:
    edit(office, lambda seat: seat.model_copy(update={"active": True}))

    assert found(check(office, fix=True)) == ["seat_without_issue"]
    assert not office.seat("dev").active


# Unfinished operations.


def parked(office: Office) -> int:
    """Return an issue whose report waits for the main checkout."""
    issue = office.seed(state=State.TO_TEST)
    project = office.app.store.registry.get(GROUP)
    repo = office.work.repo(project)
    repo.branches[f"devclaw/{issue}-add-a-footer"] = repo.record(repo.base[-1])
    office.done("task_pickup", issueId=issue, role="qa")
    repo.waiting = "the main checkout is dirty"
    assert office.done("task_complete", role="qa", result="pass")["pending"]
    return issue


def test_an_operation_that_waits_is_reported_with_its_reason_and_its_issue_is_left_alone(office: Office) -> None:
    issue = parked(office)

    (finding,) = check(office)["issues"]

    assert (finding["type"], finding["issueId"]) == ("open_intent", issue)
    assert "the main checkout is dirty" in finding["message"]


def test_auto_fix_settles_an_operation_before_its_time(office: Office) -> None:
    issue = parked(office)
    office.work.repo(office.app.store.registry.get(GROUP)).waiting = ""

    answer = check(office, fix=True)

    assert [(f["type"], f["fixed"]) for f in answer["issues"]] == [("open_intent", True)]
    assert office.states(issue) == (State.DONE,)
    assert check(office)["healthy"]


def test_an_operation_that_still_has_to_wait_is_no_fix(office: Office) -> None:
    issue = parked(office)

    answer = check(office, fix=True)

    assert [(f["type"], f["fixed"]) for f in answer["issues"]] == [("open_intent", False)]
    assert office.states(issue) == (State.TESTING,)


def test_a_pickup_that_was_killed_is_settled_and_nothing_else_is_said_of_its_issue(tmp_path: Path) -> None:
    office = make_office(tmp_path)
    issue = office.seed()
    with pytest.raises(Killed):
        catalogue.call(
            replace(office.app, faults=FailPoints("pickup.7.put", die)),
            "task_pickup",
            {"projectGroupId": GROUP, "issueId": issue, "role": "dev"},
            HUMAN,
        )
    office.clock.sleep(600)

    assert found(check(office)) == ["open_intent"]
    assert [f["fixed"] for f in check(office, fix=True)["issues"]] == [True]
    assert office.states(issue) == (State.TO_DO,)


def test_an_operation_under_way_is_no_finding(tmp_path: Path) -> None:
    office = make_office(tmp_path)
    issue = office.seed()
    with pytest.raises(Killed):  # its process lives: this test
        catalogue.call(
            replace(office.app, faults=FailPoints("pickup.7.put", die)),
            "task_pickup",
            {"projectGroupId": GROUP, "issueId": issue, "role": "dev"},
            HUMAN,
        )

    assert check(office)["issues"] == []


def test_a_report_that_was_left_in_the_journal_wins_over_a_dead_session(tmp_path: Path) -> None:
    office = make_office(tmp_path)
    issue = working(office)
    with pytest.raises(Killed):
        catalogue.call(
            replace(office.app, faults=FailPoints("complete.1.report", die)),
            "task_complete",
            {"projectGroupId": GROUP, "role": "dev", "result": "done", "summary": "stands"},
            HUMAN,
        )
    session_dead(office, issue)

    check(office, fix=True)

    assert office.states(issue) == (State.TO_TEST,)
    assert attempt(office, issue).reason == "done"


def reporting(office: Office) -> Callable[[], None]:
    """Return a dev whose report gets into the journal and no further: its process is killed."""

    def report() -> None:
        with pytest.raises(Killed):
            catalogue.call(
                replace(office.app, faults=FailPoints("complete.1.report", die)),
                "task_complete",
                {"projectGroupId": GROUP, "role": "dev", "result": "done"},
                HUMAN,
            )

    return report


def fix_with(office: Office, tracker: FaultyTracker) -> dict[str, Any]:
    app = replace(office.app, open_tracker=lambda project: tracker)
    return catalogue.call(app, "session_health", {"projectGroupId": GROUP, "autoFix": True}, HUMAN)


def test_a_report_that_comes_in_during_the_look_wins_over_silence(office: Office) -> None:
    issue = working(office)
    silent(office, issue)
    faulty = FaultyTracker(office.tracker)
    faulty.interrupt(1, reporting(office))

    fix_with(office, faulty)

    check(office, fix=True)
    assert office.states(issue) == (State.TO_TEST,)


def test_a_report_that_comes_in_after_the_look_wins_over_silence(office: Office) -> None:
    office.seed(state=State.DOING)
    issue = working(office)
    silent(office, issue)
    faulty = FaultyTracker(office.tracker)
    faulty.interrupt(3, reporting(office))

    answer = fix_with(office, faulty)

    assert faulty.calls[:3] == ["list_all", "label_events", "take"]
    assert [(f["type"], f["fixed"]) for f in answer["issues"]] == [("orphan_label", True), ("silent_worker", True)]
    assert office.states(issue) == (State.TO_TEST,)
    assert attempt(office, issue).reason == "done"


def test_a_report_that_comes_in_while_the_task_is_given_back_is_kept_as_a_conflict(office: Office) -> None:
    issue = working(office)
    silent(office, issue)
    faulty = FaultyTracker(office.tracker)
    faulty.interrupt(2, reporting(office))

    fix_with(office, faulty)
    check(office, fix=True)

    assert faulty.calls[:2] == ["list_all", "take"]
    assert office.states(issue) == (State.TO_DO,)
    assert office.app.store.journal.intents() == []
    assert attempt(office, issue).reason == "conflict"
    assert check(office)["healthy"]


# What cannot be asked.


@contextmanager
def deaf(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def sessions(self: MemoryTerminal) -> Any:
        raise SessionFailed("tmux did not answer")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryTerminal, "sessions", sessions)
        yield


def test_a_terminal_that_does_not_answer_kills_nobody(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    issue = working(office)
    session_dead(office, issue)

    with deaf(monkeypatch):
        answer = check(office, fix=True)

    assert [(f["type"], f["severity"]) for f in answer["issues"]] == [("terminal_unknown", "unknown")]
    assert answer["healthy"] is False
    assert office.seat("dev").holds(issue, 1)


def test_labels_are_mended_while_the_terminal_does_not_answer(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    issue = office.seed(state=State.DOING)

    with deaf(monkeypatch):
        answer = check(office, fix=True)

    assert found(answer) == ["terminal_unknown", "orphan_label"]
    assert office.states(issue) == (State.TO_DO,)


def test_a_session_of_another_workspace_is_unknown_not_dead(office: Office) -> None:
    issue = working(office)
    office.terminal.stop(DEV)
    office.terminal.foreign.add(DEV)

    assert found(check(office, fix=True)) == ["session_unknown"]
    assert office.seat("dev").holds(issue, 1)


def test_an_agent_that_says_nothing_of_itself_is_unknown_not_dead(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    issue = working(office)
    monkeypatch.setattr(office.agent, "state", lambda *facts: Condition(state=AgentState.UNKNOWN))

    answer = check(office, fix=True)

    assert [(f["type"], f["severity"]) for f in answer["issues"]] == [("session_unknown", "unknown")]
    assert office.seat("dev").holds(issue, 1)


def test_a_tracker_that_does_not_answer_is_unknown_and_dead_sessions_are_still_reported(office: Office) -> None:
    issue = working(office)
    session_dead(office, issue)
    faulty = FaultyTracker(office.tracker)
    faulty.down()
    app = replace(office.app, open_tracker=lambda project: faulty)

    answer = catalogue.call(app, "session_health", {"projectGroupId": GROUP, "autoFix": True}, HUMAN)

    assert found(answer) == ["tracker_unknown", "session_dead"]
    assert answer["fixesApplied"] == 0
    assert office.seat("dev").holds(issue, 1)
    assert office.app.store.journal.intents() == []


def test_a_project_that_cannot_be_looked_at_does_not_hide_the_others(office: Office) -> None:
    office.app.store.registry.add(
        Project(group_id="-2002", name="bakery", slug="bakery", repo="/nowhere/bakery", base_branch="main")
    )
    issue = office.seed(state=State.DOING)

    def open_tracker(project: Project) -> MemoryTracker:
        if project.name == "bakery":
            raise TrackerUnavailable("bakery's tracker is down")
        return office.tracker

    app = replace(office.app, open_tracker=open_tracker)
    answer = catalogue.call(app, "session_health", {"autoFix": True}, HUMAN)

    assert [(f["type"], f["project"]) for f in answer["issues"]] == [
        ("orphan_label", "shop"),
        ("tracker_unknown", "bakery"),
    ]
    assert office.states(issue) == (State.TO_DO,)


def test_a_project_that_is_held_is_unknown_among_all_and_busy_when_named(office: Office) -> None:
    with office.app.store.hold(f"project:{GROUP}", wait_s=0, holder="a test"):
        every = catalogue.call(office.app, "session_health", {"autoFix": True}, HUMAN)
        code = office.refused("session_health", autoFix=True)

    assert found(every) == ["project_unknown"]
    assert code == "project_busy"


def test_a_dry_run_waits_for_no_lock(office: Office) -> None:
    issue = working(office)
    moved(office, issue)

    with office.app.store.hold(f"project:{GROUP}", wait_s=0, holder="a test"):
        assert found(check(office)) == ["label_moved"]


def test_a_dry_run_carries_out_no_wish(office: Office) -> None:
    office.app.store.registry.change(GROUP, lambda project: project.model_copy(update={"auto_chain": True}))
    working(office)
    office.agent.accepts = False
    office.done("task_complete", role="dev", result="done")
    office.agent.accepts = True

    check(office)

    assert not office.seat("qa").active


def test_an_empty_registry_is_said_aloud(office: Office) -> None:
    (office.app.workspace / "memory" / "projects.json").unlink()

    answer = catalogue.call(office.app, "session_health", {}, HUMAN)

    assert answer["healthy"] is True
    assert "no project" in answer["note"]


# Races.


def test_a_pickup_that_goes_on_during_a_dry_run_is_no_finding(office: Office) -> None:
    issue = office.seed()
    faulty = FaultyTracker(office.tracker)

    def pick_up() -> None:
        office.done("task_pickup", issueId=issue, role="dev")

    faulty.interrupt(1, pick_up)
    app = replace(office.app, open_tracker=lambda project: faulty)

    answer = catalogue.call(app, "session_health", {"projectGroupId": GROUP}, HUMAN)

    assert office.states(issue) == (State.DOING,)
    assert answer["issues"] == []


def test_a_task_that_another_worker_has_taken_meanwhile_is_never_taken_away(office: Office) -> None:
    """The session is dead in the first look; by the time of the fix it lives and works again."""
    issue = working(office)
    session_dead(office, issue)
    faulty = FaultyTracker(office.tracker)
    app = replace(office.app, open_tracker=lambda project: faulty)
    looks = office.app.sessions.looks

    def revive() -> dict[str, Any]:
        seen = looks()
        pane = office.terminal.panes[DEV]
        pane.session = pane.session.model_copy(update={"alive": True})
        return seen

    office.app.sessions.looks = revive  # type: ignore[method-assign]  # the world moves on between two questions
    answer = catalogue.call(app, "session_health", {"projectGroupId": GROUP, "autoFix": True}, HUMAN)

    assert answer["issues"][0]["fixed"] is False
    assert office.seat("dev").holds(issue, 1)
    assert office.states(issue) == (State.DOING,)


def test_what_ended_before_the_lock_was_had_is_not_mended(office: Office) -> None:
    issue = working(office)
    session_dead(office, issue)
    assert found(check(office)) == ["session_dead"]
    office.done("task_complete", role="dev", result="done")
    office.done("task_pickup", issueId=issue, role="qa")

    assert check(office, fix=True)["issues"] == []
    assert office.seat("qa").holds(issue, 2)


def test_a_fix_that_cannot_reach_the_tracker_any_more_is_parked_and_ends_later(office: Office) -> None:
    issue = working(office)
    session_dead(office, issue)
    faulty = FaultyTracker(office.tracker)
    faulty.interrupt(3, faulty.down)  # list_all, take, then nothing any more
    app = replace(office.app, open_tracker=lambda project: faulty)

    answer = catalogue.call(app, "session_health", {"projectGroupId": GROUP, "autoFix": True}, HUMAN)
    assert answer["issues"][0]["fixed"] is False
    assert len(office.app.store.journal.intents()) == 1

    check(office, fix=True)
    check(office, fix=True)
    assert office.states(issue) == (State.TO_DO,)
    assert check(office)["issues"] == []


def test_a_parked_fix_does_not_stop_the_session_of_a_later_task(office: Office) -> None:
    issue = working(office)
    session_dead(office, issue)
    office.terminal.fail_next("stop")
    check(office, fix=True)
    other = office.seed()
    office.done("task_pickup", issueId=other, role="dev", model="medior")

    check(office, fix=True)

    assert office.terminal.panes[DEV].session.alive
    assert office.seat("dev").holds(other, 1)


def test_git_failing_elsewhere_is_no_reason_to_doubt_a_label(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    issue = office.seed(state=State.DOING)
    error = RepositoryError("git is gone")

    def merged(*_: object) -> bool:
        raise error

    monkeypatch.setattr(office.work, "merged", merged)

    assert found(check(office, fix=True)) == ["orphan_label"]
    assert office.states(issue) == (State.TO_DO,)
