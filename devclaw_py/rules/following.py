"""What is done about a worker that has a task and no report: decided from facts, without touching anything.

A worker at work is left alone. One whose turn ended is told to go on, each time for a reason that is counted; when the
count is used up the group is told, once. docs/concepts/following.md has the table.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from enum import StrEnum

from devclaw_py.model.base import Value
from devclaw_py.model.following import End, Ended, Followed, Parked
from devclaw_py.rules.diagnosis import Pulse

REMINDERS, RESTARTS, RETRIES, STALLS = 3, 5, 20, 3
# A worker may be about to report, and whoever cleared a conversation may be about to write into it.
QUIET = timedelta(seconds=30)
CLEARED = timedelta(seconds=60)
PAUSE = timedelta(minutes=2)
FIRST_BACK_OFF, LONGEST_BACK_OFF = timedelta(seconds=10), timedelta(minutes=5)
# A failure so long after the last "go on" is not one more in a row: the worker has worked in between.
CALM = timedelta(minutes=10)
# What the group was told: the worker stays silent, and its task may be taken from it.
SILENT = "silent"


class Do(StrEnum):
    """What is done; each is an audit event."""

    REMIND = "worker_reminded"
    GO_ON = "worker_told_on"
    TELL_AGAIN = "worker_told_again"
    ESCAPE = "worker_interrupted"
    PARK = "worker_parked"
    ANNOUNCE = "worker_needs_help"


TYPED = frozenset({Do.REMIND, Do.GO_ON, Do.TELL_AGAIN})


class Facts(Value):
    """One busy seat: how its session stands, and what was done before.

    ``ended`` is known of an idle session alone, ``quiet_since`` of one at work. ``reported`` was asked after ``ended``.
    ``parked`` is the account's limit, also where another worker met it. ``stall`` is how long a turn may be silent.
    """

    now: datetime
    pulse: Pulse
    ended: Ended | None = None
    quiet_since: datetime | None = None
    reported: bool = False
    parked: Parked | None = None
    done: Followed = Followed()
    stall: timedelta = timedelta(minutes=15)

    @property
    def resting(self) -> bool:
        """Whether the account's limit keeps every worker from going on."""
        return self.parked is not None and self.now < self.parked.until


class Act(Value):
    """What is to be done now, and the record of it. ``why`` is for people."""

    do: Do
    why: str
    record: Followed
    until: datetime | None = None


Decision = Callable[[Facts, Ended], Act | None]


def decide(facts: Facts) -> Act | None:
    """Return what is to be done about the worker now, None for nothing."""
    if facts.reported:
        return None
    if facts.pulse is Pulse.BUSY:
        return _stalled(facts)
    if facts.pulse is not Pulse.IDLE or facts.ended is None:
        return None
    decided = AT_ONCE.get(facts.ended.how)
    if decided is not None:
        return decided(facts, facts.ended)
    return None if facts.resting else LATER[facts.ended.how](facts, facts.ended)


def tries(facts: Facts, ended: Ended) -> int:
    """Return how often in a row the worker was told to go on after an error."""
    done = facts.done
    since = ended.at - done.at if done.at is not None else CALM
    return done.retries if since < CALM else 0


def is_stalled(facts: Facts) -> bool:
    """Say whether a worker at work has shown no sign of it for too long."""
    return facts.quiet_since is not None and not facts.resting and facts.now - facts.quiet_since >= facts.stall


def is_stuck(facts: Facts) -> bool:
    """Say whether the group was told of this very stall, and nobody has done anything about it for as long again."""
    done = facts.done
    told = facts.quiet_since is not None and done.announced == _stall_key(facts.quiet_since)
    return is_stalled(facts) and told and done.at is not None and facts.now - done.at >= facts.stall


def still(facts: Facts) -> str:
    """Return how long a stalled worker has shown no sign of work, in words."""
    minutes = (facts.now - facts.quiet_since).total_seconds() / 60 if facts.quiet_since is not None else 0
    return f"it says that it works and has shown no sign of it for {minutes:.0f} min"


def is_limited(facts: Facts, ended: Ended) -> bool:
    """Say whether the limit that ended the turn goes on: until its time, or until the workers have another account."""
    if ended.how is not End.LIMITED or ended.until is None or facts.now >= ended.until:
        return False
    return facts.parked is not None or facts.done.announced != ended.key


def back_off(tries: int) -> timedelta:
    """Return how long to wait after a failed turn that ``tries`` others came before.

    >>> [int(back_off(tries).total_seconds()) for tries in range(7)]
    [10, 20, 40, 80, 160, 300, 300]
    """
    return min(FIRST_BACK_OFF * (1 << min(tries, 10)), LONGEST_BACK_OFF)


