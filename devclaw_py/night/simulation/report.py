"""What became of the night: counted from the trackers, the workers and the chats."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from devclaw_py.model.base import Value
from devclaw_py.model.pipeline import State
from devclaw_py.model.task import LabelEvent, Task
from devclaw_py.rules.labels import state_of, states_in

if TYPE_CHECKING:
    from devclaw_py.night.simulation.world import World

SHOWN = 12


class Wait(Value):
    """How long issues stood in one state, in minutes; ``now`` are those that still do."""

    state: State
    count: int
    mean_min: float
    p95_min: float
    longest_min: float
    now: int


class Line(Value):
    """One project: its issues, and where they ended."""

    name: str
    issues: int
    done: int
    refining: int
    done_per_hour: float
    attempts: int
    notices: int


class Entry(Value):
    """One thing that happened to the night."""

    at: str
    what: str


class Report(Value):
    """The whole night. ``broken`` is what should never have been: a bug in devclaw."""

    seed: int
    hours: float
    ticks: int
    issues: int
    done: int
    refining: int
    done_per_hour: float
    projects: tuple[Line, ...]
    waits: tuple[Wait, ...]
    attempts: int
    attempts_per_done: float
    attempts_by_tier: dict[str, int]
    ended: dict[str, int]
    turns: dict[str, int]
    deaths: int
    kills: int
    usd: float
    usd_per_done: float
    notices: int
    notices_per_issue: float
    most_notices: int
    diary: tuple[Entry, ...]
    broken: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether everything held."""
        return not self.broken


def report_of(world: World) -> Report:
    """Return the report of the night so far."""
    tasks = {group: tracker.list_all() for group, tracker in world.trackers.items()}
    flat = [task for each in tasks.values() for task in each]
    done, given, hours = _count(flat, State.DONE), world.ledger.given, world.script.night.hours
    notices = world.groups.by_issue
    attempts = [one for group in tasks for one in world.store.journal.attempts(group)]
    return Report(
        seed=world.script.night.seed,
        hours=hours,
        ticks=world.ticks,
        issues=len(flat),
        done=done,
        refining=_count(flat, State.REFINING),
        done_per_hour=round(done / hours, 2),
        projects=tuple(_line(world, group, found) for group, found in tasks.items()),
        waits=tuple(_waits(world)),
        attempts=len(given),
        attempts_per_done=_per(len(given), done),
        attempts_by_tier=_sorted(Counter(one.tier.value for one in given)),
        ended=_sorted(Counter(one.reason or "ended" for one in attempts if one.ended is not None)),
        turns=_sorted(world.ledger.ends),
        deaths=world.ledger.deaths,
        kills=world.trap.kills,
        usd=round(world.ledger.usd, 2),
        usd_per_done=_per(world.ledger.usd, done),
        notices=sum(notices.values()),
        notices_per_issue=_per(sum(notices.values()), len(flat)),
        most_notices=max(notices.values(), default=0),
        diary=tuple(Entry(at=f"{at:%H:%M}", what=what) for at, what in world.ledger.diary),
        broken=tuple(world.ledger.broken),
    )


def lines(report: Report) -> Iterator[str]:
    """Yield the report for people."""
    yield (
        f"A night of {report.hours:g} hours, seed {report.seed}: {report.done} of {report.issues} issues done, "
        f"{report.refining} left to people, {report.done_per_hour:g} an hour."
    )
    yield ""
    yield f"{'project':<20} {'issues':>6} {'done':>5} {'refining':>8} {'per hour':>8} {'attempts':>8} {'notices':>7}"
    for line in report.projects:
        yield (
            f"{line.name[:20]:<20} {line.issues:>6} {line.done:>5} {line.refining:>8} {line.done_per_hour:>8.2f} "
            f"{line.attempts:>8} {line.notices:>7}"
        )
    yield ""
    yield f"{'minutes in':<20} {'times':>6} {'mean':>7} {'p95':>7} {'longest':>7} {'now':>4}"
    for wait in report.waits:
        yield (
            f"{wait.state:<20} {wait.count:>6} {wait.mean_min:>7.1f} {wait.p95_min:>7.1f} {wait.longest_min:>7.1f} "
            f"{wait.now:>4}"
        )
    yield ""
    tiers = _words(report.attempts_by_tier)
    yield f"Attempts: {report.attempts} ({tiers}), {report.attempts_per_done:g} for each issue done."
    yield f"They ended: {_words(report.ended) or 'none did'}."
    yield f"Turns without a report: {_words(report.turns) or 'none'}; sessions that died: {report.deaths}."
    if report.usd:
        yield f"Cost: {report.usd:.2f} USD, {report.usd_per_done:.2f} for each issue done."
    yield (
        f"Notices: {report.notices}, {report.notices_per_issue:g} an issue, at most {report.most_notices} about one. "
        f"Ticks of the heartbeat: {report.ticks}; devclaw was killed {report.kills} times."
    )
    yield from _told(report.diary)
    yield ""
    if report.ok:
        yield "Everything held: no doubled worker, no lost report, no issue without its label."
    for broken in report.broken:
        yield f"BROKEN {broken}"


def _told(diary: Sequence[Entry]) -> Iterator[str]:
    if diary:
        yield ""
    for entry in diary[:SHOWN]:
        yield f"{entry.at} {entry.what}"
    if len(diary) > SHOWN:
        yield f"... and {len(diary) - SHOWN} more; --json has all"


def _line(world: World, group: str, tasks: list[Task]) -> Line:
    done = _count(tasks, State.DONE)
    return Line(
        name=world.store.registry.get(group).name,
        issues=len(tasks),
        done=done,
        refining=_count(tasks, State.REFINING),
        done_per_hour=round(done / world.script.night.hours, 2),
        attempts=sum(one.group_id == group for one in world.ledger.given),
        notices=len(world.groups.order.get(group, ())),
    )


def _waits(world: World) -> Iterator[Wait]:
    stays: dict[State, list[float]] = {}
    now: Counter[State] = Counter()
    for tracker in world.trackers.values():
        for task in tracker.list_all():
            for state, minutes, stays_there in _stays(tracker.label_events(task.number), world.clock.now()):
                stays.setdefault(state, []).append(minutes)
                now[state] += stays_there
    for state in State:
        if state is not State.DONE and (found := sorted(stays.get(state, ()))):
            yield Wait(
                state=state,
                count=len(found),
                mean_min=round(sum(found) / len(found), 1),
                p95_min=round(found[min(len(found) - 1, int(len(found) * 0.95))], 1),
                longest_min=round(found[-1], 1),
                now=now[state],
            )


def _stays(events: Sequence[LabelEvent], end: datetime) -> Iterator[tuple[State, float, bool]]:
    """Yield each stay in a state: how long, and whether it goes on."""
    since: dict[State, datetime] = {}
    for event in events:
        state = state_of(event.label)
        if state is None:
            continue
        if event.added:
            since[state] = event.at
        elif state in since:
            yield state, (event.at - since.pop(state)).total_seconds() / 60, False
    for state, at in since.items():
        yield state, (end - at).total_seconds() / 60, True


def _count(tasks: Sequence[Task], state: State) -> int:
    return sum(states_in(task.labels) == (state,) for task in tasks)


def _per(amount: float, count: int) -> float:
    return round(amount / count, 2) if count else 0.0


def _sorted(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))


def _words(counts: dict[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())
