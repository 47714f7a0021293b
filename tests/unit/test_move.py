"""The label move under humans who act between any two of its requests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from devclaw_py.errors import TrackerDenied, TrackerUnavailable
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.model.pipeline import State
from devclaw_py.model.task import LabelEvent
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
        self.memory = MemoryTracker("shop", clock=self.clock)
        self.tracker = FaultyTracker(self.memory)
        self.issue = self.memory.seed(labels=["bug", SOURCE])
        self.clock.sleep(3600)
        self.since = self.clock.now()

    @property
    def states(self) -> tuple[State, ...]:
        return states_in(self.memory.get(self.issue).labels)

    def move(self) -> None:
        move.take(self.tracker, self.issue, SOURCE)
        move.put(self.tracker, self.issue, TARGET, source=SOURCE)

    def put_happened(self) -> bool:
        return move.put_happened(self.tracker, self.issue, source=SOURCE, target=TARGET, since=self.since)

    def put_back(self) -> State | None:
        return move.put_back(self.tracker, self.issue, source=SOURCE, target=TARGET, since=self.since)

    def taken(self) -> bool:
        return move.taken(self.tracker, self.issue, SOURCE, since=self.since)

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


def test_a_move_costs_two_requests(office: Office) -> None:
    office.move()

    assert office.tracker.calls == ["take", "put"]


def test_take_of_a_state_that_is_gone_names_what_stands(office: Office) -> None:
    office.human_moves(THEIRS)

    with pytest.raises(Moved, match="expected to carry To Do, it carries Refining") as caught:
        move.take(office.tracker, office.issue, SOURCE)

    assert caught.value.found == (THEIRS,)
    assert office.states == (THEIRS,)


def test_take_beside_another_state_leaves_theirs_alone(office: Office) -> None:
    office.human_adds(THEIRS)

    with pytest.raises(Moved) as caught:
        move.take(office.tracker, office.issue, SOURCE)

    assert caught.value.found == (THEIRS,)
    assert office.states == (THEIRS,)


def test_put_beside_another_state_withdraws_ours(office: Office) -> None:
    office.human_moves(THEIRS)

    with pytest.raises(Moved):
        move.put(office.tracker, office.issue, TARGET)

    assert office.states == (THEIRS,)


def test_put_stands_when_theirs_goes_while_ours_is_withdrawn(office: Office) -> None:
    office.human_moves(THEIRS)
    office.tracker.interrupt(2, lambda: office.human_removes(THEIRS))

    move.put(office.tracker, office.issue, TARGET)

    assert office.states == (TARGET,)


def test_an_ignored_write_is_denied_not_believed(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office.memory, "put", lambda number, label: frozenset({"bug"}))

    with pytest.raises(TrackerDenied, match="the write was ignored"):
        move.put(office.tracker, office.issue, TARGET)


@pytest.mark.parametrize("call", [1, 2])
@pytest.mark.parametrize("theirs", [State.REFINING, State.TO_TEST, State.PLANNING])
def test_a_human_who_moves_the_issue_before_any_request_wins(office: Office, call: int, theirs: State) -> None:
    office.tracker.interrupt(call, lambda: office.human_moves(theirs))

    with pytest.raises(Moved):
        office.move()

    assert office.states == (theirs,)


@pytest.mark.parametrize("call", [1, 2])
def test_a_human_who_adds_a_state_before_any_request_wins(office: Office, call: int) -> None:
    office.tracker.interrupt(call, lambda: office.human_adds(THEIRS))

    with pytest.raises(Moved):
        office.move()

    assert office.states == (THEIRS,)


def test_a_human_who_takes_our_label_off_first_is_not_overruled(office: Office) -> None:
    office.tracker.interrupt(2, lambda: office.human_moves(THEIRS))
    office.tracker.interrupt(3, lambda: office.human_removes(TARGET))

    with pytest.raises(Moved) as caught:
        office.move()

    assert caught.value.found == (THEIRS,)
    assert office.states == (THEIRS,)


def test_a_take_that_was_not_begun_did_not_happen(office: Office) -> None:
    assert not office.taken()


def test_a_take_of_ours_happened(office: Office) -> None:
    move.take(office.tracker, office.issue, SOURCE)

    assert office.taken()


def test_a_take_whose_answer_was_lost_happened(office: Office) -> None:
    office.tracker.arm("take", after=True)
    with pytest.raises(TrackerUnavailable):
        move.take(office.tracker, office.issue, SOURCE)

    assert office.taken()


def test_a_take_is_ours_although_the_trackers_clock_is_behind(office: Office) -> None:
    move.take(office.tracker, office.issue, SOURCE)
    office.since += timedelta(seconds=30)

    assert office.taken()


def test_a_label_a_human_took_off_was_not_taken_by_us(office: Office) -> None:
    office.human_removes(SOURCE)

    with pytest.raises(Moved) as caught:
        office.taken()

    assert caught.value.found == ()


def test_a_take_of_an_earlier_operation_is_not_this_one(office: Office) -> None:
    move.take(office.tracker, office.issue, SOURCE)
    office.clock.sleep(3600)
    office.since = office.clock.now()

    with pytest.raises(Moved):
        office.taken()


def test_another_state_after_our_take_is_somebodys_move(office: Office) -> None:
    move.take(office.tracker, office.issue, SOURCE)
    office.human_adds(THEIRS)

    with pytest.raises(Moved) as caught:
        office.taken()

    assert caught.value.found == (THEIRS,)


def test_a_history_behind_the_labels_concludes_nothing(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    stale = office.memory.last_event(office.issue, SOURCE)
    move.take(office.tracker, office.issue, SOURCE)
    monkeypatch.setattr(office.memory, "last_event", lambda number, label: stale)

    with pytest.raises(TrackerUnavailable, match="history"):
        office.taken()


def test_a_put_happened_when_its_label_stands(office: Office) -> None:
    assert not office.put_happened()

    office.move()

    assert office.put_happened()


STAGES: dict[str, Callable[[Office], object]] = {
    "nothing": lambda office: None,
    "taken": lambda office: office.memory.take(office.issue, SOURCE),
    "put": Office.move,
}


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES.keys())
def test_a_move_is_put_back_from_any_stage(office: Office, stage: Callable[[Office], object]) -> None:
    stage(office)

    assert office.put_back() is SOURCE
    assert office.states == (SOURCE,)


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES.keys())
def test_putting_back_twice_is_putting_back_once(office: Office, stage: Callable[[Office], object]) -> None:
    stage(office)
    office.put_back()

    assert office.put_back() is SOURCE
    assert office.states == (SOURCE,)


@pytest.mark.parametrize("method", ["take", "put"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_putting_back_can_be_cut_off_and_begun_again(office: Office, method: str, after: bool) -> None:
    office.move()
    office.tracker.arm(method, after=after)
    with pytest.raises(TrackerUnavailable):
        office.put_back()

    assert office.put_back() is SOURCE
    assert office.states == (SOURCE,)


@pytest.mark.parametrize("call", range(1, 6))
@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES.keys())
def test_a_human_who_moves_the_issue_while_it_is_put_back_wins(
    office: Office, stage: Callable[[Office], object], call: int
) -> None:
    stage(office)
    office.tracker.calls.clear()
    office.tracker.interrupt(call, lambda: office.human_moves(THEIRS))

    stands = office.put_back()

    if len(office.tracker.calls) >= call:
        assert (stands, office.states) == (THEIRS, (THEIRS,))
    else:
        assert (stands, office.states) == (SOURCE, (SOURCE,))


@pytest.mark.parametrize("call", range(1, 6))
@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES.keys())
def test_a_human_who_adds_a_state_while_it_is_put_back_wins(
    office: Office, stage: Callable[[Office], object], call: int
) -> None:
    stage(office)
    office.tracker.calls.clear()
    office.tracker.interrupt(call, lambda: office.human_adds(THEIRS))

    office.put_back()

    if len(office.tracker.calls) >= call:
        assert office.states == (THEIRS,)


def test_a_target_that_a_human_put_is_not_put_back(office: Office) -> None:
    office.human_moves(TARGET)

    assert office.put_back() is TARGET
    assert office.states == (TARGET,)


def test_a_state_that_a_human_took_off_is_not_put_back(office: Office) -> None:
    office.move()
    office.human_removes(TARGET)

    assert office.put_back() is None
    assert office.states == ()


def test_of_source_and_a_state_a_human_added_theirs_stays(office: Office) -> None:
    office.human_adds(THEIRS)

    assert office.put_back() is THEIRS
    assert office.states == (THEIRS,)


@pytest.mark.parametrize("labels", [[], ["Done"], ["To Do", "Doing", "Refining"], ["Refining", "Done"]], ids=str)
def test_mending_leaves_exactly_the_state_to_keep(office: Office, labels: Sequence[str]) -> None:
    office.memory.human_labels(office.issue, ["bug", *labels])

    move.mend(office.tracker, office.issue, State.REFINING)

    assert set(office.memory.get(office.issue).labels) == {"bug", "Refining"}


@pytest.mark.parametrize("call", [2, 3, 4])
def test_a_human_who_moves_the_issue_while_it_is_mended_wins(office: Office, call: int) -> None:
    office.memory.human_labels(office.issue, ["To Do", "Doing"])
    office.tracker.interrupt(call, lambda: office.human_moves(State.DONE))

    with pytest.raises(Moved):
        move.mend(office.tracker, office.issue, THEIRS)

    assert office.states == (State.DONE,)


def test_a_human_who_chooses_the_other_label_while_it_is_mended_wins(office: Office) -> None:
    office.memory.human_labels(office.issue, ["To Do", "Doing"])
    office.tracker.interrupt(2, lambda: office.human_removes(State.TO_DO))

    with pytest.raises(Moved):
        move.mend(office.tracker, office.issue, State.TO_DO)

    assert office.states == (State.DOING,)


def event(label: str, added: bool) -> LabelEvent:
    return LabelEvent(label=label, added=added, actor="x", ours=False, at=datetime(2026, 1, 1, tzinfo=UTC))


def test_of_several_labels_the_one_put_on_last_is_newest() -> None:
    events = [event("Doing", True), event("to do", True), event("bug", True), event("Done", True), event("Done", False)]

    assert move.newest_state(events, ["Doing", "To Do", "bug"]) is State.TO_DO


def test_without_a_label_the_newest_is_the_one_taken_off_last() -> None:
    events = [event("To Do", True), event("Doing", True), event("To Do", False), event("Doing", False)]

    assert move.newest_state(events, ["bug"]) is State.DOING


def test_without_history_nothing_is_newest() -> None:
    assert move.newest_state([event("bug", True)], ["Doing", "To Do"]) is None
