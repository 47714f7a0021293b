from __future__ import annotations

from devclaw_py.model.pipeline import State
from devclaw_py.rules.labels import COLOURS, distinct, states_in, without


def test_every_state_has_a_colour_of_six_hex_digits() -> None:
    assert set(COLOURS) == set(State)
    assert all(len(colour) == 6 and int(colour, 16) for colour in COLOURS.values())


def test_states_are_found_in_any_case_in_their_own_order_and_once() -> None:
    assert states_in(["DOING", "bug", "to do", "To Do"]) == (State.TO_DO, State.DOING)


def test_other_labels_are_no_states() -> None:
    assert states_in(["Doings", "todo", ""]) == ()


def test_every_spelling_of_a_label_is_left_out() -> None:
    assert without(["a", "Doing", "doing", "b"], "DOING") == ("a", "b")


def test_a_repeated_label_keeps_its_first_place_and_spelling() -> None:
    assert distinct(["b", "A", "B", "a", "c"]) == ("b", "A", "c")
