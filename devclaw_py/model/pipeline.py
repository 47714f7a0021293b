"""Roles, tiers and states: the closed sets the pipeline is made of."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Role(StrEnum):
    """What a worker does in a project."""

    DEV = "dev"
    QA = "qa"

    @property
    def other(self) -> Role:
        """The role on the far side of the pipeline."""
        return Role.QA if self is Role.DEV else Role.DEV


class SeatKey(NamedTuple):
    """Which seat of a project: its role, and 1 or the number of a further one."""

    role: Role
    number: int = 1

    def __str__(self) -> str:
        """Return ``dev`` for the first seat of dev, ``dev-2`` for the second."""
        return self.role.value if self.number == 1 else f"{self.role}-{self.number}"


class Tier(StrEnum):
    """How senior a worker is; each maps to a model. ``qa`` is the only tier of the qa role."""

    JUNIOR = "junior"
    MEDIOR = "medior"
    SENIOR = "senior"
    QA = "qa"

    @property
    def role(self) -> Role:
        """The role that this tier belongs to."""
        return Role.QA if self is Tier.QA else Role.DEV


class PermissionMode(StrEnum):
    """How Claude Code treats what no rule allows: refuses it, asks, asks for commands only, or allows it."""

    DONT_ASK = "dontAsk"
    DEFAULT = "default"
    ACCEPT_EDITS = "acceptEdits"
    BYPASS = "bypassPermissions"


class StateKind(StrEnum):
    """What a state means for the pipeline."""

    HOLD = "hold"
    QUEUE = "queue"
    ACTIVE = "active"
    TERMINAL = "terminal"


class State(StrEnum):
    """The state labels, spelled as people see them in the tracker."""

    PLANNING = "Planning"
    TO_DO = "To Do"
    DOING = "Doing"
    TO_TEST = "To Test"
    TESTING = "Testing"
    TO_IMPROVE = "To Improve"
    REFINING = "Refining"
    DONE = "Done"


class Result(StrEnum):
    """What a worker may report."""

    DONE = "done"
    PASS = "pass"
    FAIL = "fail"
    REFINE = "refine"
    BLOCKED = "blocked"


class Provider(StrEnum):
    """Where a project's issues live."""

    LOCAL = "local"
    GITHUB = "github"
    GITLAB = "gitlab"


class RoleExecution(StrEnum):
    """Whether dev and qa of one project may work at the same time."""

    PARALLEL = "parallel"
    SEQUENTIAL = "sequential"


class Integration(StrEnum):
    """Who merges tested work into the base branch."""

    DEVCLAW = "devclaw"
    HUMAN = "human"
    WORKER = "worker"


class ContextAction(StrEnum):
    """What was done about a session's conversation before its next task."""

    KEEP = "keep"
    COMPACT = "compact"
    FRESH = "fresh"


class Mode(StrEnum):
    """What a project gives to its workers unattended. A person's own pickup is never held back.

    PAUSED: nothing; what is at work goes on. DRAINING: what was begun is brought to its end, nothing new is begun.
    STOPPED: nothing, and its workers are put to rest.
    """

    RUNNING = "running"
    PAUSED = "paused"
    DRAINING = "draining"
    STOPPED = "stopped"


class SessionAction(StrEnum):
    """What was done to have a session ready."""

    SPAWN = "spawn"
    SEND = "send"
    RESUME = "resume"
