"""Types of tool arguments: what is mended quietly, and what is refused.

They raise ``ValueError`` inside pydantic, which names the parameter; the door turns that into `InvalidArguments`.
"""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field

from devclaw_py.errors import InvalidArguments

TITLE_CHARS = 256
GROUP_CHARS = 200
REQUEST_CHARS = 200
LINE_CHARS = 1000
# What the journal's integer columns hold.
HIGHEST = 2**63 - 1

# A terminal ends a paste at ESC[201~ (or its one-byte form) and takes what follows as typed keys.
PASTE = re.compile("(?:\x1b\\[|\x9b)20[01]~")
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
SURROGATE = re.compile("[\ud800-\udfff]")


def one_line(text: str) -> str:
    """Return ``text`` on one line without control characters."""
    spaced = re.sub(r"\s+", " ", PASTE.sub("", text))
    return SURROGATE.sub("\ufffd", CONTROL.sub("", spaced)).strip()


def readable(text: str) -> str:
    """Return ``text`` with newlines and tabs, and without every other control character."""
    lines = PASTE.sub("", text).replace("\r\n", "\n").replace("\r", "\n")
    return SURROGATE.sub("\ufffd", UNPRINTED.sub("", lines))


def check_size(text: str, limit: int, what: str) -> str:
    """Return ``text`` when it is at most ``limit`` characters long; ``limits.body_chars`` is the usual limit.

    Raises:
        InvalidArguments: it is longer; both numbers are named.
    """
    if len(text) > limit:
        raise InvalidArguments(f"{what} has {len(text)} characters; at most {limit} are accepted", hint="shorten it")
    return text


def _title(text: str) -> str:
    line = one_line(text)
    if not line:
        raise ValueError("is blank; give the issue a title")
    if len(line) > TITLE_CHARS:
        raise ValueError(
            f"has {len(line)} characters; at most {TITLE_CHARS} are accepted, the rest belongs in the description"
        )
    return line


def _filled(text: str) -> str:
    if not text.strip():
        raise ValueError("is blank; write what should be said")
    return text


def _number(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("is true or false; an issue number is wanted, such as 42")
    if isinstance(value, str):
        digits = value.strip().removeprefix("#")
        if not (digits.isascii() and digits.isdecimal() and len(digits) < len(str(HIGHEST))):
            raise ValueError(f"{value[:40]!r} is no issue number; write 42 or #42")
        return int(digits)
    return value


def _group(value: object) -> object:
    # Telegram's ids are numbers, and a model that calls a tool writes them as such.
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _whole(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("is true or false; a number is wanted")
    return value


def _line(text: str) -> str:
    if CONTROL.search(text) or SURROGATE.search(text):
        raise ValueError("has a control character; leave it out")
    return text.strip()


def _key(text: str) -> str:
    if CONTROL.search(text) or SURROGATE.search(text):
        raise ValueError("has a control character")
    if not text.strip():
        raise ValueError("is blank")
    return text.strip()


Title = Annotated[str, AfterValidator(_title)]
"""An issue's title: one line, not blank, at most 256 characters."""

Body = Annotated[str, AfterValidator(readable)]
"""Text of several lines, blank or not; its size is for `check_size`."""

FilledBody = Annotated[str, AfterValidator(readable), AfterValidator(_filled)]
"""Text of several lines that says something."""

Line = Annotated[str, Field(max_length=LINE_CHARS), AfterValidator(_line)]
"""Words on one line, blank or not: a path, a branch, a name."""

FilledLine = Annotated[str, Field(max_length=LINE_CHARS), AfterValidator(_line), AfterValidator(_filled)]
"""Words on one line that say something."""

Number = Annotated[int, BeforeValidator(_whole), Field(gt=0, le=HIGHEST)]
"""A number from 1 on."""

IssueId = Annotated[int, BeforeValidator(_number), Field(gt=0, le=HIGHEST)]
"""An issue's number; ``"42"`` and ``"#42"`` are understood."""

GroupId = Annotated[str, BeforeValidator(_group), Field(max_length=GROUP_CHARS), AfterValidator(_key)]
"""A chat group's id; a number is understood."""

RequestId = Annotated[str, Field(max_length=REQUEST_CHARS), AfterValidator(_key)]
"""A caller's own name for one call; the same name again answers the first outcome."""
