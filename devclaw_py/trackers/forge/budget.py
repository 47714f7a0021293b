"""What one token may still do, shared by all processes of the workspace through one small file.

A forge answers what is too much with a pause for the account, so every process has to know what the others spent.
Nobody waits here: what has no room is refused with the time from which there is some.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from devclaw_py.errors import ProjectBusy, RateLimited, TrackerAuth, TrackerUnavailable
from devclaw_py.kernel import files, locks
from devclaw_py.kernel.clock import Clock

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
FIRST_PAUSE_S, LONGEST_PAUSE_S = 60.0, 960.0
AUTH_PAUSE = timedelta(minutes=10)
LOCK_S = 5.0


class Spend(Enum):
    """What a request costs: nothing of the write budget, the beginning of something, or its continuation."""

    READ = "read"
    BEGIN = "begin"
    FINISH = "finish"


@dataclass(frozen=True)
class Pace:
    """How many writes devclaw allows itself.

    GitHub allows 80 a minute and 500 an hour that create content, and says neither which ones count nor since when.
    """

    per_minute: int = 60
    per_hour: int = 450

    def limits(self, spend: Spend) -> tuple[tuple[timedelta, int], ...]:
        """Return how many writes fit into which time.

        What begins something leaves room for what ends it: the label that was taken off is followed by the next one.
        """
        if spend is Spend.BEGIN:
            return (MINUTE, self.per_minute * 5 // 6), (HOUR, self.per_hour * 8 // 9)
        return (MINUTE, self.per_minute), (HOUR, self.per_hour)


class Spent(BaseModel):
    """The file. ``refused`` has the fingerprints of tokens that were not accepted, and when to show them again."""

    writes: list[AwareDatetime] = Field(default_factory=list)
    paused_until: AwareDatetime | None = None
    pause_s: float = 0.0
    reason: str = ""
    refused: dict[str, AwareDatetime] = Field(default_factory=dict)


class Budget:
    """The budget of one account in ``folder``; ``key`` tells accounts apart, ``where`` names it in messages."""

    def __init__(self, folder: Path, key: str, *, where: str, clock: Clock, pace: Pace) -> None:
        self._folder, self._key, self._where, self._clock, self._pace = folder, key, where, clock, pace

    def admit(self, spend: Spend, fingerprint: str) -> None:
        """Count a request that is about to be made.

        Raises:
            RateLimited: there is no room for it now; says when there is.
            TrackerAuth: the forge refused this token a moment ago; showing it again and again gets the account locked.
        """
        now = self._clock.now()
        with self._open() as spent:
            if spent.refused.get(fingerprint, now) > now:
                raise TrackerAuth(
                    f"{self._where} did not accept the token with the fingerprint {fingerprint} a moment ago",
                    hint="give a token that is valid; every project of that token waits for it",
                )
            if spent.paused_until is not None and spent.paused_until > now:
                raise RateLimited(f"{self._where} asked for a pause: {spent.reason}", spent.paused_until)
            if spend is not Spend.READ:
                self._count(spent, spend, now)

    def left(self) -> tuple[int, int]:
        """Return how many writes there is room for, this minute and this hour."""
        now = self._clock.now()
        with self._open() as spent:
            return (
                self._pace.per_minute - sum(at > now - MINUTE for at in spent.writes),
                self._pace.per_hour - sum(at > now - HOUR for at in spent.writes),
            )

    def next_pause_s(self) -> float:
        """Return how long a pause is for which GitHub names no time: twice the last one, when that was just now."""
        with self._open() as spent:
            if spent.paused_until is None or self._clock.now() - spent.paused_until > timedelta(minutes=15):
                return FIRST_PAUSE_S
            return min(max(spent.pause_s * 2, FIRST_PAUSE_S), LONGEST_PAUSE_S)

    def pause(self, until: datetime, reason: str) -> None:
        """Let nobody ask before ``until``."""
        with self._open() as spent:
            spent.pause_s = max((until - self._clock.now()).total_seconds(), 0)
            spent.paused_until, spent.reason = until, reason

    def refuse(self, fingerprint: str) -> None:
        """Let nobody show this token for a while."""
        now = self._clock.now()
        with self._open() as spent:
            spent.refused = {known: until for known, until in spent.refused.items() if until > now}
            spent.refused[fingerprint] = now + AUTH_PAUSE

    def _count(self, spent: Spent, spend: Spend, now: datetime) -> None:
        spent.writes = [at for at in spent.writes if now - HOUR < at <= now]
        for window, limit in self._pace.limits(spend):
            within = [at for at in spent.writes if at > now - window]
            if len(within) >= limit:
                free_at = within[len(within) - limit] + window
                minutes = int(window.total_seconds() // 60)
                raise RateLimited(
                    f"{limit} writes in {minutes} min are what devclaw allows itself at {self._where}", free_at
                )
        spent.writes.append(now)

    @contextmanager
    def _open(self) -> Iterator[Spent]:
        path = files.private_folder(self._folder) / f"budget-{self._key}.json"
        try:
            with locks.hold(path.with_suffix(".lock"), wait_s=LOCK_S, holder=self._where, clock=self._clock):
                content = files.read(path)
                spent = _parsed(content)
                before = spent.model_dump_json()
                try:
                    yield spent
                finally:
                    after = spent.model_dump_json()
                    if after != before:
                        # Not synced: after a crash of the machine a budget that is too full or empty does no harm.
                        with files.writing(path):
                            path.write_text(after, encoding="utf-8")
        except ProjectBusy as busy:
            raise TrackerUnavailable(str(busy)) from busy


def _parsed(content: bytes | None) -> Spent:
    try:
        return Spent.model_validate(json.loads(content or b"{}"))
    except (ValueError, ValidationError):
        return Spent()  # its writer was killed in the midst of it
