"""What session_health looks at, and what it makes of it: values without a decision."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from devclaw_py.model.base import Value
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.journal import Attempt, Intent
from devclaw_py.model.pipeline import Role, SeatKey, State, Tier
from devclaw_py.model.project import Project
from devclaw_py.model.task import LabelEvent, Task
from devclaw_py.rules.labels import states_in


class Pulse(StrEnum):
    """How the session of a busy seat stands. UNKNOWN is never taken for GONE."""

    GONE = "gone"
    IDLE = "idle"
    BUSY = "busy"
    UNKNOWN = "unknown"


class Case(Value):
    """What is wrong with a worker that lives. ``over`` says that its task may be taken from it; else ``mend`` helps."""

    kind: str
    words: str
    mend: str = ""
    severity: Severity = Severity.WARNING
    over: bool = False


class Worker(Value):
    """The session of a busy seat.

    ``case`` is what its turn says, where the agent knows, ``spent`` which budget its task has used up.
    """

    session: str
    pulse: Pulse
    detail: str = ""
    case: Case | None = None
    resumable: bool = False
    spent: str = ""


class Issue(Value):
    """One issue as the tracker has it.

    ``task`` is None when there is none of that number. ``events`` are gathered only where the labels are odd.
    ``trouble`` says why something about the issue could not be asked: nothing is concluded about it then.
    """

    task: Task | None
    events: tuple[LabelEvent, ...] = ()
    merged: bool = False
    trouble: str = ""

    @property
    def standing(self) -> tuple[State, ...]:
        """The state labels on the issue."""
        return states_in(self.task.labels) if self.task else ()


class Opened(Value):
    """An open intent. ``living`` is true while the process that began it may still be at it."""

    intent: Intent
    living: bool = False


class Snapshot(Value):
    """One look at a project.

    ``issues`` and ``workers`` are None when the tracker or the terminal could not be asked; ``trouble`` says why.
    ``limit`` is the number of attempts after which only a person goes on with a task.
    """

    project: Project
    now: datetime
    opened: tuple[Opened, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    issues: dict[int, Issue] | None = None
    workers: dict[SeatKey, Worker] | None = None
    tracker_trouble: str = ""
    terminal_trouble: str = ""
    limit: int = 4

    @property
    def claimed(self) -> frozenset[int]:
        """The issues that an unfinished operation keeps: how they stand is that operation's to say."""
        return frozenset(each.intent.issue for each in self.opened if each.intent.issue is not None)

    def tries(self, issue: int) -> list[Attempt]:
        """Return the attempts at an issue that a worker may have seen, oldest first."""
        tries = [attempt for attempt in self.attempts if attempt.issue == issue and attempt.reason != "void"]
        return sorted(tries, key=lambda attempt: attempt.number)


class Release(Value):
    """Whose seat is freed and whose attempt ends; ``attempt`` None means a seat without a number."""

    role: Role
    seat: int = 1
    attempt: int | None = None
    tier: Tier | None = None
    session: str | None = None

    @property
    def key(self) -> SeatKey:
        """The seat."""
        return SeatKey(self.role, self.seat)


class Fix(Value):
    """What autoFix does about one finding, as one operation.

    ``takes`` go off the issue and ``put`` ends up on it; ``put`` None leaves the labels alone. ``seats`` is the
    attempt that its role's seat is given. ``reason`` is why the released attempt ended.
    """

    takes: tuple[State, ...] = ()
    put: State | None = None
    closed: bool | None = None
    comment: str = ""
    notice: str = ""
    resumes: bool = False
    stops: bool = False
    release: Release | None = None
    seats: Attempt | None = None
    previous: State | None = None
    reason: str = ""
    wish: bool = False

    def words(self) -> str:
        """Return what it does, for people."""
        said = [f"{' and '.join(self.takes) or 'no state'} → {self.put}"] if self.put else []
        said += ["a comment on the issue"] if self.comment else []
        said += ["the session is resumed"] if self.resumes else []
        said += ["the seat follows the label"] if self.seats else []
        said += [f"{self.release.key} is released"] if self.release and not self.resumes else []
        said += ["its worker is told"] if self.notice and not self.resumes else []
        return "; ".join(said)


class Diagnosis(Value):
    """A finding and what autoFix does about it.

    ``otherwise`` is done when ``fix`` cannot be. ``op`` is the open intent that the finding is about.
    """

    finding: Finding
    fix: Fix | None = None
    otherwise: Fix | None = None
    op: str | None = None


def diagnosis(
    snapshot: Snapshot,
    kind: str,
    message: str,
    *,
    severity: Severity = Severity.CRITICAL,
    role: Role | None = None,
    issue: int | None = None,
    fix: Fix | None = None,
    otherwise: Fix | None = None,
    mend: str = "",
    op: str | None = None,
) -> Diagnosis:
    """Return a diagnosis about one project."""
    finding = Finding(
        type=kind,
        severity=severity,
        message=message,
        mend=mend or (fix.words() if fix else ""),
        project=snapshot.project.name,
        group_id=snapshot.project.group_id,
        role=role,
        issue_id=issue,
    )
    return Diagnosis(finding=finding, fix=fix, otherwise=otherwise, op=op)
