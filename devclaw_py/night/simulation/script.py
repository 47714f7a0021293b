"""What a night is made of: the form of night.toml, and its reader."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from devclaw_py.errors import ConfigError
from devclaw_py.model.pipeline import Role, RoleExecution, State, Tier

Share = Annotated[float, Field(ge=0, le=1)]
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
TimeOfDay = Annotated[str, Field(pattern=r"^([01][0-9]|2[0-3]):[0-5][0-9]$")]

MOST_HOURS, MOST_PROJECTS, MOST_ISSUES = 24 * 31, 200, 5_000


class FaultKind(StrEnum):
    """What may go wrong, or what somebody may do, at a time."""

    TRACKER_DOWN = "tracker_down"
    NOTIFIER_DOWN = "notifier_down"
    TERMINAL_DOWN = "terminal_down"
    USAGE_LIMIT = "usage_limit"
    WORKER_DIES = "worker_dies"
    ALL_WORKERS_DIE = "all_workers_die"
    HEARTBEAT_DIES = "heartbeat_dies"
    DEVCLAW_KILLED = "devclaw_killed"
    HUMAN_MOVES = "human_moves"
    HUMAN_CLOSES = "human_closes"
    HUMAN_REOPENS = "human_reopens"
    HUMAN_MUDDLES = "human_muddles"
    HUMAN_PAUSES = "human_pauses"


LASTING = frozenset(
    {
        FaultKind.TRACKER_DOWN,
        FaultKind.NOTIFIER_DOWN,
        FaultKind.TERMINAL_DOWN,
        FaultKind.USAGE_LIMIT,
        FaultKind.HEARTBEAT_DIES,
        FaultKind.HUMAN_PAUSES,
    }
)


class Part(BaseModel):
    """A table of night.toml; unknown keys are refused."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True)


class WorkerScript(Part):
    """How the workers of a tier do.

    ``success`` is how often a developer's work deserves to pass, or how often QA's verdict is right. The other shares
    are of turns: they end with ``blocked``, in silence, in an error of the API, in a stall, or with the death of the
    session. ``deaf`` is the share of messages that are not accepted, ``heeds`` that of reminders after which a worker
    goes on. ``resumes`` is how often a dead session's conversation can be continued. ``usd`` is what a turn costs.
    """

    success: Share = 0.8
    blocked: Share = 0.02
    silent: Share = 0.05
    errors: Share = 0.02
    stalls: Share = 0.01
    dies: Share = 0.02
    deaf: Share = 0.0
    heeds: Share = 0.8
    resumes: Share = 0.9
    repeats: Share = 0.05
    minutes: tuple[Amount, Amount] = (5, 25)
    usd: Amount = 0

    @model_validator(mode="after")
    def _fit(self) -> WorkerScript:
        if self.blocked + self.silent + self.errors + self.stalls + self.dies > 1:
            raise ValueError("blocked, silent, errors, stalls and dies are shares of one whole: together at most 1")
        if self.minutes[0] > self.minutes[1]:
            raise ValueError("minutes are the shortest and the longest, in this order")
        return self


class WorkersScript(Part):
    """The tiers."""

    junior: WorkerScript = WorkerScript(success=0.65, minutes=(4, 15))
    medior: WorkerScript = WorkerScript(success=0.8)
    senior: WorkerScript = WorkerScript(success=0.92, minutes=(10, 40))
    qa: WorkerScript = WorkerScript(success=0.95, blocked=0.01, minutes=(2, 10))

    def of(self, tier: Tier) -> WorkerScript:
        """Return how a tier does."""
        found: WorkerScript = getattr(self, tier.value)
        return found


class MixScript(Part):
    """Shares of the issues by the tier that they ask for."""

    junior: Amount = 0.4
    medior: Amount = 0.4
    senior: Amount = 0.2


