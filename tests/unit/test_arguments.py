"""Types of tool arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from devclaw_py.errors import InvalidArguments
from devclaw_py.rules.arguments import Body, FilledBody, GroupId, IssueId, RequestId, Title, check_size

TITLE: TypeAdapter[str] = TypeAdapter(Title)
BODY: TypeAdapter[str] = TypeAdapter(Body)
FILLED: TypeAdapter[str] = TypeAdapter(FilledBody)
ISSUE: TypeAdapter[int] = TypeAdapter(IssueId)
GROUP: TypeAdapter[str] = TypeAdapter(GroupId)
REQUEST: TypeAdapter[str] = TypeAdapter(RequestId)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("  Add login ", "Add login"),
        ("Add\nlogin", "Add login"),
        ("Add\r\n\tlogin", "Add login"),
        ("A\x00d\x1bd", "Add"),
        ("A\x1b[201~dd", "Add"),
        ("添加登录", "添加登录"),
        ("x" * 256, "x" * 256),
        ("a\ud800", "a\ufffd"),
    ],
)
def test_a_title_becomes_one_clean_line(written: str, kept: str) -> None:
    assert TITLE.validate_python(written) == kept


@pytest.mark.parametrize("written", ["", " \n", "\x00", "\x1b[201~"])
def test_a_title_with_nothing_to_read_is_refused(written: str) -> None:
    with pytest.raises(ValidationError, match="blank"):
        TITLE.validate_python(written)


def test_a_title_that_is_too_long_is_refused_with_its_length() -> None:
    with pytest.raises(ValidationError, match=r"has 257 characters; at most 256"):
        TITLE.validate_python("x" * 257)


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("a\n\tb\n", "a\n\tb\n"),
        ("a\r\nb\rc", "a\nb\nc"),
        ("a\x00b\x1bc\x9bd", "abcd"),
        ("x\x1b[201~rm -rf /\r", "xrm -rf /\n"),
        ("x\x9b201~y", "xy"),
        ("", ""),
    ],
)
def test_a_body_keeps_its_lines_and_loses_what_a_terminal_acts_on(written: str, kept: str) -> None:
    assert BODY.validate_python(written) == kept


@given(st.text(st.characters()))
def test_no_body_can_end_a_paste_or_fail_to_be_stored(written: str) -> None:
    kept = BODY.validate_python(written)

    assert not set(kept) & {"\x1b", "\x9b", "\x00", "\r"}
    kept.encode("utf-8")


@pytest.mark.parametrize("written", ["", " \n", "\x00\x1b"])
def test_a_comment_that_says_nothing_is_refused(written: str) -> None:
    with pytest.raises(ValidationError, match="blank"):
        FILLED.validate_python(written)


@pytest.mark.parametrize("written", [42, "42", "#42", " #42 "])
def test_an_issue_number_is_understood(written: object) -> None:
    assert ISSUE.validate_python(written) == 42


@pytest.mark.parametrize(
    "written", [0, -1, "0", "-1", "", "#", "##42", "x", "4 2", "٤٢", "²", True, 4.5, None, [42], 2**63, "9" * 5000]
)
def test_what_is_no_issue_number_is_refused(written: object) -> None:
    with pytest.raises(ValidationError):
        ISSUE.validate_python(written)


@pytest.mark.parametrize(
    ("written", "kept"), [("-1001", "-1001"), (-1001, "-1001"), ("120363@g.us", "120363@g.us"), (" a ", "a")]
)
def test_a_group_id_is_text(written: object, kept: str) -> None:
    assert GROUP.validate_python(written) == kept


@pytest.mark.parametrize("written", ["", " ", "a\nb", "a\x00", "x" * 201, True, None, 1.5, ["-1"], "\ud800"])
def test_what_is_no_group_id_is_refused(written: object) -> None:
    with pytest.raises(ValidationError):
        GROUP.validate_python(written)


@pytest.mark.parametrize("written", ["", "a\x1b", "x" * 201, 7])
def test_what_is_no_request_id_is_refused(written: object) -> None:
    with pytest.raises(ValidationError):
        REQUEST.validate_python(written)


def test_a_text_over_the_limit_is_refused_with_both_numbers() -> None:
    with pytest.raises(InvalidArguments, match="the description has 11 characters; at most 10"):
        check_size("x" * 11, 10, "the description")


def test_a_text_at_the_limit_is_accepted() -> None:
    assert check_size("x" * 10, 10, "the description") == "x" * 10
