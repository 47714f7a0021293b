"""The label move of a tracker that changes two labels in one write, under humans who act between its requests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devclaw_py.errors import TrackerDenied, TrackerUnavailable
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.model.pipeline import State
from devclaw_py.rules.labels import states_in
from devclaw_py.trackers import move
from devclaw_py.trackers.faulty import FaultyTracker
from devclaw_py.trackers.memory import MemoryTracker
from devclaw_py.trackers.move import Moved

SOURCE, TARGET, THEIRS = State.TO_DO, State.DOING, State.REFINING


class Office:
    """One issue in the source state, a tracker that can be interrupted, and the time the move began."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.memory = MemoryTracker("shop", clock=self.clock, swaps=True)
        self.tracker = FaultyTracker(self.memory)
        self.issue = self.memory.seed(labels=["bug", SOURCE])
        self.clock.sleep(3600)
        self.since = self.clock.now()

    @property
    def states(self) -> tuple[State, ...]:
        return states_in(self.memory.get(self.issue).labels)

    def take(self) -> None:
        move.take(self.tracker, self.issue, SOURCE)

    def put(self) -> None:
        move.put(self.tracker, self.issue, TARGET, source=SOURCE)

    def move(self) -> None:
        self.take()
        self.put()

    def put_happened(self) -> bool:
        return move.put_happened(self.tracker, self.issue, source=SOURCE, target=TARGET, since=self.since)

    def put_back(self) -> State | None:
        return move.put_back(self.tracker, self.issue, source=SOURCE, target=TARGET, since=self.since)

    def human_adds(self, label: State) -> None:
        self.memory.human_labels(self.issue, [*self.memory.get(self.issue).labels, label])

    def human_removes(self, label: State) -> None:
        self.memory.human_labels(self.issue, [x for x in self.memory.get(self.issue).labels if x != label])

    def human_moves(self, to: State) -> None:
        self.memory.human_moves(self.issue, to)


@pytest.fixture
def office() -> Office:
    return Office()


def test_a_move_leaves_the_target_and_foreign_labels(office: Office) -> None:
    office.move()

    assert set(office.memory.get(office.issue).labels) == {"bug", "Doing"}


def test_a_move_is_one_read_and_one_write(office: Office) -> None:
    office.move()

    assert office.tracker.calls == ["get", "swap"]


def test_take_leaves_the_label_where_it_is(office: Office) -> None:
    office.take()

    assert office.states == (SOURCE,)


def test_take_beside_another_state_leaves_theirs_alone(office: Office) -> None:
    office.human_adds(THEIRS)

    with pytest.raises(Moved) as caught:
        office.take()

    assert (caught.value.found, office.states) == ((THEIRS,), (THEIRS,))


def test_take_stands_when_theirs_goes_meanwhile(office: Office) -> None:
    office.human_adds(THEIRS)
    office.tracker.interrupt(2, lambda: office.human_removes(THEIRS))

    office.take()

    assert office.states == (SOURCE,)


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("theirs", [State.REFINING, State.TO_TEST, State.PLANNING])
@pytest.mark.parametrize("act", [Office.human_moves, Office.human_adds], ids=["moves", "adds"])
def test_a_human_who_acts_before_any_request_wins(
    office: Office, call: int, theirs: State, act: Callable[[Office, State], None]
) -> None:
    office.tracker.interrupt(call, lambda: act(office, theirs))

    with pytest.raises(Moved):
        office.move()

    assert office.states == (theirs,)


def test_a_human_who_takes_our_label_off_first_is_not_overruled(office: Office) -> None:
    office.tracker.interrupt(2, lambda: office.human_moves(THEIRS))
    office.tracker.interrupt(3, lambda: office.human_removes(TARGET))

    with pytest.raises(Moved):
        office.move()

    assert office.states == (THEIRS,)


def test_a_source_that_a_human_puts_back_while_ours_is_withdrawn_stays(office: Office) -> None:
    office.tracker.interrupt(2, lambda: office.human_adds(THEIRS))
    office.tracker.interrupt(3, lambda: office.human_moves(SOURCE))

    with pytest.raises(Moved):
        office.move()

    assert office.states == (SOURCE,)


