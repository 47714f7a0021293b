"""session_health's decisions as a table: how an issue and its seat stand, what is found, and what would be done."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from devclaw_py.model.finding import Severity
from devclaw_py.model.journal import Attempt, Intent
from devclaw_py.model.pipeline import Role, SeatKey, State, Tier
from devclaw_py.model.project import Project, Seat
from devclaw_py.model.task import LabelEvent, Task
from devclaw_py.rules.diagnosis import Case, Diagnosis, Fix, Issue, Opened, Pulse, Snapshot, Worker
from devclaw_py.rules.health import diagnose, unsettled

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
GROUP = "-1"
DOING, TESTING, TO_DO, TO_TEST = State.DOING, State.TESTING, State.TO_DO, State.TO_TEST
TO_IMPROVE, REFINING, PLANNING, DONE = State.TO_IMPROVE, State.REFINING, State.PLANNING, State.DONE


def seat(role: Role = Role.DEV, *, issue: int = 7, attempt: int | None = 1, **more: Any) -> Seat:
    tier = Tier.MEDIOR if role is Role.DEV else Tier.QA
    facts = {"active": True, "issue_id": str(issue), "model": tier, "attempt": attempt, "start_time": NOW}
    return Seat(**{**facts, "sessions": {tier: f"tmux:shop-{role}-{tier}"}, **more})


def tried(number: int = 1, role: Role = Role.DEV, **more: Any) -> Attempt:
    tier = Tier.MEDIOR if role is Role.DEV else Tier.QA
    facts = {"group_id": GROUP, "issue": 7, "number": number, "role": role, "tier": tier, "op": f"op{number}"}
    return Attempt(**{**facts, "session": f"shop-{role}-{tier}", "accepted": NOW, "started": NOW, **more})


def events(*steps: str) -> tuple[LabelEvent, ...]:
    """Return a history: ``+To Do`` put, ``-Doing`` taken, by devclaw; a ``!`` in front makes it a person's."""
    found = []
    for minute, step in enumerate(steps):
        ours, step = not step.startswith("!"), step.removeprefix("!")
        at = NOW + timedelta(minutes=minute)
        found.append(LabelEvent(label=step[1:], added=step[0] == "+", actor="x", ours=ours, at=at))
    return tuple(found)


def labelled(*labels: str, history: Sequence[LabelEvent] = (), closed: bool = False, **more: Any) -> Issue:
    task = Task(number=7, title="Add a footer", labels=(*labels, "bug"), closed=closed)
    return Issue(task=task, events=tuple(history), **more)


def look(
    issue: Issue | None,
    *,
    dev: Seat | None = None,
    qa: Seat | None = None,
    tries: Sequence[Attempt] = (),
    pulse: Pulse | None = Pulse.BUSY,
    **more: Any,
) -> Snapshot:
    """Return a snapshot of issue #7; ``pulse`` is that of both workers, None when the terminal did not answer."""
    project = Project(group_id=GROUP, name="shop", repo="/shop", dev=dev or Seat(), qa=qa or Seat())
    project = project.model_copy(update={"auto_chain": more.pop("auto_chain", False)})
    worker = {name: more.pop(name) for name in ("case", "resumable") if name in more}
    workers = None
    if pulse is not None:
        workers = {SeatKey(role): Worker(session=f"shop-{role}", pulse=pulse, **worker) for role in Role}
    facts = {"issues": {7: issue} if issue else None, "now": NOW, "attempts": tuple(tries)}
    return Snapshot(project=project, workers=workers, **{**facts, **more})


def only(snapshot: Snapshot) -> Diagnosis:
    (found,) = diagnose(snapshot)
    return found


def fix_of(snapshot: Snapshot) -> Fix:
    fix = only(snapshot).fix
    assert fix is not None
    return fix


HEALTHY = {
    "waiting": look(labelled(TO_DO)),
    "on hold": look(labelled(PLANNING)),
    "done and closed": look(labelled(DONE, closed=True)),
    "closed without a label": look(labelled(closed=True), tries=[tried(ended=NOW, reason="done")]),
    "closed on hold": look(labelled(REFINING, closed=True)),
    "worked on": look(labelled(DOING), dev=seat(), tries=[tried()]),
    "tested": look(labelled(TESTING), qa=seat(Role.QA, attempt=2), tries=[tried(), tried(2, Role.QA)]),
    "worked on by an idle agent that may still report": look(labelled(DOING), dev=seat(), pulse=Pulse.IDLE),
    "a seat without attempt numbers": look(labelled(DOING), dev=seat(attempt=None), tries=[tried(3)]),
    "a later attempt that nobody saw": look(
        labelled(DOING), dev=seat(), tries=[tried(), tried(2, ended=NOW, reason="void")]
    ),
    "just under two hours": look(labelled(DOING), dev=seat(start_time=NOW - timedelta(hours=2))),
    "spelled by hand": look(labelled("to do")),
}


