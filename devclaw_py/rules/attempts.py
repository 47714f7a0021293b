"""How often a task has come to its workers, and how that ended."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from devclaw_py.model.journal import Attempt
from devclaw_py.model.pipeline import Result, Role

# Why an attempt ended when somebody decided about its issue, its project or its money.
PEOPLES = frozenset({"moved", "conflict", "issue_gone", "removed", "stopped", "unseated", "budget"})
# Why it ended when its worker was not the reason: a higher tier would not have done better.
FAULTLESS = PEOPLES | {"void", "session_dead", "stalled", "limited", "outdated"}


class Ending(StrEnum):
    """How an attempt ended, in one word for everybody. The reasons behind are those of the journal."""

    DONE = "done"
    FAILED = "failed"
    STALLED = "stalled"
    KILLED = "killed"
    TIMED_OUT = "timed out"
    LIMITED = "limited"
    CANCELLED = "cancelled by a human"
    VOID = "void"


ENDINGS = {
    "void": Ending.VOID,
    "stalled": Ending.STALLED,
    "session_dead": Ending.KILLED,
    "outdated": Ending.KILLED,
    "budget": Ending.LIMITED,
    "limited": Ending.LIMITED,
}


def ending(attempt: Attempt, reason: str | None = None) -> Ending | None:
    """Return how an attempt ended, None while it goes on; ``reason`` is that of an end that is about to be written.

    A report ends it well, whatever it says of the work, unless the worker is blocked. One that was reminded in vain
    has timed out; one whose program ended without a report has failed.
    """
    why = reason or attempt.reason
    if why is None and attempt.ended is None:
        return None
    if why in PEOPLES - {"budget"}:
        return Ending.CANCELLED
    if attempt.report is not None:
        return Ending.FAILED if attempt.report.result is Result.BLOCKED else Ending.DONE
    if why in ENDINGS:
        return ENDINGS[why]
    reminded = attempt.followed is not None and attempt.followed.reminders > 0
    return Ending.TIMED_OUT if reminded else Ending.FAILED


def counted(attempts: Sequence[Attempt]) -> Sequence[Attempt]:
    """Return the attempts since the issue last passed its test or was left to people.

    What people put back into a queue after that begins anew.
    """
    return attempts[max((place for place, attempt in enumerate(attempts) if _closes(attempt)), default=-1) + 1 :]


def passed(attempt: Attempt) -> bool:
    """Say whether the attempt's report was that the work passed its test, and stood so."""
    return (attempt.outcome or {}).get("result") == Result.PASS


def _closes(attempt: Attempt) -> bool:
    return attempt.given_up is not None or passed(attempt)


def dev_attempts(attempts: Sequence[Attempt]) -> int:
    """Return how many of an issue's attempts a developer has accepted: what ``limits.attempts`` counts."""
    return sum(attempt.role is Role.DEV and attempt.accepted is not None for attempt in counted(attempts))


def tests_in_a_row(attempts: Sequence[Attempt]) -> int:
    """Return how many QA attempts have been accepted since the last developer's; silent ones must have an end."""
    row = 0
    for attempt in counted(attempts):
        if attempt.accepted is not None:
            row = 0 if attempt.role is Role.DEV else row + 1
    return row


def in_vain(attempts: Sequence[Attempt]) -> int:
    """Return how many of an issue's attempts in a row, up to the last, came to nothing: no report ended them.

    One that a person ended by moving the issue says nothing about the work. One that no worker ever had is among them.
    """
    row = 0
    for attempt in reversed(attempts):
        if attempt.ended is None or attempt.report is not None or attempt.reason in PEOPLES:
            break
        row += 1
    return row
