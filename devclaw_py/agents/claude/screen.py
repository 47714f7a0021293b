"""What stands on Claude Code's screen, where no other source says it: the input box, and a dialog before the start.

Measured on 2.1.332. The box is the rows between the last two rules; its first row begins with a mark and a no-break
space. A placeholder is dim but for its first letter, which the cursor covers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

RULE = re.compile(r"─{10,}.*")
SGR = re.compile(r"\x1b\[([0-9;]*)m")
ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])")
PROMPT, SHELL = "❯", "!"
MENU = re.compile(r"(Enter to (confirm|continue)|Esc to (cancel|exit)|Press Enter|^\s*❯ (\d\. )?\S)", re.MULTILINE)
ASKED_CHARS = 600


@dataclass(frozen=True)
class Letter:
    """One character with what its colours mean here."""

    text: str
    dim: bool
    inverse: bool


def box(view: str) -> str | None:
    """Return the text in the input box of a screen with its colours; None when no box is visible.

    Rows are joined by newlines; ``!`` in front means that Claude Code would run it as a shell command.
    """
    rows = [list(row) for row in _rows(view)]
    plain = ["".join(letter.text for letter in row).rstrip() for row in rows]
    rules = [number for number, text in enumerate(plain) if RULE.fullmatch(text)]
    if len(rules) < 2 or rules[-1] - rules[-2] < 2:
        return None
    inside = rows[rules[-2] + 1 : rules[-1]]
    mark = plain[rules[-2] + 1][:1]
    if mark not in (PROMPT, SHELL):
        return None
    inside = [inside[0][1:], *inside[1:]]
    typed = "\n".join("".join(row).strip() for row in _typed(inside)).strip()
    return f"{SHELL} {typed}".strip() if mark == SHELL else typed


def same(shown: str, line: str) -> bool:
    """Say whether the box holds exactly ``line``; where it was wrapped is not known, so white space does not count."""
    return "".join(shown.split()) == "".join(line.split())


def asks(screen: str) -> str | None:
    """Return what a screen without an input box asks a person, on one line; None when it asks nothing."""
    return said(screen) if MENU.search(ESCAPE.sub("", screen)) and box(screen) is None else None


def said(screen: str) -> str | None:
    """Return what stands on a screen, on one line; None when nothing does."""
    lines = [line.strip() for line in ESCAPE.sub("", screen).splitlines()]
    text = " | ".join(line for line in lines if line and not RULE.fullmatch(line))
    return text[-ASKED_CHARS:] or None


def _rows(view: str) -> Iterator[Iterator[Letter]]:
    """Yield the rows; a colour goes on into the next row."""
    dim = inverse = False
    for row in view.split("\n"):
        letters: list[Letter] = []
        for number, part in enumerate(SGR.split(row)):
            if number % 2:
                dim, inverse = _attributes(part, dim, inverse)
            else:
                letters += [Letter(text, dim, inverse) for text in ESCAPE.sub("", part)]
        yield iter(letters)


def _attributes(codes: str, dim: bool, inverse: bool) -> tuple[bool, bool]:
    words = [int(word) if word else 0 for word in codes.split(";")]
    while words:
        word = words.pop(0)
        if word in (38, 48, 58):
            # A colour's own numbers are no attributes: 5 and one number, or 2 and three.
            del words[: {5: 2, 2: 4}.get(words[0] if words else 0, 0)]
        elif word == 0:
            dim = inverse = False
        elif word in (2, 22):
            dim = word == 2
        elif word in (7, 27):
            inverse = word == 7
    return dim, inverse


def _typed(rows: list[list[Letter]]) -> list[str]:
    """Leave out what is dim; the letter under the cursor belongs to a dim placeholder where there is one."""
    placeholder = any(letter.dim and letter.text.strip() for row in rows for letter in row)
    return [
        "".join(letter.text for letter in row if not letter.dim and not (letter.inverse and placeholder))
        for row in rows
    ]
