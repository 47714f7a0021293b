"""Typing into a box that a person shares."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from devclaw_py.agents.claude import delivery
from devclaw_py.agents.console import Console
from devclaw_py.errors import DeliveryUnconfirmed
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.terminals.base import Key
from devclaw_py.terminals.memory import MemoryTerminal

NAME = "shop-dev-medior"
LINE = "devclaw-task 4.1: Read the file `/x` and do the task in it."


class Box(MemoryTerminal):
    """An input box like Claude Code's, over virtual time. ``on_look`` is what happens before each look."""

    def __init__(self) -> None:
        super().__init__()
        self.stash, self.text, self.visible, self.deaf = "", "", True, 0
        self.sent: list[str] = []
        self.keys: list[Key] = []
        self.on_look: Callable[[], object] = lambda: None

    def paste(self, name: str, text: str) -> None:
        self.text += text

    def press(self, name: str, key: Key) -> None:
        self.keys.append(key)
        if key is Key.ENTER and self.deaf:
            self.deaf -= 1
        elif key is Key.ENTER:
            self.sent.append(self.text)
            self.text, self.stash = self.stash, ""
        elif key is Key.STASH:
            self.text, self.stash = ("", self.text) if self.text else (self.stash, "")
        elif key is Key.CLEAR_LINE:
            self.text = self.text.rpartition("\n")[0]
        else:
            self.text = ""

    def view(self, name: str) -> str:
        self.on_look()
        mark, text = ("!", self.text[1:]) if self.text.startswith("!") else ("❯", self.text)
        rows = ["─" * 40, *f"{mark}\xa0{text}".split("\n"), "─" * 40]
        return "\n".join(rows) if self.visible else "Do you trust this?\n❯ No, exit"


@pytest.fixture
def box() -> Box:
    return Box()


@pytest.fixture
def console(box: Box, tmp_path: Path) -> Console:
    return Console(box, NAME, tmp_path, VirtualClock(), 20)


def test_a_line_is_sent_once_with_a_space_behind_it(box: Box, console: Console) -> None:
    delivery.put(console, LINE)

    assert box.sent == [f"{LINE} "]
    assert box.keys == [Key.ENTER]


@pytest.mark.parametrize("draft", ["half typed", "two\nlines", "!ls", "/clear"])
def test_a_draft_is_put_back_behind_the_line(box: Box, console: Console, draft: str) -> None:
    box.text = draft

    delivery.put(console, LINE)

    assert (box.sent, box.text) == ([f"{LINE} "], draft)


def test_a_line_that_a_killed_devclaw_left_is_removed(box: Box, console: Console) -> None:
    box.text = f"{LINE[:30]}\n{LINE[30:]}"

    delivery.put(console, LINE)

    assert box.sent == [f"{LINE} "]
    assert Key.STASH not in box.keys


def test_empty_shell_mode_is_left(box: Box, console: Console) -> None:
    box.text = "!"

    delivery.put(console, LINE)

    assert (box.sent, box.keys) == ([f"{LINE} "], [Key.RUB_OUT, Key.ENTER])


def test_a_person_who_goes_on_typing_keeps_the_box(box: Box, console: Console) -> None:
    def types() -> None:
        box.text += "x"

    box.on_look = types

    with pytest.raises(DeliveryUnconfirmed, match="a person's text"):
        delivery.put(console, LINE)

    assert (box.sent, box.keys) == ([], [])


def test_no_key_is_pressed_into_a_dialog(box: Box, console: Console) -> None:
    box.visible = False

    with pytest.raises(DeliveryUnconfirmed, match="no input box"):
        delivery.put(console, LINE)
    delivery.again(console, LINE)
    delivery.tidy(console)

    assert box.keys == []


def test_no_enter_is_pressed_when_a_dialog_opens_behind_the_paste(box: Box, console: Console) -> None:
    def opens() -> None:
        box.visible = not box.text

    box.on_look = opens

    with pytest.raises(DeliveryUnconfirmed):
        delivery.put(console, LINE)

    assert box.keys == []


def test_a_line_that_a_person_typed_into_is_not_sent(box: Box, console: Console) -> None:
    def types() -> None:
        box.text = box.text and "no " + LINE

    box.on_look = types

    with pytest.raises(DeliveryUnconfirmed, match="does not stand alone"):
        delivery.put(console, LINE)

    assert box.sent == []


def test_a_draft_that_cannot_be_stashed_is_left_and_said(
    box: Box, console: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    box.text = "half typed"
    monkeypatch.setattr(Box, "press", lambda self, name, key: self.keys.append(key))

    with pytest.raises(DeliveryUnconfirmed, match="half typed"):
        delivery.put(console, LINE)

    assert (box.text, box.sent) == ("half typed", [])


def test_a_swallowed_enter_is_pressed_again_and_nothing_is_typed_twice(box: Box, console: Console) -> None:
    box.deaf = 1
    delivery.put(console, LINE)
    assert box.sent == []

    delivery.again(console, LINE)

    assert box.sent == [f"{LINE} "]


def test_enter_is_not_pressed_again_over_a_persons_words(box: Box, console: Console) -> None:
    box.text = "half typed"

    delivery.again(console, LINE)

    assert box.keys == []


def test_tidying_takes_devclaws_line_and_leaves_a_persons(box: Box, console: Console) -> None:
    box.text = LINE
    delivery.tidy(console)
    assert box.text == ""

    box.text = "half typed"
    delivery.tidy(console)
    assert box.text == "half typed"


def test_a_line_that_does_not_go_away_is_given_up(box: Box, console: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    box.text = LINE
    monkeypatch.setattr(Box, "press", lambda self, name, key: self.keys.append(key))

    delivery.tidy(console)

    assert len(box.keys) == delivery.KEYS
