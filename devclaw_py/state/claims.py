"""Who may begin and who may report: the journal's rules, without its storage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime

from devclaw_py.errors import IssueClaimed, NotActive, StaleAttempt
from devclaw_py.model.journal import Attempt, Following, Intent, Report

REPORT = "complete"


def clash(intent: Intent, others: Iterable[Intent]) -> Intent | None:
    """Return the open intent that keeps ``intent``'s issue, or None.

    One operation an issue, and beside it one report for each attempt.
    """
    if intent.issue is None:
        return None
    return next((other for other in others if other.issue == intent.issue and _exclusive(intent, other)), None)


def claimed(intent: Intent, by: Intent, now: datetime) -> IssueClaimed:
    """Return the error that names the other operation and its age."""
    parked = f", parked until {by.next_try.isoformat(timespec='seconds')}" if by.next_try else ""
    return IssueClaimed(
        f"issue #{intent.issue} is kept by a {by.kind} that began {age(by.at, now)} ago (operation {by.op}{parked})",
        hint="call again later, or run devclaw recover",
    )


def age(since: datetime, now: datetime) -> str:
    """Return how long ago something was, in the largest unit that fits."""
    seconds = max(0, int((now - since).total_seconds()))
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"


def reported(intent: Intent, report: Report, attempts: Sequence[Attempt]) -> Attempt | None:
    """Return the attempt with ``report`` in it, or None when it carries the same one already.

    ``attempts`` are all of the issue.

    Raises:
        NotActive: no attempt of that number was ever allotted.
        StaleAttempt: it has ended, a newer one exists, or another report stands.
    """
    attempt = next((known for known in attempts if known.number == intent.attempt), None)
    if attempt is None:
        raise NotActive(f"issue #{intent.issue} has no attempt {intent.attempt}; queue_status shows who holds what")
    if attempt.report == report:
        return None

    newest = max(known.number for known in attempts)
    named = f"attempt {attempt.number} at issue #{intent.issue}"
    if newest > attempt.number:
        raise StaleAttempt(f"{named} was replaced by attempt {newest}; nothing was changed, stop working on it")
    if attempt.report is not None:
        raise StaleAttempt(f"{named} has reported {attempt.report.result} already; it is the newest, one report counts")
    if attempt.ended is not None:
        raise StaleAttempt(
            f"{named}, the newest, has ended ({attempt.reason}); nothing was changed, stop working on it"
        )
    return attempt.model_copy(update={"report": report, "accepted": attempt.accepted or intent.at})


def followed(following: Following, attempts: Sequence[Attempt]) -> Attempt | None:
    """Return the attempt with what is done about it, or None when it is over or something else was done meanwhile."""
    attempt = next((known for known in attempts if known.number == following.number), None)
    if attempt is None or attempt.ended is not None or attempt.report is not None:
        return None
    before = attempt.followed.number if attempt.followed is not None else 0
    if before + 1 != following.followed.number:
        return None
    return attempt.model_copy(update={"followed": following.followed})


def _exclusive(intent: Intent, other: Intent) -> bool:
    if REPORT not in (intent.kind, other.kind):
        return True
    return intent.kind == other.kind and intent.attempt == other.attempt
