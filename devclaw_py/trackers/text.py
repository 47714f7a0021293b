"""Text as files and models can hold it, whatever somebody put into it."""

from __future__ import annotations

import unicodedata

FITTING_END, FITTING_ROOM = 1000, 100

BREAKING = frozenset({"Cc", "Cs", "Zl", "Zp"})


def one_line(title: str) -> str:
    """Return ``title`` with line breaks, control characters and lone surrogates as spaces, trimmed.

    Joiners and other format characters stay: emoji are made of them.

    >>> one_line("Fix\\nthe \\x1b[31mlogin")
    'Fix the  [31mlogin'
    """
    return "".join(" " if unicodedata.category(char) in BREAKING else char for char in title).strip()


def well_formed(text: str) -> str:
    """Return ``text`` with lone surrogates, which no UTF-8 file can hold, as escapes; all else as it is."""
    return text.encode(errors="backslashreplace").decode()


def fitting(text: str, limit: int) -> str:
    """Return ``text``, or its beginning and its end around a word on what was left out; the end may hold a marker."""
    if len(text) <= limit:
        return text
    head = limit - FITTING_END - FITTING_ROOM
    cut = f"\n\n[... devclaw left out {len(text) - head - FITTING_END} characters here ...]\n\n"
    return text[:head] + cut + text[len(text) - FITTING_END :]
