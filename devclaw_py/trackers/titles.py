"""Titles: one line of text, whatever somebody put into them."""

from __future__ import annotations

import unicodedata

BREAKING = frozenset({"Cc", "Cs", "Zl", "Zp"})


def one_line(title: str) -> str:
    """Return ``title`` with line breaks, control characters and lone surrogates as spaces, trimmed.

    Joiners and other format characters stay: emoji are made of them.

    >>> one_line("Fix\\nthe \\x1b[31mlogin")
    'Fix the  [31mlogin'
    """
    return "".join(" " if unicodedata.category(char) in BREAKING else char for char in title).strip()
