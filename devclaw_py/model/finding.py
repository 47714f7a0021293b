"""Something that is not as it should be, found by session_health or doctor."""

from __future__ import annotations

from enum import StrEnum

from devclaw_py.model.base import Value
from devclaw_py.model.pipeline import Role


class Severity(StrEnum):
    """How much a finding matters. ``ok`` is used by doctor for a check that passed."""

    OK = "ok"
    WARNING = "warning"
    CRITICAL = "critical"
    UNKNOWN = "unknown"


class Finding(Value):
    """One finding. ``mend`` says what to do, or what autoFix does; ``fixed`` is None when no fix was tried."""

    type: str
    severity: Severity
    message: str
    mend: str = ""
    project: str | None = None
    group_id: str | None = None
    role: Role | None = None
    issue_id: int | None = None
    fixed: bool | None = None
