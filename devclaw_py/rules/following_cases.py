"""What session_health finds about a worker that has a task and no report; `rules.following` decides what is done."""

from __future__ import annotations

from devclaw_py.model.finding import Severity
from devclaw_py.model.following import End, Ended
from devclaw_py.rules.diagnosis import Case, Pulse
from devclaw_py.rules.following import (
    REMINDERS,
    RETRIES,
    SILENT,
    STALLS,
    Facts,
    is_limited,
    is_stalled,
    is_stuck,
    still,
    tries,
)

ATTACH = "look at its session with devclaw attach"


def case(facts: Facts) -> Case | None:
    """Return what there is to find about the worker, None for nothing."""
    if is_stalled(facts) and facts.pulse is Pulse.BUSY:
        ends = facts.done.stalls < STALLS
        mend = "its turn is ended by Escape and it is told to go on" if ends else ATTACH
        return Case(kind="stalled_worker", words=still(facts), mend=mend, over=is_stuck(facts))
    if facts.pulse is not Pulse.IDLE or facts.ended is None:
        return None
    if is_limited(facts, facts.ended):
        mend = f"it goes on by itself after {facts.ended.until:%Y-%m-%d %H:%M} UTC"
        return Case(kind="worker_limited", words=facts.ended.words, mend=mend)
    return CASES[facts.ended.how](facts, facts.ended)


def _over(facts: Facts, ended: Ended) -> Case:
    return Case(kind="silent_worker", words=ended.words, over=True)


def _silent(facts: Facts, ended: Ended) -> Case:
    if facts.done.announced == SILENT:
        return _over(facts, ended)
    mend = f"it is reminded by itself; {facts.done.reminders} of {REMINDERS} times so far"
    return Case(kind="silent_worker", words=ended.words, mend=mend)


def _failed(facts: Facts, ended: Ended) -> Case:
    count = tries(facts, ended)
    if count >= RETRIES:
        return _failing(ended, "when the API answers again, tell it to go on with session_send")
    mend = f"it is told to go on by itself; {count} of {RETRIES} times so far"
    return Case(kind="worker_failing", words=ended.words, mend=mend)


def _refused(facts: Facts, ended: Ended) -> Case:
    return _failing(ended, "mend credit or login, then tell it to go on with session_send")


def _full(facts: Facts, ended: Ended) -> Case:
    mend = "a person compacts or clears its conversation with devclaw attach --write"
    return Case(kind="context_full", words=ended.words, mend=mend, severity=Severity.CRITICAL)


def _failing(ended: Ended, mend: str) -> Case:
    return Case(kind="worker_failing", words=ended.words, mend=mend, severity=Severity.CRITICAL)


CASES = {
    End.PROGRAM: _over,
    End.QUIET: _silent,
    End.BROKEN_OFF: _silent,
    End.RESTARTED: _silent,
    End.CLEARED: _silent,
    End.FAILED: _failed,
    End.LIMITED: _failed,
    End.REFUSED: _refused,
    End.FULL: _full,
}
