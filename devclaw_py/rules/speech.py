"""What people say to a worker that lives in a prompt: words that cannot be taken for a command, in small pieces."""

from __future__ import annotations

import re
import unicodedata

from devclaw_py.rules.cleaning import clean

PREFIX = "Text: "
# What a prompt obeys when it stands first: shell, command, memory, file. Blanks before it are skipped there.
SIGNS = ("!", "/", "#", "@", "devclaw-")
# A name behind an @ is read as a file and its text goes along; an address has a letter or digit before it.
MENTION = re.compile(r"(?<![A-Za-z0-9._%+`-])@(\S+)")
# Joiners are part of what is shown; other characters without a shape are dropped by programs, or hide a sign.
JOINERS = ("\u200c", "\u200d")
# A paste of more is marked as pasted, and a model trusts it less than what was typed.
CHUNK_CHARS, CHUNK_BREAKS = 700, 2
# With other text around it such a line is blocked by the hook that accepts tasks.
TASK_LINE = re.compile(r"devclaw-task \d.*: Read the file ", re.DOTALL)
# Columns beside the text of an input box.
MARGIN = 4
UNSEEN = ("Z", "C", "M", "So", "Sk")


def harmless(text: str) -> str:
    r"""Return ``text`` so that a prompt takes all of it for words.

    >>> harmless("/clear")
    'Text: /clear'
    >>> harmless("look at @notes.md, me@example.org")
    'look at `@notes.md,` me@example.org'
    """
    shaped = (char for char in clean(text) if char in JOINERS or unicodedata.category(char) != "Cf")
    words = "".join(shaped).rstrip()
    first = words.lstrip().lstrip("".join(JOINERS)).lstrip()
    signs = first != words or first.startswith(SIGNS)
    return (PREFIX if signs else "") + MENTION.sub(r"`@\1`", words)


def names_a_task(text: str) -> bool:
    """Say whether the text has the line in it with which a task is put to a worker."""
    return TASK_LINE.search(text) is not None


def chunks(text: str) -> list[str]:
    """Return the text in pieces of at most 700 characters and two newlines each."""
    pieces, piece, breaks = [], "", 0
    for char in text:
        if len(piece) == CHUNK_CHARS or (char == "\n" and breaks == CHUNK_BREAKS):
            pieces.append(piece)
            piece, breaks = "", 0
        piece += char
        breaks += char == "\n"
    return [*pieces, piece]


def rows(text: str, width: int) -> int:
    """Return how many rows an input box needs in a terminal of that width, or a few more."""
    room = max(width - MARGIN, 2)
    return sum(1 + _columns(line) // (room - 1) for line in text.split("\n"))


def letters(text: str) -> str:
    """Return what two renderings of one text have in common: no white space, and nothing whose width is in doubt."""
    kept = (char for char in unicodedata.normalize("NFC", text))
    return "".join(char for char in kept if not unicodedata.category(char).startswith(UNSEEN))


def _columns(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line)
