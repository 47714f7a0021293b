"""Labels: which of them are states, and what it means for two of them to be the same.

Label names are compared casefolded, as GitHub does, so ``to do`` typed by hand is the state To Do.
"""

from __future__ import annotations

from collections.abc import Iterable

from devclaw_py.model.pipeline import State

COLOURS: dict[State, str] = {
    State.PLANNING: "6699cc",
    State.TO_DO: "428bca",
    State.DOING: "f0ad4e",
    State.TO_TEST: "5bc0de",
    State.TESTING: "9b59b6",
    State.TO_IMPROVE: "d9534f",
    State.REFINING: "f39c12",
    State.DONE: "5cb85c",
}


def state_of(label: str) -> State | None:
    """Return the state that ``label`` spells, or None when it is somebody's own label.

    >>> state_of("to do")
    <State.TO_DO: 'To Do'>
    """
    return next((state for state in State if same(state, label)), None)


def states_in(labels: Iterable[str]) -> tuple[State, ...]:
    """Return the states among ``labels``, each once, in the order of `State`."""
    folded = {label.casefold() for label in labels}
    return tuple(state for state in State if state.casefold() in folded)


def same(one: str, other: str) -> bool:
    """Whether two spellings name one label."""
    return one.casefold() == other.casefold()


def carries(labels: Iterable[str], label: str) -> bool:
    """Whether ``label`` is among ``labels``."""
    return any(same(each, label) for each in labels)


def without(labels: Iterable[str], label: str) -> tuple[str, ...]:
    """Return ``labels`` less every spelling of ``label``, order and spelling of the others kept."""
    return tuple(each for each in labels if not same(each, label))


def distinct(labels: Iterable[str]) -> tuple[str, ...]:
    """Return ``labels`` with each name once, in its first spelling and place."""
    found: dict[str, str] = {}
    for label in labels:
        found.setdefault(label.casefold(), label)
    return tuple(found.values())
