"""Slugs and the names they are made of."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from devclaw_py.errors import InvalidArguments
from devclaw_py.rules.slug import check_name, slug

SHAPE = re.compile(r"[a-z0-9][a-z0-9-]*")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("my-webapp", "my-webapp"),
        ("My Web App", "my-web-app"),
        ("  --Shop__2 ", "shop-2"),
        ("Ｓｈｏｐ", "shop"),
        ("a" * 60, "a" * 40),
        ("a" * 39 + " b", "a" * 39),
        ("../../etc", "etc"),
    ],
)
def test_slug_keeps_letters_and_digits_and_joins_them_with_single_dashes(name: str, expected: str) -> None:
    assert slug(name) == expected


def test_a_name_without_ascii_becomes_six_hex_digits() -> None:
    assert re.fullmatch(r"[0-9a-f]{6}", slug("商店"))


def test_two_names_without_ascii_get_two_slugs() -> None:
    assert slug("商店") != slug("仓库")


def test_a_taken_slug_gets_six_hex_digits_of_the_name() -> None:
    assert re.fullmatch(r"shop-[0-9a-f]{6}", slug("Shop", taken={"shop"}))


def test_a_slug_taken_twice_is_still_free_of_both() -> None:
    second = slug("Shop", taken={"shop"})

    assert slug("Shop", taken={"shop", second}) not in {"shop", second}


@given(st.text(st.characters(), max_size=120), st.booleans())
def test_every_slug_is_a_safe_word_and_the_same_each_time(name: str, used: bool) -> None:
    taken = {slug(name)} if used else set()

    made = slug(name, taken)

    assert SHAPE.fullmatch(made)
    assert len(made) <= 47
    assert "--" not in made
    assert made == slug(name, taken)
    assert made not in taken


@pytest.mark.parametrize("name", ["", "  ", "\n", "a/b", "a\\b", "a..b", "a\x1bb", "a\x00", "a\x9b", "x" * 101])
def test_a_name_that_is_blank_too_long_or_points_elsewhere_is_refused(name: str) -> None:
    with pytest.raises(InvalidArguments):
        check_name(name)


@pytest.mark.parametrize("name", ["my-webapp", "商店", "Ångström & Co. (2)", "x" * 100, "v1.2"])
def test_a_name_in_any_language_is_accepted(name: str) -> None:
    check_name(name)