@pytest.mark.parametrize("snapshot", HEALTHY.values(), ids=HEALTHY)
def test_what_is_well_is_no_finding(snapshot: Snapshot) -> None:
    assert diagnose(snapshot) == []


# (issue, seats and the like) → (finding, taken, put, whose seat is released)
LABELS: dict[str, tuple[Snapshot, str, tuple[State, ...], State | None, Role | None]] = {
    "two labels, the newer wins": (
        look(labelled(TO_DO, PLANNING, history=events("+To Do", "+Planning"))),
        "several_labels", (TO_DO,), PLANNING, None,
    ),
    "two labels, the older stands last in the table": (
        look(labelled(TO_DO, PLANNING, history=events("+Planning", "+To Do"))),
        "several_labels", (PLANNING,), TO_DO, None,
    ),
    "a label that came and went does not count": (
        look(labelled(TO_DO, PLANNING, history=events("+Planning", "+To Do", "+Done", "-Done"))),
        "several_labels", (PLANNING,), TO_DO, None,
    ),
    "the newest is active, nobody holds it, its queue stands beside it": (
        look(labelled(TO_IMPROVE, DOING, history=events("+To Improve", "!+Doing"))),
        "several_labels", (DOING,), TO_IMPROVE, None,
    ),
    "two labels without history and without attempts": (
        look(labelled(TO_DO, TO_TEST)), "several_labels", (TO_DO, TO_TEST), REFINING, None,
    ),
    "two labels without history after a report": (
        look(labelled(TO_DO, TO_TEST), tries=[tried(ended=NOW, reason="done", outcome={"result": "done"})]),
        "several_labels", (TO_DO,), TO_TEST, None,
    ),
    "none, and the newest event says which": (
        look(labelled(history=events("+To Do", "!-To Do", "!+Planning", "!-Planning")), tries=[tried(ended=NOW)]),
        "no_label", (), PLANNING, None,
    ),
    "none, without history, never ended": (
        look(labelled(), tries=[tried()]), "no_label", (), TO_DO, Role.DEV,
    ),
    "none while dev holds it, and a person took it off": (
        look(labelled(history=events("-To Improve", "+Doing", "!-Doing")), dev=seat(), tries=[tried()]),
        "no_label", (), TO_IMPROVE, Role.DEV,
    ),
    "none while dev holds it, and nobody took it off": (
        look(labelled(history=events("-To Do", "+Doing", "-Doing")), dev=seat(), tries=[tried()]),
        "no_label", (), DOING, None,
    ),
    "Doing without a seat, history says To Improve": (
        look(labelled(DOING, history=events("+To Do", "-To Do", "+To Improve", "-To Improve", "+Doing"))),
        "orphan_label", (DOING,), TO_IMPROVE, None,
    ),
    "Doing without a seat or history": (look(labelled(DOING)), "orphan_label", (DOING,), TO_DO, None),
    "Testing without a seat": (look(labelled(TESTING)), "orphan_label", (TESTING,), TO_TEST, None),
    "Doing while dev holds another issue": (
        look(labelled(DOING), dev=seat(issue=8, previous_state=TO_IMPROVE)),
        "orphan_label", (DOING,), TO_DO, None,
    ),
    "Doing without a seat, its attempt open": (
        look(labelled(DOING), tries=[tried()]), "orphan_label", (DOING,), TO_DO, Role.DEV,
    ),
    "moved to a hold while dev holds it": (
        look(labelled(PLANNING), dev=seat(), tries=[tried()]), "label_moved", (), None, Role.DEV,
    ),
    "moved back to its queue while dev holds it": (
        look(labelled(TO_DO), dev=seat(), tries=[tried()]), "label_moved", (), None, Role.DEV,
    ),
    "moved to Testing by hand while dev holds it": (
        look(labelled(TESTING), dev=seat(), tries=[tried()]), "label_moved", (TESTING,), TO_TEST, Role.DEV,
    ),
    "theirs is newer than ours": (
        look(labelled(DOING, REFINING, history=events("+Doing", "!+Refining")), dev=seat()),
        "several_labels", (DOING,), REFINING, Role.DEV,
    ),
    "ours is newer than theirs": (
        look(labelled(DOING, REFINING, history=events("!+Refining", "+Doing")), dev=seat()),
        "several_labels", (REFINING,), DOING, None,
    ),
    "ours and another without history": (
        look(labelled(DOING, TO_DO), dev=seat()), "several_labels", (TO_DO,), DOING, None,
    ),
    "closed in a queue, merged": (
        look(labelled(TO_TEST, closed=True, merged=True)), "issue_closed", (TO_TEST,), DONE, None,
    ),
    "closed in a queue, not merged": (
        look(labelled(TO_TEST, closed=True)), "issue_closed", (TO_TEST,), REFINING, None,
    ),
    "closed while dev holds it": (
        look(labelled(DOING, closed=True), dev=seat()), "issue_closed", (DOING,), REFINING, Role.DEV,
    ),
    "closed and put to Done by hand beside its queue": (
        look(labelled(TO_TEST, DONE, closed=True, history=events("+To Test", "!+Done"))),
        "issue_closed", (TO_TEST,), DONE, None,
    ),
    "closed with Done while dev holds it": (
        look(labelled(DONE, closed=True), dev=seat()), "issue_closed", (), None, Role.DEV,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("snapshot", "kind", "takes", "put", "released"), LABELS.values(), ids=LABELS)
def test_labels_that_are_wrong(
    snapshot: Snapshot, kind: str, takes: tuple[State, ...], put: State | None, released: Role | None
) -> None:
    found = only(snapshot)

    assert found.finding.type == kind
    assert found.fix is not None
    assert (found.fix.takes, found.fix.put) == (takes, put)
    assert (found.fix.release.role if found.fix.release else None) is released


@pytest.mark.parametrize(
    ("issue", "commented"),
    [(labelled(TO_TEST, closed=True), True), (labelled(TO_TEST, closed=True, merged=True), False)],
)
def test_only_a_closed_issue_that_a_person_has_to_look_at_gets_a_comment(issue: Issue, commented: bool) -> None:
    assert bool(fix_of(look(issue)).comment) is commented


def test_the_worker_of_a_moved_issue_is_told_where_it_went() -> None:
    fix = fix_of(look(labelled(PLANNING), dev=seat()))

    assert "moved to Planning" in fix.notice
    assert fix.release is not None
    assert fix.release.session == "shop-dev-medior"


def test_an_issue_that_both_seats_hold_stays_with_the_one_its_label_names() -> None:
    fix = fix_of(look(labelled(TESTING), dev=seat(), qa=seat(Role.QA, attempt=2)))

    assert fix.put is None
    assert fix.release is not None
    assert fix.release.role is Role.DEV


def test_both_seats_lose_an_issue_that_was_moved_away_from_both() -> None:
    found = diagnose(look(labelled(PLANNING), dev=seat(), qa=seat(Role.QA, attempt=2)))

    assert [each.fix.release.role for each in found if each.fix and each.fix.release] == [Role.DEV, Role.QA]


SILENT = Case(kind="silent_worker", words="exit code 1", over=True)

SEATS: dict[str, tuple[Snapshot, str, State | None]] = {
    "session gone": (look(labelled(DOING), dev=seat(), pulse=Pulse.GONE), "session_dead", TO_DO),
    "session gone, from To Improve": (
        look(labelled(DOING), dev=seat(previous_state=TO_IMPROVE), pulse=Pulse.GONE), "session_dead", TO_IMPROVE,
    ),
    "qa's session gone": (look(labelled(TESTING), qa=seat(Role.QA), pulse=Pulse.GONE), "session_dead", TO_TEST),
    "turn over without a report": (
        look(labelled(DOING), dev=seat(), pulse=Pulse.IDLE, case=SILENT), "silent_worker", TO_DO,
    ),
    "attempt ended": (
        look(labelled(DOING), dev=seat(), tries=[tried(ended=NOW, reason="done")]), "attempt_outdated", TO_DO,
    ),
    "newer attempt of the other role": (
        look(labelled(DOING), dev=seat(), tries=[tried(), tried(2, Role.QA)]), "attempt_outdated", TO_DO,
    ),
}  # fmt: skip


@pytest.mark.parametrize(("snapshot", "kind", "back"), SEATS.values(), ids=SEATS)
def test_a_worker_that_is_lost_gives_its_task_back(snapshot: Snapshot, kind: str, back: State) -> None:
    found = only(snapshot)

    assert found.finding.type == kind
    assert found.fix is not None
    assert found.fix.put is back
    assert found.fix.release is not None


def test_a_newer_open_attempt_of_the_role_gets_the_seat() -> None:
    fix = fix_of(look(labelled(DOING), dev=seat(), tries=[tried(), tried(2)]))

    assert fix.seats is not None
    assert (fix.seats.number, fix.put, fix.release) == (2, None, None)


def test_a_seat_that_fell_idle_while_its_attempt_goes_on_gets_it_back() -> None:
    idle = seat().model_copy(update={"active": False})

    fix = fix_of(look(labelled(DOING), dev=idle, tries=[tried()]))

    assert fix.seats is not None
    assert fix.put is None


def test_an_idle_seat_forgets_an_issue_that_is_elsewhere() -> None:
    found = only(look(labelled(TO_TEST), dev=seat().model_copy(update={"active": False})))

    assert found.finding.type == "inactive_with_issue"
    assert found.fix is not None
    assert (found.fix.put, found.fix.seats) == (None, None)


def test_a_worker_for_whom_something_can_be_done_keeps_its_task() -> None:
    case = Case(kind="worker_failing", words="529", mend="it is told to go on by itself")
    found = only(look(labelled(DOING), dev=seat(), pulse=Pulse.IDLE, case=case))

    assert (found.finding.type, found.finding.mend, found.fix) == ("worker_failing", case.mend, None)


@pytest.mark.parametrize(("pulse", "kind"), [(Pulse.UNKNOWN, "session_unknown"), (None, "terminal_unknown")])
def test_what_the_terminal_does_not_say_is_unknown(pulse: Pulse | None, kind: str) -> None:
    found = only(look(labelled(DOING), dev=seat(), pulse=pulse))

    assert (found.finding.type, found.finding.severity, found.fix) == (kind, Severity.UNKNOWN, None)


def test_what_the_tracker_does_not_say_is_unknown_and_no_label_is_touched() -> None:
    found = diagnose(look(None, dev=seat(), pulse=Pulse.GONE))

    assert [each.finding.type for each in found] == ["tracker_unknown", "session_dead"]
    assert [each.fix for each in found] == [None, None]


def test_a_session_is_resumed_even_while_the_tracker_is_silent() -> None:
    found = diagnose(look(None, dev=seat(), pulse=Pulse.GONE, resumable=True))[1]

    assert found.fix is not None
    assert found.fix.resumes
    assert found.otherwise is None


def test_a_dead_session_with_a_conversation_is_resumed_first() -> None:
    found = only(look(labelled(DOING), dev=seat(), pulse=Pulse.GONE, resumable=True))

    assert found.fix is not None
    assert found.fix.resumes
    assert found.fix.put is None
    assert found.otherwise is not None
    assert found.otherwise.put is TO_DO


@pytest.mark.parametrize(("tries", "chains", "wish"), [(1, True, True), (1, False, False), (4, True, False)])
def test_a_lost_task_is_wished_for_again_where_the_project_chains_and_attempts_are_left(
    tries: int, chains: bool, wish: bool
) -> None:
    attempts = [tried(number + 1, ended=None if number == tries - 1 else NOW) for number in range(tries)]

    fix = fix_of(
        look(labelled(DOING), dev=seat(attempt=tries), tries=attempts, pulse=Pulse.GONE, auto_chain=chains, limit=4)
    )

    assert fix.wish is wish


def test_long_work_is_reported_only() -> None:
    found = only(look(labelled(DOING), dev=seat(start_time=NOW - timedelta(hours=2, seconds=1))))

    assert (found.finding.type, found.fix) == ("stale_worker", None)


def test_long_work_of_a_seat_without_a_start_is_counted_from_its_attempt() -> None:
    began = NOW - timedelta(hours=3)

    found = only(look(labelled(DOING), dev=seat(start_time=None), tries=[tried(started=began)]))

    assert found.finding.type == "stale_worker"


def test_nothing_is_said_of_an_issue_that_an_open_intent_keeps() -> None:
    intent = Intent(op="a", kind="pickup", tool="task_pickup", group_id=GROUP, issue=7, at=NOW)

    snapshot = look(labelled(), dev=seat(), pulse=Pulse.GONE, opened=(Opened(intent=intent),))

    assert diagnose(snapshot) == []


@pytest.mark.parametrize(
    ("age_min", "living", "parked", "told"),
    [(0, True, False, 0), (10, True, False, 1), (0, False, False, 1), (0, True, True, 1)],
    ids=["under way", "too old", "its process is gone", "parked"],
)
def test_open_intents_are_told_unless_they_are_under_way(age_min: int, living: bool, parked: bool, told: int) -> None:
    intent = Intent(
        op="a",
        kind="complete",
        tool="task_complete",
        group_id=GROUP,
        issue=7,
        at=NOW - timedelta(minutes=age_min),
        next_try=NOW if parked else None,
        payload={"waits": "the checkout is dirty"},
    )

    found = unsettled(look(labelled(TO_DO), opened=(Opened(intent=intent, living=living),)))

    assert len(found) == told
    assert ("the checkout is dirty" in "".join(each.finding.message for each in found)) is parked
