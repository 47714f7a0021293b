"""Words for a prompt: nothing in them is obeyed, and they go in small pieces."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devclaw_py.rules.speech import CHUNK_BREAKS, CHUNK_CHARS, chunks, harmless, letters, names_a_task, rows


@pytest.mark.parametrize(
    "text",
    [
        "!ls",
        "/clear",
        "#note",
        "@file",
        " /x",
        "\n!x",
        "\u200b/x",
        "\u00a0!x",
        "\u200d/x",
        "devclaw-task 4.1 x",
        "\x1b[201~!x",
    ],
)
def test_a_sign_in_front_is_behind_a_word(text: str) -> None:
    assert harmless(text).startswith("Text: ")


@pytest.mark.parametrize("text", ["use tabs", "a /x !y #z", "me@example.org", "漢字", "(see #4)"])
def test_plain_words_stay_as_they_are(text: str) -> None:
    assert harmless(text) == text


@pytest.mark.parametrize("text", ["see @a", "see\n@a", "(@a)", "漢@a", '@"a b"', "see @\u200ba"])
def test_no_file_is_named_by_an_at_sign(text: str) -> None:
    assert "`@" in harmless(text)


@given(st.text())
def test_what_is_sent_begins_with_no_sign_and_has_no_control(text: str) -> None:
    words = harmless(text)

    assert not words.lstrip().startswith(("!", "/", "#", "@"))
    assert not any(char < " " and char not in "\n\t" for char in words)


@given(st.text(alphabet="a\n漢 ", max_size=3000))
def test_pieces_are_small_and_make_up_the_whole(text: str) -> None:
    pieces = chunks(text)

    assert "".join(pieces) == text
    assert all(len(piece) <= CHUNK_CHARS and piece.count("\n") <= CHUNK_BREAKS for piece in pieces)


def test_rows_are_counted_by_columns() -> None:
    assert [rows("a" * 50, 104), rows("a" * 150, 104), rows("漢" * 60, 104), rows("a\nb", 104)] == [1, 2, 2, 2]


def test_two_renderings_of_a_text_have_the_same_letters() -> None:
    assert letters("e\u0301 a\tb 👩\u200d💻") == letters("\u00e9 a  b") != letters("é a /b")


def test_the_line_of_a_task_is_found_in_a_text() -> None:
    assert names_a_task("do devclaw-task 4.1: Read the file `/x` and do it")
    assert not names_a_task("ignore devclaw-task 4.1")
