"""What the heartbeat hands out: decided from facts about all projects, without touching anything.

Every open seat of every project is considered in one go. An issue that has to wait never keeps another one waiting.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from devclaw_py.model.base import Value
from devclaw_py.model.journal import Attempt
from devclaw_py.model.pipeline import Mode, Role, RoleExecution, State, Tier
from devclaw_py.rules import workflow
from devclaw_py.rules.attempts import FAULTLESS, dev_attempts, ending, in_vain, passed, tests_in_a_row
from devclaw_py.rules.cleaning import one_line

FIRST_PAUSE_S = 10
LONGEST_PAUSE_S = 300
FAILURES_PER_TIER = 2
SAID_CHARS = 300
LADDER = (Tier.JUNIOR, Tier.MEDIOR, Tier.SENIOR)


class Queued(Value):
    """An issue that waits in a queue.

    ``tier`` is what a pickup without a tier would choose, ``spent`` why no more money is to go into it by tier.
    """

    number: int
    state: State
    tier: Tier
    attempts: tuple[Attempt, ...] = ()
    spent: Mapping[Tier, str] = {}


class Place(Value):
    """One project as the schedule sees it.

    ``queue`` is in queue order and free of issues that somebody keeps. ``seats`` are the open seats of each role,
    ``busy`` the tasks at work of each. ``since`` is the last pickup: who has waited longest comes first.
    """

    group_id: str
    mode: Mode = Mode.RUNNING
    execution: RoleExecution = RoleExecution.PARALLEL
    queue: tuple[Queued, ...] = ()
    seats: Mapping[Role, int] = {}
    busy: Mapping[Role, int] = {}
    since: datetime | None = None


class Pickup(Value):
    """A task to be given to a worker; ``instead`` is true for another tier than a pickup would choose by itself."""

    group_id: str
    issue: int
    role: Role
    tier: Tier
    instead: bool = False


class Held(Value):
    """An issue that is not handed out now, and why.

    ``until`` is set where time alone will change it, ``spends``, its tier, where only money is missing.
    """

    group_id: str
    issue: int
    why: str
    until: datetime | None = None
    spends: Tier | None = None


class GivenUp(Value):
    """An issue that only a person can go on with, its newest attempt, and the story of all."""

    group_id: str
    issue: int
    state: State
    attempt: int
    story: str


class Plan(Value):
    """What is to be done now: pickups in their order, issues to be left to people, and what waits."""

    pickups: tuple[Pickup, ...] = ()
    given_up: tuple[GivenUp, ...] = ()
    held: tuple[Held, ...] = ()

    @property
    def next_at(self) -> datetime | None:
        """When the next of the held issues may be handed out, if time alone decides that."""
        return min((held.until for held in self.held if held.until is not None), default=None)


def plan(places: Sequence[Place], *, now: datetime, limit: int, room: int, one_project: bool = False) -> Plan:
    """Return the plan for all projects.

    ``limit`` is the number of attempts after which only a person goes on with an issue, ``room`` how many workers may
    be at work at once; ``one_project`` lets only one project be at work at a time.
    """
    given_up, held = [], []
    wanted: list[list[Pickup]] = []
    for place in sorted(places, key=_waiting_longest):
        chosen: list[Pickup] = []
        for verdict in _of_one(place, now, limit):
            if isinstance(verdict, Pickup):
                chosen.append(verdict)
            elif isinstance(verdict, GivenUp):
                given_up.append(verdict)
            else:
                held.append(verdict)
        wanted.append(chosen)

    at_work = sum(sum(place.busy.values()) for place in places)
    pickups = list(_in_turns(wanted))
    if one_project:
        pickups = list(_of_the_first(pickups, places, held))
    fitting = max(room - at_work, 0)
    held += [_held(late.group_id, late.issue, f"{room} workers are at work") for late in pickups[fitting:]]
    return Plan(pickups=tuple(pickups[:fitting]), given_up=tuple(given_up), held=tuple(held))


def pause_of(attempts: Sequence[Attempt]) -> datetime | None:
    """Return when an issue may be handed out again after attempts that came to nothing, or None for at once.

    Each further one in a row doubles the pause: 10 s, 20 s, ... at most 5 min.
    """
    row = in_vain(attempts)
    ended = attempts[-1].ended if attempts else None
    if not row or ended is None:
        return None
    return ended + timedelta(seconds=min(FIRST_PAUSE_S * 2 ** (row - 1), LONGEST_PAUSE_S))


def tier_for(tier: Tier, attempts: Sequence[Attempt]) -> Tier:
    """Return the tier that takes an issue: the one that had it last, one higher after two failures of it.

    What passed its test and was reopened is new work.
    """
    last_pass = max((place for place, attempt in enumerate(attempts) if passed(attempt)), default=-1)
    tried = [
        a
        for a in attempts[last_pass + 1 :]
        if a.role is Role.DEV and a.accepted is not None and a.reason not in FAULTLESS
    ]
    if tier.role is not Role.DEV or not tried:
        return tier
    last = tried[-1].tier
    failures = 0
    for attempt in reversed(tried):
        if attempt.tier is not last:
            break
        failures += 1
    if failures < FAILURES_PER_TIER or last is LADDER[-1]:
        return last
    return LADDER[LADDER.index(last) + 1]


def _waiting_longest(place: Place) -> tuple[float, str]:
    return (place.since.timestamp() if place.since else 0.0, place.group_id)


def _of_one(place: Place, now: datetime, limit: int) -> Iterator[Pickup | Held | GivenUp]:
    """Yield what becomes of each waiting issue of a project."""
    seats, working = dict(place.seats), {role for role, count in place.busy.items() if count}
    for each in place.queue:
        role = workflow.ROLE[each.state]
        tier = tier_for(each.tier, each.attempts) if role is Role.DEV else Tier.QA
        verdict = _judged(place, each, role, now, limit)
        if verdict is not None:
            yield verdict
        elif tier in each.spent:
            yield Held(group_id=place.group_id, issue=each.number, why=each.spent[tier], spends=tier)
        elif seats.get(role, 0) < 1:
            yield _held(place.group_id, each.number, f"no {role} is free")
        elif place.execution is RoleExecution.SEQUENTIAL and role.other in working:
            yield _held(place.group_id, each.number, f"one role works at a time, and {role.other} is at work")
        else:
            seats[role] -= 1
            working.add(role)
            instead = tier is not each.tier
            yield Pickup(group_id=place.group_id, issue=each.number, role=role, tier=tier, instead=instead)


def _judged(place: Place, each: Queued, role: Role, now: datetime, limit: int) -> Held | GivenUp | None:
    """Return why an issue is not to be handed out whoever is free, or None."""
    held = held_back(place.mode, each.state, each.attempts, now)
    if held is not None:
        pause = pause_of(each.attempts)
        return _held(place.group_id, each.number, held, until=pause if pause is not None and pause > now else None)
    used = dev_attempts(each.attempts) if role is Role.DEV else tests_in_a_row(each.attempts)
    if used >= limit:
        last, told = each.attempts[-1].number, story(each.attempts)
        return GivenUp(group_id=place.group_id, issue=each.number, state=each.state, attempt=last, story=told)
    return None


def held_back(mode: Mode, state: State, attempts: Sequence[Attempt], now: datetime) -> str | None:
    """Return why an issue is not handed out unattended now, whoever is free; None: it may be."""
    if mode in (Mode.PAUSED, Mode.STOPPED):
        return f"the project is {mode}"
    if mode is Mode.DRAINING and state is State.TO_DO and not dev_attempts(attempts):
        return "the project is draining: nothing new is begun"
    pause = pause_of(attempts)
    if pause is not None and pause > now:
        return f"its last attempt came to nothing; it pauses until {pause:%H:%M:%S} UTC"
    return None


def story(attempts: Sequence[Attempt]) -> str:
    """Return what was tried, one line an attempt, for the comment that leaves an issue to people."""
    lines = ["This issue keeps coming back. It was put into Refining: a person decides.", ""]
    for attempt in attempts:
        when = f"{attempt.started:%Y-%m-%d %H:%M} UTC"
        said = f": {one_line(attempt.report.summary, limit=SAID_CHARS)}" if attempt.report else ""
        how = attempt.report.result if attempt.report else (ending(attempt) or "no report")
        how = "the worker never had it" if attempt.reason == "void" else how
        lines.append(f"* attempt {attempt.number}, {attempt.role} ({attempt.tier}), {when}: {how}{said}")
    return "\n".join(lines)


def _in_turns(wanted: Sequence[Sequence[Pickup]]) -> Iterator[Pickup]:
    """Yield the first of each project, then the second of each, and so on."""
    for turn in range(max(map(len, wanted), default=0)):
        for pickups in wanted:
            if turn < len(pickups):
                yield pickups[turn]


def _of_the_first(pickups: Sequence[Pickup], places: Sequence[Place], held: list[Held]) -> Iterator[Pickup]:
    """Yield the pickups of the project that is at work, else of the first; the others are held."""
    working = [place.group_id for place in places if sum(place.busy.values())]
    first = working[0] if working else (pickups[0].group_id if pickups else None)
    for pickup in pickups:
        if pickup.group_id == first:
            yield pickup
        else:
            held.append(_held(pickup.group_id, pickup.issue, "one project works at a time, and another one does"))


def _held(group_id: str, issue: int, why: str, *, until: datetime | None = None) -> Held:
    return Held(group_id=group_id, issue=issue, why=why, until=until)
