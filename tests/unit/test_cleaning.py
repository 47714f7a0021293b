from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devclaw_py.rules.cleaning import clean, one_line

ANY_TEXT = st.text(st.characters(exclude_categories=()))
SHARP_TEXT = st.lists(
    st.sampled_from(["\x1b", "[201~", "[200~", "\x1b[201~", "\x9b", "\r", "\n", "\t", "a", "é", "\ud800"])
)


@given(ANY_TEXT | SHARP_TEXT.map("".join))
def test_only_newline_and_tab_survive_of_all_control_characters(text: str) -> None:
    assert {letter for letter in clean(text) if unicodedata.category(letter) in ("Cc", "Cs")} <= {"\n", "\t"}


@given(ANY_TEXT | SHARP_TEXT.map("".join))
def test_clean_text_is_not_changed_by_cleaning(text: str) -> None:
    assert clean(clean(text)) == clean(text)


@given(st.text(st.characters(exclude_categories=("Cc", "Cs"))))
def test_text_without_control_characters_stays_as_it_is(text: str) -> None:
    assert clean(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("end\x1b[201~rm -rf /", "endrm -rf /"),
        ("\x1b\x1b[201~[201~x", "[201~x"),
        ("bell\x07, delete\x7f, csi\x9b31m", "bell, delete, csi31m"),
        ("tab\tand\nline", "tab\tand\nline"),
    ],
)
def test_what_a_terminal_would_obey_is_taken_out(text: str, expected: str) -> None:
    assert clean(text) == expected


def test_a_notice_is_one_line_of_bounded_length() -> None:
    assert one_line(" a\n\n b\tc ") == "a b c"
    assert len(one_line("x" * 5000)) == 1000
