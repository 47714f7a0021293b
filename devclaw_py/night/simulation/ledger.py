"""What was seen of the night from outside: what people did, what workers were given and what they reported."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from devclaw_py.model.pipeline import Result, Role, Tier

Key = tuple[str, int]


@dataclass
class Given:
    """One task that a worker has accepted."""

    group_id: str
    issue: int
    attempt: int
    role: Role
    tier: Tier
    session: str
    at: datetime
    pid: int | None


@dataclass
class Said:
    """One report of a worker: how often it was sent, and the answers that came."""

    group_id: str
    issue: int
    attempt: int
    role: Role
    result: Result
    summary: str
    answers: list[dict[str, Any]] = field(default_factory=list)

    @property
    def taken(self) -> bool:
        """Whether devclaw has said that it has the report."""
        return any(answer.get("success") for answer in self.answers)


@dataclass
class Ledger:
    """The records. ``touched`` are the issues that people left as no pipeline would, until devclaw has mended them.

    ``by_hand`` counts a person's own pickups, which no limit holds back.
    """

    given: list[Given] = field(default_factory=list)
    said: dict[tuple[str, int, int], Said] = field(default_factory=dict)
    touched: dict[Key, datetime] = field(default_factory=dict)
    by_hand: Counter[Key] = field(default_factory=Counter)
    paused: set[str] = field(default_factory=set)
    broken: list[str] = field(default_factory=list)
    diary: list[tuple[datetime, str]] = field(default_factory=list)
    deaths: int = 0
    usd: float = 0.0
    ends: Counter[str] = field(default_factory=Counter)

    def wrong(self, at: datetime, what: str) -> None:
        """Note that something does not hold; each thing once."""
        if not any(known.partition(" ")[2] == what for known in self.broken):
            self.broken.append(f"{at:%H:%M:%S} {what}")

    def note(self, at: datetime, what: str) -> None:
        """Write into the diary of the night."""
        self.diary.append((at, what))
