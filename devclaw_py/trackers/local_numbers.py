"""Issue numbers: each is used once, also when somebody deletes the issue's files. Only under the folder's lock."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from devclaw_py.errors import StateCorrupt
from devclaw_py.trackers import local_files as files

COUNTER = ".number"


def next_number(folder: Path, names: Iterable[str]) -> int:
    """Return a number above all that were ever used, and write it down before anything carries it."""
    names = list(names)
    used = [int(found[1]) for form in (files.ISSUE, files.LOG) for found in map(form.fullmatch, names) if found]
    number = max([highest_noted(folder), *used]) + 1
    note_number(folder, number)
    return number


def note_number(folder: Path, number: int) -> None:
    """See to it that ``number`` is not given again."""
    if number > highest_noted(folder):
        files.replace(folder / COUNTER, f"{number}\n".encode())


def highest_noted(folder: Path) -> int:
    """Return the highest number written down, 0 for none.

    Raises:
        StateCorrupt: what stands there is no number; it is not overwritten.
    """
    path = folder / COUNTER
    try:
        text = files.read(path)[0].decode(errors="replace").strip()
    except FileNotFoundError:
        return 0
    if not text.isdecimal():
        raise StateCorrupt(f"{path} holds {text[:40]!r}; write the highest issue number ever used into it")
    return int(text)
