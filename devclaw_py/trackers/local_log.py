"""The form of ``<number>.log``: one JSON object a line, only ever appended to.

| event | fields besides ``at`` |
|---|---|
| created, closed, reopened | actor, write, labels (all the issue carries then) |
| label | actor, label, added, labels (all that are left), write (none on a human's) |
| comment | id, author, body |
| void | write: the lines of that write never came to be |
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime

from pydantic import BaseModel, ConfigDict, ValidationError, field_serializer

from devclaw_py.kernel.clock import timestamp
from devclaw_py.rules.labels import carries

HUMAN = "human"


class Entry(BaseModel):
    """One line of a log; keys that devclaw does not know are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    event: str
    at: datetime
    actor: str | None = None
    label: str | None = None
    added: bool | None = None
    labels: tuple[str, ...] | None = None
    write: str | None = None
    id: str | None = None
    author: str | None = None
    body: str | None = None

    @field_serializer("at")
    def _at(self, at: datetime) -> str:
        return timestamp(at)


@dataclass(frozen=True)
class Log:
    """A log as read: its bytes, the lines that could be understood and the numbers of those that could not."""

    raw: bytes
    entries: tuple[Entry, ...]
    bad_lines: tuple[int, ...]


def parse_log(raw: bytes) -> Log:
    """Read a log; blank lines are nothing, lines lost half-way are counted as bad and passed over."""
    entries, bad = [], []
    for number, line in enumerate(raw.split(b"\n"), start=1):
        try:
            if line.strip():
                entries.append(Entry.model_validate_json(line))
        except ValidationError:
            bad.append(number)
    return Log(raw, tuple(entries), tuple(bad))


def lines(entries: Iterable[Entry]) -> bytes:
    """Return entries as they stand in a log."""
    return b"".join(entry.model_dump_json(exclude_none=True).encode() + b"\n" for entry in entries)


def last_write(entries: Iterable[Entry]) -> str | None:
    """Return the newest write that is not void: the only one that may not have reached its file."""
    entries = tuple(entries)
    void = {entry.write for entry in entries if entry.event == "void"}
    newest = next((entry.write for entry in reversed(entries) if entry.write and entry.event != "void"), None)
    return None if newest in void else newest


def effective(entries: Iterable[Entry], *, pending: Callable[[str], bool]) -> tuple[Entry, ...]:
    """Return what happened: without the lines of void writes, and of the last one where it is still pending."""
    entries = tuple(entries)
    gone = {entry.write for entry in entries if entry.event == "void"}
    last = last_write(entries)
    if last is not None and pending(last):
        gone.add(last)
    return tuple(entry for entry in entries if entry.write is None or entry.write not in gone)


def by_hand(entries: Iterable[Entry], labels: tuple[str, ...], at: datetime) -> tuple[Entry, ...]:
    """Return the label events that lead from the last known labels to ``labels``: what a human did in the file."""
    known = next((entry.labels for entry in reversed(tuple(entries)) if entry.labels is not None), ())
    off = [(label, False) for label in known if not carries(labels, label)]
    on = [(label, True) for label in labels if not carries(known, label)]
    return tuple(
        Entry(event="label", at=at, actor=HUMAN, label=label, added=added, labels=labels) for label, added in off + on
    )
