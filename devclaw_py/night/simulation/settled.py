"""What must have settled a while after the last trouble: attempts, reports, and queues that are worked off."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

from devclaw_py.errors import Internal
from devclaw_py.model.pipeline import Mode, Role, RoleExecution
from devclaw_py.model.project import Project
from devclaw_py.rules.labels import state_of, states_in
from devclaw_py.rules.workflow import ROLE, queues_of

if TYPE_CHECKING:
    from devclaw_py.night.simulation.world import World

# The words of the comment that leaves an issue to people: with each an issue has its attempts again.
GIVEN_UP = "This issue keeps coming back."
# An issue pauses for five minutes at most; another may be before it in the queue.
PATIENCE = timedelta(minutes=12)

Key = tuple[object, object, object]


def unheld(world: World, project: Project) -> Iterator[str]:
    """Yield each attempt that is open without a seat, and each that is void although its worker has it."""
    given = {(one.issue, one.attempt) for one in world.ledger.given if one.group_id == project.group_id}
    seated = {(seat.issue, seat.attempt) for seat in project.seats().values() if seat.active}
    kept = {intent.issue for intent in world.store.journal.intents(project.group_id)}
    for attempt in world.store.journal.attempts(project.group_id):
        key = (attempt.issue, attempt.number)
        if attempt.reason == "void" and key in given:
            yield f"{project.name}: attempt {key[1]} at #{key[0]} is void, and its worker has it"
        if attempt.ended is None and key not in seated and attempt.issue not in kept:
            yield f"{project.name}: attempt {key[1]} at #{key[0]} is open, and no seat holds it"


def left_waiting(world: World, project: Project) -> Iterator[str]:
    """Yield each issue that has long waited in a queue while somebody is free to take it.

    Where there are fewer sessions than workers some always have to wait; then it is enough that anybody works. Where
    there is a budget, money may be what they wait for.
    """
    seats = sum(len(each.seats()) for each in world.store.registry.all().values())
    crowded = world.settings.limits.sessions < seats and world.cast.at_work()
    if project.mode is not Mode.RUNNING or crowded or world.settings.budget.limited:
        return
    tracker, kept = world.trackers[project.group_id], world.store.journal.intents(project.group_id)
    for task in tracker.list_all():
        states = states_in(task.labels)
        if task.closed or len(states) != 1 or states[0] not in ROLE or any(i.issue == task.number for i in kept):
            continue
        role = ROLE[states[0]]
        since = max(event.at for event in tracker.label_events(task.number) if state_of(event.label) is states[0])
        waits = world.clock.now() - since
        if states[0] in queues_of(role) and waits > PATIENCE and _is_free(project, role):
            minutes = waits.seconds // 60
            yield f"{project.name}: #{task.number} waits in {states[0]} for {minutes} min, and {role} is free"


def bugs(world: World) -> Iterator[str]:
    """Yield each kind of call that met a bug."""
    met = {line["event"] for line in world.store.audit.read() if line.get("error") == Internal.code}
    yield from (f"{event} met a bug; its trace is on stderr" for event in sorted(map(str, met)))


def misreported(world: World) -> Iterator[str]:
    """Yield each report that was not carried out once, or was although it was refused, by log and comments."""
    done: Counter[Key] = Counter()
    beaten: set[Key] = set()
    for line in world.store.audit.read():
        if line["event"] in ("task_complete", "operation_settled") and "labelTransition" in line:
            key = (line.get("groupId"), line.get("issue"), line.get("attempt"))
            done[key] += 1
            if line.get("error") == "conflict":
                beaten.add(key)
    waiting = {(intent.group_id, intent.issue) for intent in world.store.journal.intents()}
    for said in world.ledger.said.values():
        key, named = (said.group_id, said.issue, said.attempt), f"the report {said.summary!r} of {said.group_id}"
        if said.taken and done[key] != 1 and (said.group_id, said.issue) not in waiting:
            yield f"{named} was taken and carried out {done[key]} times"
        if not said.taken and said.answers and done[key] - (key in beaten) > 0:
            yield f"{named} was carried out although it was refused"
        if (count := _comments(world, said.group_id, said.issue, said.summary)) > 1:
            yield f"#{said.issue} of {said.group_id} has the comment {said.summary!r} {count} times"


def _is_free(project: Project, role: Role) -> bool:
    others = any(seat.active for seat in project.seats(role.other).values())
    return bool(project.open_seats(role)) and not (project.role_execution is RoleExecution.SEQUENTIAL and others)


def _comments(world: World, group_id: str, issue: int, summary: str) -> int:
    tracker = world.trackers[group_id]
    if issue not in {task.number for task in tracker.list_all()}:
        return 0
    return sum(summary in one.body and GIVEN_UP not in one.body for one in tracker.comments(issue))
