"""What is done about a worker without a report."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devclaw_py.model.following import End, Ended, Followed, Parked
from devclaw_py.rules.diagnosis import Pulse
from devclaw_py.rules.following import LATER, REMINDERS, RETRIES, STALLS, TYPED, Act, Do, Facts, decide
from devclaw_py.rules.following_cases import case

STALL_KEY = "stall-2026-03-01T21:20:00+00:00"
START = datetime(2026, 3, 1, 22, tzinfo=UTC)
STALL = timedelta(minutes=15)
PARKED = Parked(until=START + STALL)


def end(how: End = End.QUIET, ago_s: float = 60, *, key: str = "k1", now: datetime = START, **more: Any) -> Ended:
    return Ended(how=how, key=key, at=now - timedelta(seconds=ago_s), words="words", **more)


def facts(ended: Ended | None, *, pulse: Pulse = Pulse.IDLE, **more: Any) -> Facts:
    return Facts(**{"now": START, "pulse": pulse, "ended": ended, "stall": STALL, **more})


def done(ago_s: float = 600, **more: Any) -> Followed:
    return Followed(**{"number": 1, "at": START - timedelta(seconds=ago_s), "key": "k0", **more})


def did(found: Act | None) -> Do | None:
    return found.do if found is not None else None


@pytest.mark.parametrize(
    ("found", "do"),
    [
        (facts(end(ago_s=31)), Do.REMIND),
        (facts(end(ago_s=29)), None),
        (facts(end(ago_s=60, by_person=True)), None),
        (facts(end(ago_s=901, by_person=True)), Do.REMIND),
        (facts(end(End.BROKEN_OFF, 800)), None),
        (facts(end(End.BROKEN_OFF, 901)), Do.REMIND),
        (facts(end(), done=done(60, reminders=1)), None),
        (facts(end(), done=done(200, reminders=2)), Do.REMIND),
        (facts(end(), done=done(200, reminders=3)), Do.ANNOUNCE),
        (facts(end(), done=done(200, reminders=3, announced="silent")), None),
        (facts(end(End.PROGRAM)), None),
        (facts(end(End.RESTARTED, 0)), Do.GO_ON),
        (facts(end(End.RESTARTED, 0), done=done(10, key="k1")), None),
        (facts(end(End.RESTARTED, 300), done=done(200, key="k1")), Do.REMIND),
        (facts(end(End.RESTARTED, 0), done=done(restarts=5)), Do.ANNOUNCE),
        (facts(end(End.CLEARED, 30)), None),
        (facts(end(End.CLEARED, 61)), Do.TELL_AGAIN),
        (facts(end(End.FAILED, 9)), None),
        (facts(end(End.FAILED, 10)), Do.GO_ON),
        (facts(end(End.FAILED, 30), done=done(40, retries=2)), None),
        (facts(end(End.FAILED, 40), done=done(50, retries=2)), Do.GO_ON),
        (facts(end(End.FAILED, 300), done=done(310, retries=RETRIES)), Do.ANNOUNCE),
        (facts(end(End.FAILED, 300), done=done(3000, retries=RETRIES)), Do.GO_ON),
        (facts(end(End.REFUSED, 0)), Do.ANNOUNCE),
        (facts(end(End.REFUSED, 9000), done=done(announced="k1")), None),
        (facts(end(End.FULL, 0)), Do.ANNOUNCE),
        (facts(end(End.LIMITED, 0, until=START + STALL)), Do.PARK),
        (facts(end(End.LIMITED, until=START + STALL), done=done(announced="k1"), parked=PARKED), None),
        (facts(end(End.LIMITED, until=START + STALL), done=done(announced="k1")), Do.GO_ON),
        (facts(end(End.LIMITED, 9000, until=START)), Do.GO_ON),
        (facts(end(End.LIMITED, 9000, until=START), done=done(20, key="k1")), None),
        (facts(None), None),
        (facts(end(), pulse=Pulse.UNKNOWN), None),
        (facts(end(), pulse=Pulse.GONE), None),
        (facts(end(), reported=True), None),
        (facts(None, pulse=Pulse.BUSY), None),
        (facts(None, pulse=Pulse.BUSY, quiet_since=START - timedelta(minutes=14)), None),
        (facts(None, pulse=Pulse.BUSY, quiet_since=START - STALL), Do.ESCAPE),
        (facts(None, pulse=Pulse.BUSY, quiet_since=START - STALL, done=done(stalls=STALLS)), Do.ANNOUNCE),
        (facts(end(End.BROKEN_OFF, 5), done=done(6, escaped=True)), Do.GO_ON),
        (facts(end(End.BROKEN_OFF, 100), done=done(600)), None),
    ],
)
def test_each_end_has_its_next_step(found: Facts, do: Do | None) -> None:
    assert did(decide(found)) == do


@pytest.mark.parametrize("how", list(LATER))
def test_while_the_account_rests_nobody_is_told_to_go_on(how: End) -> None:
    parked = Parked(until=START + timedelta(seconds=1))
    assert decide(facts(end(how, 9000), parked=parked)) is None
    assert decide(facts(end(how, 9000), parked=Parked(until=START))) is not None


def test_a_limit_that_another_worker_met_is_waited_for_by_a_stalled_one() -> None:
    stalled = facts(None, pulse=Pulse.BUSY, quiet_since=START - STALL, parked=Parked(until=START + STALL))
    assert decide(stalled) is None


@pytest.mark.parametrize("how", list(End))
def test_each_end_is_found_by_session_health(how: End) -> None:
    found = case(facts(end(how, until=START + STALL if how is End.LIMITED else None)))
    assert found is not None
    assert found.over is (how is End.PROGRAM)


def test_a_task_is_taken_from_a_living_worker_only_after_its_group_was_told() -> None:
    for told, over in (("", False), ("silent", True)):
        found = case(facts(end(), done=done(reminders=REMINDERS, announced=told)))
        assert found is not None
        assert found.over is over


class Night:
    """A worker whose turns all end in some way; one pass a tick, each typed line begins a turn that ends."""

    def __init__(self, *, deaf: bool = False) -> None:
        self.now, self.turns, self.record, self.deaf = START, 1, Followed(), deaf
        self.acts: list[Act] = []
        self.ended: Ended | None = None

    def tick(self, how: End, passed_s: float, pulse: Pulse = Pulse.IDLE, *, reported: bool = False) -> None:
        self.now += timedelta(seconds=passed_s)
        if pulse is Pulse.IDLE and self.ended is None:
            self.ended = end(how, min(passed_s, 3600), key=f"k{self.turns}", now=self.now)
        elif pulse is Pulse.BUSY:
            self.ended = None
            self.turns += 1
        act = decide(
            Facts(
                now=self.now,
                pulse=pulse,
                ended=self.ended if pulse is Pulse.IDLE else None,
                quiet_since=self.now - timedelta(seconds=passed_s) if pulse is Pulse.BUSY else None,
                reported=reported,
                done=self.record,
                stall=STALL,
            )
        )
        if act is None:
            return
        assert act.record.number == self.record.number + 1
        self.acts.append(act)
        self.record = act.record
        if act.do in TYPED and not self.deaf:
            self.ended = None
            self.turns += 1

    def count(self, *kinds: Do) -> int:
        return sum(act.do in kinds for act in self.acts)


TICKS = st.lists(
    st.tuples(st.sampled_from(list(End)), st.floats(1, 7200), st.sampled_from(list(Pulse)), st.booleans()), max_size=80
)


@given(TICKS, st.booleans())
def test_a_worker_is_never_reminded_more_than_three_times(
    ticks: list[tuple[End, float, Pulse, bool]], deaf: bool
) -> None:
    night = Night(deaf=deaf)
    for how, passed_s, pulse, reported in ticks:
        night.tick(how, passed_s, pulse, reported=reported)
    assert night.count(Do.REMIND) <= REMINDERS
    assert night.count(Do.ESCAPE) <= STALLS


@given(TICKS)
def test_nothing_is_typed_to_a_worker_at_work_or_one_that_has_reported(
    ticks: list[tuple[End, float, Pulse, bool]],
) -> None:
    night = Night()
    for how, passed_s, pulse, reported in ticks:
        before = night.count(*TYPED)
        night.tick(how, passed_s, pulse, reported=reported)
        if pulse is not Pulse.IDLE or reported:
            assert night.count(*TYPED) == before


@given(st.lists(st.floats(1, 400), min_size=60, max_size=120))
def test_a_silent_worker_is_announced_once_and_then_left(passed: list[float]) -> None:
    night = Night()
    for passed_s in passed + [400.0] * 6:
        night.tick(End.QUIET, passed_s)
    assert [act.do for act in night.acts] == [Do.REMIND] * REMINDERS + [Do.ANNOUNCE]


def test_an_api_that_stays_down_is_tried_a_bounded_number_of_times() -> None:
    night = Night()
    for _ in range(100):
        night.tick(End.FAILED, 300)
    assert night.count(Do.GO_ON) == RETRIES
    assert night.count(Do.ANNOUNCE) == 1


def test_an_account_without_credit_is_asked_nothing() -> None:
    night = Night()
    for _ in range(100):
        night.tick(End.REFUSED, 300)
    assert [act.do for act in night.acts] == [Do.ANNOUNCE]


@pytest.mark.parametrize(
    ("told_ago_min", "announced", "over"),
    [(16, STALL_KEY, True), (14, STALL_KEY, False), (16, "stall-of-another-turn", False)],
    ids=["nobody-came", "somebody-may-come", "told-of-another-stall"],
)
def test_a_stuck_worker_loses_its_task_when_the_group_was_told_and_nobody_came(
    told_ago_min: int, announced: str, over: bool
) -> None:
    record = done(told_ago_min * 60, stalls=STALLS, key=announced, announced=announced)
    quiet = START - timedelta(minutes=40)

    found = case(facts(None, pulse=Pulse.BUSY, quiet_since=quiet, done=record))

    assert found is not None
    assert found.over is over
