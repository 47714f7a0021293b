"""How often a task has come to its workers."""

from __future__ import annotations

from collections.abc import Sequence

from devclaw_py.model.journal import Attempt
from devclaw_py.model.pipeline import Role

# Why an attempt ended when somebody decided about its issue, its project or its money.
PEOPLES = frozenset({"moved", "conflict", "issue_gone", "removed", "stopped", "unseated", "budget"})
# Why it ended when its worker was not the reason: a higher tier would not have done better.
FAULTLESS = PEOPLES | {"void", "session_dead", "limited", "outdated"}


def counted(attempts: Sequence[Attempt]) -> Sequence[Attempt]:
    """Return the attempts since the issue was last left to people: what they put back into a queue begins anew."""
    last = max((place for place, attempt in enumerate(attempts) if attempt.given_up is not None), default=-1)
    return attempts[last + 1 :]


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