def test_a_source_that_a_human_adds_before_ours_is_put_again_is_not_taken_off(office: Office) -> None:
    office.tracker.interrupt(2, lambda: office.human_adds(THEIRS))
    office.tracker.interrupt(3, lambda: office.human_removes(THEIRS))
    office.tracker.interrupt(4, lambda: office.human_adds(SOURCE))

    with pytest.raises(Moved):
        office.move()

    assert office.states == (SOURCE,)


def test_an_ignored_write_is_denied_not_believed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office.memory, "swap", lambda number, source, target: frozenset({"bug", SOURCE.value}))

    with pytest.raises(TrackerDenied, match="the write was ignored"):
        office.move()


def test_a_take_is_never_something_that_happened(office: Office) -> None:
    office.take()

    assert not move.taken(office.tracker, office.issue, SOURCE, since=office.since)


def test_giving_back_needs_no_write(office: Office) -> None:
    office.take()
    office.tracker.calls.clear()

    move.give_back(office.tracker, office.issue, SOURCE)

    assert office.tracker.calls == ["get"]


@pytest.mark.parametrize("act", [Office.human_moves, Office.human_adds], ids=["moves", "adds"])
def test_giving_back_tells_of_a_humans_move(office: Office, act: Callable[[Office, State], None]) -> None:
    office.take()
    act(office, THEIRS)

    with pytest.raises(Moved):
        move.give_back(office.tracker, office.issue, SOURCE)

    assert office.states == (THEIRS,)


def test_a_put_whose_answer_was_lost_happened(office: Office) -> None:
    office.tracker.arm("swap", after=True)
    with pytest.raises(TrackerUnavailable):
        office.move()

    assert office.put_happened()


def test_a_put_that_was_not_begun_did_not_happen(office: Office) -> None:
    office.take()

    assert not office.put_happened()


def test_a_target_that_a_human_added_beside_the_source_is_no_put_of_ours(office: Office) -> None:
    office.human_adds(TARGET)

    assert not office.put_happened()


def test_a_source_that_a_human_added_beside_our_target_does_not_undo_the_put(office: Office) -> None:
    office.move()
    office.human_adds(SOURCE)

    assert office.put_happened()


STAGES: dict[str, Callable[[Office], object]] = {
    "nothing": lambda office: None,
    "looked": Office.take,
    "put": Office.move,
}


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES.keys())
def test_a_move_is_put_back_from_any_stage(office: Office, stage: Callable[[Office], object]) -> None:
    stage(office)

    assert office.put_back() is SOURCE
    assert office.put_back() is SOURCE
    assert office.states == (SOURCE,)


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_putting_back_can_be_cut_off_and_begun_again(office: Office, after: bool) -> None:
    office.move()
    office.tracker.arm("swap", after=after)
    with pytest.raises(TrackerUnavailable):
        office.put_back()
    assert len(office.states) == 1

    assert office.put_back() is SOURCE


@pytest.mark.parametrize("call", range(1, 5))
@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES.keys())
@pytest.mark.parametrize("act", [Office.human_moves, Office.human_adds], ids=["moves", "adds"])
def test_a_human_who_acts_while_it_is_put_back_wins(
    office: Office, stage: Callable[[Office], object], call: int, act: Callable[[Office, State], None]
) -> None:
    stage(office)
    office.tracker.calls.clear()
    office.tracker.interrupt(call, lambda: act(office, THEIRS))

    office.put_back()

    expected = (THEIRS,) if len(office.tracker.calls) >= call else (SOURCE,)
    assert office.states == expected


def test_a_target_that_a_human_put_is_not_put_back(office: Office) -> None:
    office.human_moves(TARGET)

    assert office.put_back() is TARGET


def test_a_state_that_a_human_took_off_is_not_put_back(office: Office) -> None:
    office.move()
    office.human_removes(TARGET)

    assert office.put_back() is None
    assert office.states == ()
