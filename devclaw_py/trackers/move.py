"""Moving an issue from one state to another over the port: take, put, and what to do when somebody else moved it.

There is no transaction: a human may act between any two requests. So `take` is the compare-and-set, every answer's
full label list is looked at, and where another state label turns up ours is withdrawn and theirs stays.

Where the tracker `swaps` there is no compare-and-set, and no moment without a state either: `take` looks whether the
source stands alone and leaves it, `put` takes it off and adds the target in one write.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from datetime import datetime, timedelta

from devclaw_py.errors import Conflict, TrackerDenied, TrackerUnavailable
from devclaw_py.model.pipeline import State
from devclaw_py.model.task import LabelEvent
from devclaw_py.rules.labels import same, state_of, states_in
from devclaw_py.trackers.base import IssueProvider

SKEW = timedelta(seconds=60)
"""How far a tracker's clock may be behind ours; GitHub cuts to whole seconds besides."""

PUT_TRIES = 3


class Moved(Conflict):
    """Somebody else moved the issue; ``found`` are the state labels that stand now."""

    def __init__(self, number: int, expected: State, found: Sequence[State]) -> None:
        self.number, self.expected, self.found = number, expected, tuple(found)
        now = ", ".join(found) or "no state label"
        super().__init__(
            f"issue #{number} was expected to carry {expected}, it carries {now}: somebody else moved it, which stays",
            hint="read the issue, then decide again",
        )


def take(tracker: IssueProvider, number: int, source: State) -> None:
    """Take ``source`` off. Of all who try at once one succeeds; where the tracker swaps all do whom no lock parts.

    Raises:
        Moved: it was not there, or another state label is there as well; nothing of ours is left behind.
    """
    if tracker.swaps:
        _look(tracker, number, source)
        return
    left = tracker.take(number, source)
    found = _now(tracker, number) if left is None else states_in(left)
    if left is None or found:
        raise Moved(number, source, found)


def give_back(tracker: IssueProvider, number: int, source: State) -> None:
    """Put ``source`` back after a `take`, while what comes in between has to wait.

    Raises:
        Moved: somebody else has moved the issue; theirs stays.
    """
    if tracker.swaps:
        _look(tracker, number, source)
    else:
        put(tracker, number, target=source)


def put(tracker: IssueProvider, number: int, target: State, *, source: State | None = None) -> None:
    """Put ``target`` on an issue that carries no state label, but ``source`` where that was looked at by `take`.

    Raises:
        Moved: another state label is there; it stays and ``target`` does not.
        TrackerDenied: the tracker answered without doing it.
    """
    others: tuple[State, ...] = ()
    for _ in range(PUT_TRIES):
        if source is not None and tracker.swaps:
            found = states_in(tracker.swap(number, source, target))
            source = None  # one that is there afterwards is somebody else's
        else:
            found = states_in(tracker.put(number, target))
        if target not in found:
            raise _ignored(tracker, number, target)
        others = tuple(state for state in found if state is not target)
        if not others:
            return
        left = tracker.take(number, target)
        others = _now(tracker, number) if left is None else states_in(left)
        if others or left is None:
            break
        # Theirs went while ours was withdrawn: nobody's label is left, so ours is put again.
    raise Moved(number, target, others)


def taken(tracker: IssueProvider, number: int, source: State, *, since: datetime) -> bool:
    """Whether a `take` of ours, begun at ``since``, happened. Recovery asks this of an operation that was cut off.

    Where the tracker swaps there was only a look, which is to be had again.

    Raises:
        Moved: another state label is there, or a human took ``source`` off.
        TrackerUnavailable: the tracker's history is behind its labels.
    """
    if tracker.swaps:
        return False
    found = _now(tracker, number)
    if any(state is not source for state in found):
        raise Moved(number, source, found)
    if found:
        return False
    event = tracker.last_event(number, source)
    if event is not None and event.added:
        raise TrackerUnavailable(
            f"issue #{number} in {tracker.where()} does not carry {source}; its history does not say yet who took it"
        )
    if event is None or not _ours_since(event, since):
        raise Moved(number, source, ())
    return True


def put_happened(tracker: IssueProvider, number: int, *, source: State, target: State, since: datetime) -> bool:
    """Whether a `put` begun at ``since`` happened: ``target`` is on the issue.

    What stands beside it is for `put_back` or `mend`; but a target beside the source that is to be swapped for it is
    ours only by the issue's history: else somebody added it, and the source has to go yet.
    """
    found = _now(tracker, number)
    if tracker.swaps and source in found:
        return target in found and _put_by_us(tracker.label_events(number), target, since)
    return target in found


