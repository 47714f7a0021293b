"""How an attempt ended, in one word."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from devclaw_py.model.following import Followed
from devclaw_py.model.journal import Attempt, Report
from devclaw_py.model.pipeline import Result, Role, Tier
from devclaw_py.rules.attempts import Ending, ending

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def attempt(reason: str | None, **more: Any) -> Attempt:
    facts: dict[str, Any] = {"group_id": "g", "issue": 1, "number": 1, "role": Role.DEV, "tier": Tier.JUNIOR}
    facts |= {"session": "s", "op": "op", "started": NOW, "ended": NOW if reason else None, "reason": reason}
    return Attempt(**facts, **more)


def reported(reason: str, result: Result) -> Attempt:
    return attempt(reason, report=Report(result=result))


@pytest.mark.parametrize(
    ("found", "word"),
    [
        (attempt(None), None),
        (reported("done", Result.DONE), Ending.DONE),
        (reported("fail", Result.FAIL), Ending.DONE),
        (reported("blocked", Result.BLOCKED), Ending.FAILED),
        (reported("conflict", Result.DONE), Ending.CANCELLED),
        (attempt("silent_worker"), Ending.FAILED),
        (attempt("silent_worker", followed=Followed(reminders=3)), Ending.TIMED_OUT),
        (attempt("stalled"), Ending.STALLED),
        (attempt("session_dead"), Ending.KILLED),
        (attempt("budget"), Ending.LIMITED),
        (attempt("void"), Ending.VOID),
        *((attempt(reason), Ending.CANCELLED) for reason in ("moved", "issue_gone", "removed", "stopped", "unseated")),
    ],
    ids=lambda value: value.reason if isinstance(value, Attempt) else str(value),
)
def test_each_reason_of_the_journal_is_one_ending(found: Attempt, word: Ending | None) -> None:
    assert ending(found) is word