class ProjectScript(Part):
    """One project: its issues at the start, those that arrive, and its settings.

    ``swaps`` is a tracker that moves a label in one write, as GitLab's does; others take one off and put one on.
    """

    name: Annotated[str, Field(min_length=1, max_length=100)]
    issues: Annotated[int, Field(ge=0, le=MOST_ISSUES)] = 8
    arrivals_per_hour: Amount = 0
    workers: dict[Role, Annotated[int, Field(ge=1, le=16)]] = {}
    auto_chain: bool = False
    role_execution: RoleExecution = RoleExecution.PARALLEL
    mix: MixScript = MixScript()
    swaps: bool = False


class FaultScript(Part):
    """One fault. Lasting kinds have ``from`` and ``to``, the others ``at``; ``project`` left out means any, or all."""

    kind: FaultKind
    at: TimeOfDay | None = None
    begin: TimeOfDay | None = Field(None, alias="from")
    end: TimeOfDay | None = Field(None, alias="to")
    project: str | None = None
    issue: Annotated[int, Field(gt=0)] | None = None
    state: State | None = None

    @model_validator(mode="after")
    def _fit(self) -> FaultScript:
        if self.kind in LASTING and (self.begin is None or self.end is None):
            raise ValueError(f"{self.kind} lasts: give it from and to")
        if self.kind not in LASTING and self.at is None:
            raise ValueError(f"{self.kind} is done in a moment: give it at")
        return self


class NightScript(Part):
    """When the night begins, how long it is, and how it differs from the next.

    ``tracker_s`` is how long each call of the tracker takes: others act meanwhile. ``chances`` are faults by the hour,
    at random times; those that last do so for ``chance_minutes``.
    """

    start: TimeOfDay = "21:00"
    hours: Annotated[float, Field(gt=0, le=MOST_HOURS)] = 10
    seed: int = 1
    tracker_s: Annotated[float, Field(ge=0, le=60)] = 0.3
    heartbeat: Literal["lasting", "timer"] = "lasting"
    chances: dict[FaultKind, Amount] = {}
    chance_minutes: tuple[Amount, Amount] = (5, 40)


class Script(Part):
    """A whole night. ``settings`` are sections of devclaw.toml."""

    night: NightScript = NightScript()
    settings: dict[str, dict[str, Any]] = {}
    workers: WorkersScript = WorkersScript()
    projects: Annotated[tuple[ProjectScript, ...], Field(min_length=1, max_length=MOST_PROJECTS)]
    faults: tuple[FaultScript, ...] = ()

    @model_validator(mode="after")
    def _fit(self) -> Script:
        names = [project.name for project in self.projects]
        if len(set(names)) < len(names):
            raise ValueError("two projects have the same name")
        for fault in self.faults:
            if fault.project is not None and fault.project not in names:
                raise ValueError(f"a fault names the project {fault.project!r}; there are {', '.join(names)}")
        return self

    def begins(self) -> datetime:
        """Return the night's first moment: a date of its own, so that every run has the same."""
        return datetime.fromisoformat(f"2026-03-01T{self.night.start}:00+00:00")

    def ends(self) -> datetime:
        """Return the night's last moment."""
        return self.begins() + timedelta(hours=self.night.hours)

    def time(self, of_day: str) -> datetime:
        """Return the first moment of the night that has this time of day."""
        found = datetime.fromisoformat(f"2026-03-01T{of_day}:00+00:00")
        return found if found >= self.begins() else found + timedelta(days=1)


def read(path: Path) -> Script:
    """Return the night that a file describes.

    Raises:
        ConfigError: it cannot be read, is no TOML, or has a key or a value that no night has; names the place.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}", hint="devclaw simulate --example prints one"
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML: {error}") from error
    return parse(tables, str(path))


def parse(tables: Mapping[str, Any], where: str) -> Script:
    """Return the night that tables describe; ``where`` names them in a refusal.

    Raises:
        ConfigError: a key or a value is none that a night has.
    """
    try:
        return Script.model_validate(tables)
    except ValidationError as error:
        told = "; ".join(f"{_named(found['loc'])}: {_said(found['type'], found['msg'])}" for found in error.errors())
        raise ConfigError(f"{where}: {told}", hint="devclaw simulate --example prints every key") from None


def _named(place: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in place) or "the file"


def _said(kind: str, message: str) -> str:
    return "there is no such key" if kind == "extra_forbidden" else message.removeprefix("Value error, ")
