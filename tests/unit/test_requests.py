"""The words of requests: none of them closes an issue."""

from __future__ import annotations

import pytest

from devclaw_py.rules.requests import disarmed, request_body

KEYWORDS = [
    *("close", "closes", "closed", "closing", "fix", "fixes", "fixed", "fixing"),
    *("resolve", "resolves", "resolved", "resolving", "implement", "implements", "implemented", "implementing"),
]


@pytest.mark.parametrize("word", [*KEYWORDS, *(word.upper() for word in KEYWORDS)])
@pytest.mark.parametrize(
    "reference",
    ["#12", "acme/shop#12", "GH-12", "https://github.com/acme/shop/issues/12", "https://g.l/a/b/-/issues/1"],
)
@pytest.mark.parametrize("between", [" ", ": ", " issue ", "\n"])
def test_a_closing_keyword_is_parted_from_its_issue(word: str, reference: str, between: str) -> None:
    assert disarmed(f"This {word}{between}{reference} at last") == f"This {word}{between}({reference}) at last"


@pytest.mark.parametrize(
    "text",
    ["See #12", "prefix #7", "For #7", "the fix of #12 is here", "fixed 12 bugs", "Close the door"],
)
def test_words_that_close_nothing_stay(text: str) -> None:
    assert disarmed(text) == text


def test_taking_words_apart_twice_is_once() -> None:
    assert disarmed(disarmed("Fixes #7, closes #8")) == disarmed("Fixes #7, closes #8")


def test_a_body_says_what_dev_said() -> None:
    assert request_body(3, "Cart is kept.").splitlines()[:3] == ["As described in #3.", "", "Cart is kept."]
