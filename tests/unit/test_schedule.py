"""What the heartbeat hands out: decided from facts alone."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devclaw_py.model.journal import Attempt, Report
from devclaw_py.model.pipeline import Mode, Result, Role, RoleExecution, State, Tier
from devclaw_py.rules import workflow
from devclaw_py.rules.schedule import Place, Plan, Queued, pause_of, plan, tier_for

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def attempt(number: int, *, reason: str | None = "silent_worker", ago_s: float = 0, **more: Any) -> Attempt:
    ended = NOW - timedelta(seconds=ago_s)
    facts: dict[str, Any] = {
        "group_id": "g",
        "issue": 1,
        "number": number,
        "role": Role.DEV,
        "tier": Tier.MEDIOR,
        "session": "s",
        "op": f"op{number}",
        "accepted": ended,
        "started": ended - timedelta(minutes=1),
        "ended": ended if reason else None,
        "reason": reason,
    }
    return Attempt(**{**facts, **more})


def failed(number: int, **more: Any) -> Attempt:
    """A dev attempt that was reported done; it is in a queue again, so its test failed."""
    return attempt(number, reason="done", report=Report(result=Result.DONE), ago_s=3600, **more)


def waiting(number: int, state: State = State.TO_DO, *attempts: Attempt, tier: Tier = Tier.MEDIOR) -> Queued:
    return Queued(number=number, state=state, tier=tier, attempts=attempts)


def place(*queue: Queued, group: str = "g", dev: int = 1, qa: int = 1, **more: Any) -> Place:
    return Place(group_id=group, queue=queue, seats={Role.DEV: dev, Role.QA: qa}, **more)


def planned(*places: Place, room: int = 99, limit: int = 4, **more: Any) -> Plan:
    return plan(places, now=NOW, limit=limit, room=room, **more)


def issues(found: Plan) -> list[int]:
    return [pickup.issue for pickup in found.pickups]


def test_every_free_seat_gets_a_task_in_one_go() -> None:
    found = planned(place(waiting(7, State.TO_IMPROVE), waiting(3, State.TO_TEST), waiting(1), waiting(2), dev=3))

    assert issues(found) == [7, 3, 1, 2]


def test_an_issue_that_pauses_keeps_none_behind_it_waiting() -> None:
    found = planned(place(waiting(1, State.TO_DO, attempt(1)), waiting(2)))

    assert issues(found) == [2]
    assert [(held.issue, held.until) for held in found.held] == [(1, NOW + timedelta(seconds=10))]


def test_a_busy_tester_keeps_no_developer_waiting() -> None:
    assert issues(planned(place(waiting(3, State.TO_TEST), waiting(1), qa=0))) == [1]


def test_projects_take_turns_when_there_is_not_room_for_all() -> None:
    one, other = (place(*(waiting(number) for number in (1, 2, 3)), group=group, dev=3) for group in ("early", "late"))

    found = planned(one, other, room=4)

    assert Counter(pickup.group_id for pickup in found.pickups) == {"early": 2, "late": 2}


def test_the_project_that_has_waited_longest_comes_first() -> None:
    found = planned(
        place(waiting(1), group="a", since=NOW), place(waiting(1), group="b", since=NOW - timedelta(hours=1)), room=1
    )

    assert [pickup.group_id for pickup in found.pickups] == ["b"]


@pytest.mark.parametrize("mode", [Mode.PAUSED, Mode.STOPPED])
def test_a_paused_project_is_given_nothing(mode: Mode) -> None:
    found = planned(place(waiting(1), waiting(2, State.TO_TEST), mode=mode))

    assert (issues(found), [held.why for held in found.held]) == ([], [f"the project is {mode}"] * 2)


def test_a_draining_project_brings_what_was_begun_to_its_end_and_begins_nothing() -> None:
    queue = (waiting(7, State.TO_IMPROVE), waiting(3, State.TO_TEST), waiting(1), waiting(2, State.TO_DO, failed(1)))

    assert issues(planned(place(*queue, dev=3, mode=Mode.DRAINING))) == [7, 3, 2]


def test_one_role_at_a_time_means_also_within_one_plan() -> None:
    both = (waiting(3, State.TO_TEST), waiting(1))

    assert issues(planned(place(*both, execution=RoleExecution.SEQUENTIAL))) == [3]


def test_one_project_at_a_time_leaves_the_others_waiting() -> None:
    found = planned(
        place(waiting(1), group="a"), place(waiting(1), group="b", busy={Role.DEV: 1}, dev=0, qa=0), one_project=True
    )

    assert found.pickups == ()
    idle = planned(place(waiting(1), group="a"), place(waiting(1), group="b"), one_project=True)
    assert [pickup.group_id for pickup in idle.pickups] == ["a"]


def test_what_keeps_coming_back_is_left_to_people_with_its_story() -> None:
    tries = [failed(number) for number in (1, 2, 3, 4)]

    (given_up,) = planned(place(waiting(1, State.TO_IMPROVE, *tries))).given_up

    assert given_up.issue == 1
    assert given_up.story.count("\n* attempt ") == 4


def test_what_people_put_back_after_that_begins_anew() -> None:
    tries = [failed(1), failed(2), failed(3), failed(4, given_up=NOW)]

    assert issues(planned(place(waiting(1, State.TO_DO, *tries)))) == [1]


def test_an_issue_that_no_worker_ever_got_is_not_given_up_however_often() -> None:
    tries = [attempt(number, reason="void", accepted=None, ago_s=301) for number in range(1, 30)]

    assert issues(planned(place(waiting(1, State.TO_DO, *tries)))) == [1]


@pytest.mark.parametrize(("row", "pause_s"), [(1, 10), (2, 20), (3, 40), (5, 160), (6, 300), (40, 300)])
def test_each_attempt_in_vain_doubles_the_pause_up_to_five_minutes(row: int, pause_s: int) -> None:
    assert pause_of([attempt(number) for number in range(row)]) == NOW + timedelta(seconds=pause_s)


def test_a_report_or_a_persons_move_ends_the_pause() -> None:
    assert pause_of([attempt(1), failed(2)]) is None
    assert pause_of([attempt(1), attempt(2, reason="moved")]) is None


@pytest.mark.parametrize(
    ("tries", "tier"),
    [
        ([], Tier.JUNIOR),
        ([failed(1, tier=Tier.JUNIOR)], Tier.JUNIOR),
        ([failed(1, tier=Tier.JUNIOR), failed(2, tier=Tier.JUNIOR)], Tier.MEDIOR),
        ([failed(1, tier=Tier.MEDIOR), failed(2, tier=Tier.MEDIOR)], Tier.SENIOR),
        ([failed(1, tier=Tier.SENIOR), failed(2, tier=Tier.SENIOR)], Tier.SENIOR),
        ([failed(1, tier=Tier.JUNIOR), attempt(2, reason="session_dead", tier=Tier.JUNIOR)], Tier.JUNIOR),
    ],
)
def test_a_second_failure_of_a_tier_brings_the_next_one(tries: list[Attempt], tier: Tier) -> None:
    assert tier_for(Tier.JUNIOR, tries) is tier


def test_what_passed_its_test_and_was_reopened_begins_anew() -> None:
    passed = attempt(5, role=Role.QA, tier=Tier.QA, reason="pass", ago_s=3600, outcome={"result": "pass"})
    tries = [failed(1), failed(2), failed(3), failed(4), passed]

    (found,) = planned(place(waiting(1, State.TO_DO, *tries, tier=Tier.JUNIOR))).pickups

    assert (found.issue, found.tier) == (1, Tier.JUNIOR)


def test_a_project_that_is_not_asked_now_still_counts_as_at_work() -> None:
    held = Place(group_id="held", busy={Role.DEV: 1})

    assert issues(planned(place(waiting(1)), held, room=1)) == []
    assert issues(planned(place(waiting(1)), held, one_project=True)) == []


def test_an_issue_without_money_keeps_no_other_waiting() -> None:
    poor = waiting(1).model_copy(update={"spent": {Tier.MEDIOR: "the budget is used up"}})

    found = planned(place(poor, waiting(2)))

    assert issues(found) == [2]
    assert [(held.why, held.spends) for held in found.held] == [("the budget is used up", Tier.MEDIOR)]


@st.composite
def places(draw: st.DrawFn) -> Place:
    numbers = draw(st.lists(st.integers(1, 50), unique=True, max_size=8))
    queue = tuple(waiting(number, draw(st.sampled_from(workflow.QUEUES))) for number in numbers)
    return Place(
        group_id=draw(st.uuids()).hex,
        queue=queue,
        mode=draw(st.sampled_from(Mode)),
        execution=draw(st.sampled_from(RoleExecution)),
        seats={role: draw(st.integers(0, 3)) for role in Role},
        busy={role: draw(st.integers(0, 2)) for role in Role},
    )


@given(st.lists(places(), max_size=5), st.integers(0, 12), st.booleans())
def test_whatever_the_facts_no_seat_gets_two_and_every_issue_has_one_verdict(
    found: list[Place], room: int, one: bool
) -> None:
    result = planned(*found, room=room, one_project=one)

    by_group = {each.group_id: each for each in found}
    given_out = Counter((pickup.group_id, pickup.role) for pickup in result.pickups)
    assert all(count <= by_group[group].seats[role] for (group, role), count in given_out.items())
    verdicts = Counter((each.group_id, each.issue) for each in result.pickups)
    verdicts += Counter((each.group_id, each.issue) for each in result.held)
    verdicts += Counter((each.group_id, each.issue) for each in result.given_up)
    assert verdicts == Counter((each.group_id, queued.number) for each in found for queued in each.queue)
    assert len(result.pickups) <= max(room - sum(sum(each.busy.values()) for each in found), 0)
