"""What is read from real screens of Claude Code 2.1.197 and 2.1.332."""

from __future__ import annotations

from pathlib import Path

import pytest

from devclaw_py.agents.claude import screen

SCREENS = Path(__file__).with_name("screens")


def shown(name: str) -> str:
    return (SCREENS / f"{name}.ansi").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "name",
    [
        "2.1.197-02_idle_banner",
        "2.1.197-05_working",
        "2.1.332-busy",
        "2.1.332-done",
        "2.1.332-error-429",
        "2.1.332-idle-dontAsk",
        "2.1.332-no-credentials",
        "2.1.332-queued",
    ],
)
def test_an_empty_box_is_empty_whatever_placeholder_stands_in_it(name: str) -> None:
    assert screen.box(shown(name)) == ""


@pytest.mark.parametrize(
    ("name", "draft"),
    [
        ("2.1.197-03_slash_popup", "/gsd-stat"),
        ("2.1.332-slash-popup", "/gsd"),
        ("2.1.332-paste-collapsed", "[Pasted text #1]"),
        ("2.1.332-bash-mode-draft", "! ls"),
        ("2.1.332-interrupted", "slow FAKE:sleep=9"),
    ],
)
def test_a_draft_is_what_a_person_typed(name: str, draft: str) -> None:
    assert screen.box(shown(name)) == draft


DIALOGS = {
    "2.1.197-01_trust_dialog": "trust",
    "2.1.332-trust-dialog": "Accessing workspace",
    "2.1.332-apikey-dialog": "Detected a custom API key",
    "2.1.332-bypass-consent": "WARNING",
    "2.1.332-fullscreen-offer": "Try the new fullscreen renderer?",
    "2.1.332-rewind-picker": "Enter to continue",
    "2.1.332-help-dialog": "Esc to close",
    "2.1.332-permission-bash": "Do you want to proceed?",
}


@pytest.mark.parametrize("name", DIALOGS)
def test_a_dialog_has_no_box_so_nothing_is_typed_into_it(name: str) -> None:
    assert screen.box(shown(name)) is None


@pytest.mark.parametrize(("name", "words"), DIALOGS.items())
def test_a_dialog_is_told_with_its_words(name: str, words: str) -> None:
    asked = screen.asks(shown(name))
    assert asked is not None
    assert words in asked
    assert "\x1b" not in asked


@pytest.mark.parametrize("name", ["2.1.332-idle-dontAsk", "2.1.332-busy", "2.1.332-interrupted"])
def test_a_screen_with_a_box_asks_nothing(name: str) -> None:
    assert screen.asks(shown(name)) is None


def test_an_empty_screen_says_and_asks_nothing() -> None:
    assert (screen.box(""), screen.asks(""), screen.said("")) == (None, None, None)


def rows(*inside: str) -> str:
    return "\n".join(["─" * 40, *inside, "─" * 40, "  footer"])


def test_a_wrapped_line_is_the_same_as_the_line() -> None:
    found = screen.box(rows("❯\xa0devclaw-task 4.1: Read the fi", "  le `/x y` and do the task in it."))
    assert found is not None
    assert screen.same(found, "devclaw-task 4.1: Read the file `/x y` and do the task in it. ")
    assert not screen.same(found + "x", "devclaw-task 4.1: Read the file `/x y` and do the task in it. ")


def test_a_hint_behind_a_draft_is_no_part_of_it() -> None:
    assert screen.box(rows("❯\xa0/gsd-plan \x1b[7m[\x1b[0;2mphase]\x1b[0m")) == "/gsd-plan"


def test_a_colour_is_not_taken_for_dim() -> None:
    assert screen.box(rows("❯\xa0\x1b[38;5;2ma\x1b[38;2;2;7;2mb\x1b[48;5;22mc\x1b[0m")) == "abc"


def test_a_single_letter_under_the_cursor_is_a_draft() -> None:
    assert screen.box(rows("❯\xa0\x1b[7ma\x1b[0m")) == "a"


def test_a_lone_exclamation_mark_is_shell_mode_with_nothing_in_it() -> None:
    assert screen.box(rows("!\xa0\x1b[7m \x1b[0m")) == "!"
