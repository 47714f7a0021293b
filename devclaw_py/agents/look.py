"""How a worker session stands, and what was done to have it ready."""

from __future__ import annotations

from enum import StrEnum

from devclaw_py.model.base import Value


class LookStatus(StrEnum):
    """How a session stands."""

    ABSENT = "absent"
    DEAD = "dead"
    STARTING = "starting"
    IDLE = "idle"
    WORKING = "working"
    UNKNOWN = "unknown"


class Look(Value):
    """One look at a session. ``exit_code`` is that of a dead one, where the terminal knows it."""

    status: LookStatus
    exit_code: int | None = None
    detail: str = ""
