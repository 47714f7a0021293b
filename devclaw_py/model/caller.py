"""Who is calling."""

from __future__ import annotations

from enum import StrEnum

from devclaw_py.model.base import Value
from devclaw_py.model.pipeline import Role, Tier


class CallerKind(StrEnum):
    """The doors a call may come through."""

    HUMAN = "human"
    ORCHESTRATOR = "orchestrator"
    WORKER = "worker"
    HEARTBEAT = "heartbeat"
    CHAIN = "chain"
    RECOVERY = "recovery"


class Caller(Value):
    """One caller. ``group_id`` None means bound to no group; a worker has role, tier and session as well."""

    kind: CallerKind
    group_id: str | None = None
    role: Role | None = None
    tier: Tier | None = None
    session: str | None = None

    def __str__(self) -> str:
        """Return the form that audit lines hold: ``human``, ``worker:shop-dev-medior`` ..."""
        return f"{self.kind}:{self.session}" if self.session else self.kind.value


HUMAN = Caller(kind=CallerKind.HUMAN)
HEARTBEAT = Caller(kind=CallerKind.HEARTBEAT)
CHAIN = Caller(kind=CallerKind.CHAIN)
RECOVERY = Caller(kind=CallerKind.RECOVERY)
