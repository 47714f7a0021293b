"""The files of a session's folder through which devclaw and the agent deal with each other.

Standard library only: the scripted agent's loop lives on it in every worker's terminal.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Any

OFFERS, ACCEPTED, VOID, TASKS, EVENTS = "offers", "accepted", "void", "tasks", "events"
QUESTIONS, ANSWERS = "questions", "answers"
FOLDERS = (OFFERS, ACCEPTED, VOID, TASKS, EVENTS, QUESTIONS, ANSWERS)
STATE = "state.json"
USED = "used"
RUNG = "rung"
OFFER = re.compile(r"[0-9]+\.[0-9]+")


def put(path: Path, text: str) -> None:
    """Write a file that only its owner may read; a reader sees all of it or what was there before."""
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        descriptor = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
            file.write(text)
        aside.rename(path)
    except OSError:
        with suppress(OSError):
            aside.unlink()
        raise


def read_record(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in a file, or None when there is no file or no object in it."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def ring(folder: Path) -> None:
    """Wake the heartbeat, if one sleeps: something of this session has ended or waits."""
    with suppress(OSError):
        (folder / RUNG).touch(mode=0o600)


def make(folder: Path) -> None:
    """Make the session's folder and those in it, for its owner alone."""
    for each in (folder.parent, folder, *(folder / name for name in FOLDERS)):
        each.mkdir(mode=0o700, parents=True, exist_ok=True)


def put_offer(folder: Path, offer: str, line: str) -> None:
    """Offer a task; the file holds the line that is typed for it, as the JSON text that an agent's side compares."""
    put(folder / OFFERS / offer, json.dumps(line.strip(), ensure_ascii=False) + "\n")


def accept(folder: Path, offer: str) -> bool:
    """Accept an offer; False when it is no longer there. This rename is the commit point of a delivery."""
    try:
        (folder / OFFERS / offer).rename(folder / ACCEPTED / offer)
    except FileNotFoundError:
        return False
    return True


def void(folder: Path, offer: str) -> bool:
    """Take an offer back; False when it was accepted, True when it can no longer be."""
    try:
        (folder / OFFERS / offer).rename(folder / VOID / offer)
    except FileNotFoundError:
        return not accepted(folder, offer)
    return True


def accepted(folder: Path, offer: str) -> bool:
    """Say whether an offer was accepted."""
    return (folder / ACCEPTED / offer).exists()


def offered(folder: Path) -> bool:
    """Say whether an offer waits to be accepted."""
    return any((folder / OFFERS).glob("[0-9]*"))


def newest(folder: Path, issue: int) -> int:
    """Return the highest attempt at ``issue`` whose task file or offer is in the folder; 0 for none."""
    found = (path.name.split(".")[1] for name in FOLDERS for path in (folder / name).glob(f"{issue}.*"))
    return max((int(number) for number in found if number.isdecimal()), default=0)


def touch(folder: Path, at: float) -> None:
    """Note that the session was used at a time, in seconds since 1970."""
    (folder / USED).touch(mode=0o600)
    os.utime(folder / USED, (at, at))


def last_used(folder: Path) -> float:
    """Return when the session was last used; 0 when it never was."""
    try:
        return (folder / USED).stat().st_mtime
    except OSError:
        return 0.0