def put_back(tracker: IssueProvider, number: int, *, source: State, target: State, since: datetime) -> State | None:
    """Undo a move begun at ``since``, whatever of it happened, and return the state that stands then.

    Ours is undone, a human's move stays: also their taking every state label off, which returns None.
    """
    events = tracker.label_events(number)
    found = _now(tracker, number)
    withdrew = target in found and _put_by_us(events, target, since)
    if withdrew and tracker.swaps and found == (target,):
        return _swapped_back(tracker, number, source, target)
    if withdrew:
        left = tracker.take(number, target)
        found = _now(tracker, number) if left is None else states_in(left)
        withdrew = left is not None
    try:
        if len(found) > 1:
            return mend(tracker, number, newest_state(tracker.label_events(number), found) or found[0])
        if not found and (withdrew or _cut_off(events, {source, target}, since)):
            put(tracker, number, source)
            return source
    except Moved as moved:
        found = moved.found
    return found[0] if found else None


def newest_state(events: Sequence[LabelEvent], labels: Iterable[str]) -> State | None:
    """Return the state of the newest label event: of those that ``labels`` hold, else of any.

    None means that the history says nothing about it.
    """
    standing = states_in(labels)
    for event in reversed(events):
        state = state_of(event.label)
        if state is not None and ((event.added and state in standing) or not standing):
            return state
    return None


def mend(tracker: IssueProvider, number: int, keep: State) -> State:
    """Leave exactly ``keep`` of an issue's state labels and return it. There is no moment without one.

    Raises:
        Moved: somebody put another state label on or took ``keep`` off meanwhile; theirs stays.
        TrackerDenied: the tracker answered without doing it.
    """
    seen = _now(tracker, number)
    found = states_in(tracker.put(number, keep)) if keep not in seen else seen
    if keep not in found:
        raise _ignored(tracker, number, keep)
    for state in seen:
        if state is not keep:
            found = _off(tracker, number, state)
    theirs = tuple(state for state in found if state is not keep)
    if theirs and keep in found:
        tracker.take(number, keep)
    if theirs or keep not in found:
        raise Moved(number, keep, theirs)
    return keep


def _look(tracker: IssueProvider, number: int, source: State) -> None:
    """See that ``source`` is the one state label; beside somebody else's it is taken off, and theirs stays.

    Raises:
        Moved: it is not there, or was not alone.
    """
    found = _now(tracker, number)
    if found == (source,):
        return
    if source in found:
        left = tracker.take(number, source)
        found = _now(tracker, number) if left is None else states_in(left)
        if left is not None and not found:
            # Theirs went while ours was taken off: nobody's label is left.
            put(tracker, number, source)
            return
    raise Moved(number, source, found)


def _swapped_back(tracker: IssueProvider, number: int, source: State, target: State) -> State | None:
    try:
        put(tracker, number, source, source=target)
    except Moved as moved:
        return moved.found[0] if moved.found else None
    return source


def _off(tracker: IssueProvider, number: int, state: State) -> tuple[State, ...]:
    left = tracker.take(number, state)
    found = _now(tracker, number) if left is None else states_in(left)
    if left is None or found:
        return found
    # Somebody took the label to keep off meanwhile: of the two they chose the one that was just taken.
    return states_in(tracker.put(number, state))


def _now(tracker: IssueProvider, number: int) -> tuple[State, ...]:
    return states_in(tracker.get(number).labels)


def _ignored(tracker: IssueProvider, number: int, label: State) -> TrackerDenied:
    return TrackerDenied(
        f"{label} was put on issue #{number} and {tracker.where()} answered without it: the write was ignored",
        hint="see that the account may label issues",
    )


def _ours_since(event: LabelEvent, since: datetime) -> bool:
    return event.ours and event.at >= since - SKEW


def _put_by_us(events: Sequence[LabelEvent], target: State, since: datetime) -> bool:
    event = next((event for event in reversed(events) if same(event.label, target)), None)
    return event is not None and event.added and _ours_since(event, since)


def _cut_off(events: Sequence[LabelEvent], ours: Container[State], since: datetime) -> bool:
    """Whether the last thing that happened to the issue's state is that we took one of ``ours`` off."""
    for event in reversed(events):
        state = state_of(event.label)
        if state is not None:
            return not event.added and state in ours and _ours_since(event, since)
    return False