def _remind(facts: Facts, ended: Ended) -> Act | None:
    done = facts.done
    # Somebody who broke the turn off, or began it with words of their own, is at the keyboard.
    there = ended.how is End.BROKEN_OFF or ended.by_person
    if facts.now < _due(facts, ended.at + (facts.stall if there else QUIET)) or done.announced == SILENT:
        return None
    if done.reminders >= REMINDERS:
        why = f"{ended.words}; {done.reminders} reminders have changed nothing"
        return _act(facts, Do.ANNOUNCE, why, key=ended.key, announced=SILENT)
    return _act(facts, Do.REMIND, ended.words, key=ended.key, reminders=done.reminders + 1, retries=0)


def _after_ours(facts: Facts, ended: Ended) -> Act | None:
    """Have the worker go on once whose silent turn devclaw has ended."""
    if ended.how is not End.BROKEN_OFF or not facts.done.escaped:
        return None
    return _act(facts, Do.GO_ON, "its turn showed no sign of work and was ended", key=ended.key)


def _again(facts: Facts, ended: Ended) -> Act | None:
    """Tell a worker that lost its turn or its memory, once for each loss; after that it counts as silent."""
    done = facts.done
    if done.key == ended.key:
        return _remind(facts, ended)
    if facts.now < ended.at + (CLEARED if ended.how is End.CLEARED else timedelta()):
        return None
    if done.restarts >= RESTARTS:
        if done.announced == SILENT:
            return None
        why = f"{ended.words}; that was {done.restarts + 1} times"
        return _act(facts, Do.ANNOUNCE, why, key=ended.key, announced=SILENT)
    do = Do.TELL_AGAIN if ended.how is End.CLEARED else Do.GO_ON
    return _act(facts, do, ended.words, key=ended.key, restarts=done.restarts + 1, retries=0)


def _retry(facts: Facts, ended: Ended) -> Act | None:
    count = tries(facts, ended)
    if count >= RETRIES:
        return _announce(facts, f"{ended.words}; it was told to go on {count} times", ended.key)
    wait = back_off(count)
    base = ended.at + wait
    # Told already, and the same failure stands: nobody knows whether it was heard.
    if facts.done.key == ended.key and facts.done.at is not None:
        base = max(base, facts.done.at + max(wait, PAUSE))
    if facts.now < base:
        return None
    return _act(facts, Do.GO_ON, ended.words, key=ended.key, retries=count + 1)


def _park(facts: Facts, ended: Ended) -> Act | None:
    if facts.done.announced == ended.key:
        return None
    return _act(facts, Do.PARK, ended.words, until=ended.until, announced=ended.key)


def _refused(facts: Facts, ended: Ended) -> Act | None:
    return _announce(facts, ended.words, ended.key)


def _limited(facts: Facts, ended: Ended) -> Act | None:
    if is_limited(facts, ended):
        return _park(facts, ended)
    return None if facts.resting else _retry(facts, ended)


def _silent(facts: Facts, ended: Ended) -> Act | None:
    return _after_ours(facts, ended) or _remind(facts, ended)


def _announce(facts: Facts, why: str, key: str) -> Act | None:
    if facts.done.announced == key:
        return None
    return _act(facts, Do.ANNOUNCE, why, announced=key)


def _stalled(facts: Facts) -> Act | None:
    if not is_stalled(facts) or facts.quiet_since is None:
        return None
    key = _stall_key(facts.quiet_since)
    if facts.done.key == key:
        return None
    why = still(facts)
    if facts.done.stalls >= STALLS:
        return _act(facts, Do.ANNOUNCE, why, key=key, announced=key)
    return _act(facts, Do.ESCAPE, why, key=key, announced=key, stalls=facts.done.stalls + 1)


def _stall_key(since: datetime) -> str:
    return f"stall-{since.isoformat()}"


def _due(facts: Facts, due: datetime) -> datetime:
    return due if facts.done.at is None else max(due, facts.done.at + PAUSE)


def _act(facts: Facts, do: Do, why: str, *, until: datetime | None = None, **changes: object) -> Act:
    changes |= {"number": facts.done.number + 1, "at": facts.now, "escaped": do is Do.ESCAPE}
    return Act(do=do, why=why, record=facts.done.model_copy(update=changes), until=until)


def _nothing(facts: Facts, ended: Ended) -> None:
    """Leave a program alone that has ended: session_health takes its task."""


# An account's limit keeps nobody from being told what only a person can mend.
AT_ONCE: dict[End, Decision] = {
    End.PROGRAM: _nothing,
    End.REFUSED: _refused,
    End.FULL: _refused,
    End.LIMITED: _limited,
}
LATER: dict[End, Decision] = {
    End.QUIET: _silent,
    End.BROKEN_OFF: _silent,
    End.RESTARTED: _again,
    End.CLEARED: _again,
    End.FAILED: _retry,
}
