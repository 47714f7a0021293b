"""What may be typed into a terminal: text of other people without anything a terminal would obey."""

from __future__ import annotations

import re

PASTE_MARK = re.compile(r"\x1b\[20[01]~")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def clean(text: str) -> str:
    r"""Return ``text`` with newline and tab as its only control characters.

    CRLF and a lone CR become a newline, because CR is the Enter key. The marks that begin and end a bracketed paste
    go whole; of any other escape sequence the ESC goes and harmless letters stay. Halves of surrogate pairs go too:
    no terminal can be sent them.

    >>> clean("do\r\nit\x1b[201~ now\x07")
    'do\nit now'
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n")
    return CONTROL.sub("", PASTE_MARK.sub("", lines))


def one_line(text: str, *, limit: int = 1000) -> str:
    """Return ``text`` cleaned, on one line, at most ``limit`` characters."""
    line = " ".join(clean(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
