"""What must hold all night, whatever happens; read from trackers, terminals and workers, not from what devclaw says."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from devclaw_py.agents import mailbox
from devclaw_py.model.journal import Intent
from devclaw_py.model.pipeline import Role, SeatKey, StateKind
from devclaw_py.model.project import Project, Seat
from devclaw_py.model.task import Task
from devclaw_py.night.heartbeat import Tick
from devclaw_py.night.simulation.ledger import Given
from devclaw_py.night.simulation.settled import GIVEN_UP, bugs, left_waiting, misreported, unheld
from devclaw_py.rules.labels import states_in
from devclaw_py.rules.workflow import ACTIVE, KIND

if TYPE_CHECKING:
    from devclaw_py.night.simulation.world import World

# What waits is tried again within ten minutes; what is older than this is stuck.
STUCK = timedelta(minutes=20)
LOOKS = 2


class Watch:
    """Looks at everything after each event; what does not hold is in the ledger's ``broken``."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._seen: dict[str, object] = {}
        self._looked_at: Counter[tuple[str, int]] = Counter()

    def after(self, name: str) -> None:
        """Check every project in which something has changed since."""
        for key, count in self._world.groups.heard.items():
            if count > 1:
                self._wrong(f"the announcement {key} was sent {count} times")
        projects = self._world.store.registry.all()
        for group_id, project in projects.items():
            intents = self._world.store.journal.intents(group_id)
            seen = (self._world.trackers[group_id].pulse(), project, [(one.op, one.phase) for one in intents])
            if self._seen.get(group_id) != seen:
                self._seen[group_id] = seen
                self._check(project, intents)
        self._no_twins()

    def given(self, given: Given) -> None:
        """Check a task that a worker accepts at this moment."""
        world, named = self._world, f"{given.session} accepted attempt {given.attempt} at #{given.issue}"
        earlier = [one for one in world.ledger.given if (one.group_id, one.issue) == (given.group_id, given.issue)]
        if any(one.attempt == given.attempt for one in earlier):
            self._wrong(f"{named} a second time")
        if any(one.attempt > given.attempt for one in earlier):
            self._wrong(f"{named} after a later one")
        if mailbox.accepted(world.app.sessions.folder(given.session), f"{given.issue}.{given.attempt}") is False:
            self._wrong(f"{named} without its offer")
        if (world.app.sessions.folder(given.session) / mailbox.VOID / f"{given.issue}.{given.attempt}").exists():
            self._wrong(f"{named} although it is void")
        if given.group_id in world.ledger.paused and not world.ledger.by_hand[given.group_id, given.issue]:
            self._wrong(f"{named} in a paused project")
        playing = world.cast.plays(given.session)
        if playing is not None:
            self._wrong(f"{named} while it works on #{playing.given.issue}")
        self._check_limit(given, earlier)

    def ticked(self, tick: Tick, began: datetime) -> None:
        """Take note that devclaw has looked at projects: what people left odd before that is mended now.

        An operation that was under way at the first look keeps its issue from being mended until the second.
        """
        world = self._world
        for visit in tick.visits:
            if visit.error is not None and visit.error["message"].startswith("a bug"):
                self._wrong(f"the heartbeat met {visit.error['message']}")
        if world.terminal_is_down:
            return
        well = {visit.group_id for visit in tick.visits if visit.busy is None and visit.error is None}
        kept = {(intent.group_id, intent.issue) for intent in world.store.journal.intents()}
        for key, at in list(world.ledger.touched.items()):
            if key[0] in well and at < began and key not in kept and not world.was_down(key[0], since=began):
                self._looked_at[key] += 1
                if self._looked_at[key] >= LOOKS:
                    del world.ledger.touched[key], self._looked_at[key]

    def dawn(self) -> None:
        """Check what has to be settled a while after the last trouble."""
        world = self._world
        now = world.clock.now()
        for group_id, project in world.store.registry.all().items():
            self._check(project, world.store.journal.intents(group_id))
            self._stuck(project, now)
            for what in (*unheld(world, project), *left_waiting(world, project)):
                self._wrong(what)
        for key, at in world.ledger.touched.items():
            if now - at > STUCK:
                self._wrong(f"{key[0]}: what somebody did to #{key[1]} was never mended")
        for what in (*misreported(world), *bugs(world)):
            self._wrong(what)

    def _stuck(self, project: Project, now: datetime) -> None:
        for intent in self._world.store.journal.intents(project.group_id):
            if now - intent.at > STUCK:
                self._wrong(f"{project.name}: {intent.named} waits for {(now - intent.at).seconds // 60} min")
        for row in self._world.store.journal.outbox(project.group_id):
            if now - row.at > STUCK:
                self._wrong(f"{project.name}: {row.key} was never sent")

    def _check(self, project: Project, intents: list[Intent]) -> None:
        seats = {key: seat for key, seat in project.seats().items() if seat.active}
        kept = Counter(intent.issue for intent in intents)
        for task in self._world.trackers[project.group_id].list_all():
            touched = (project.group_id, task.number) in self._world.ledger.touched
            if not touched and (states_in(task.labels) or self._tried(project, task)):
                self._check_issue(project, task, seats, kept[task.number])
        for key, seat in seats.items():
            self._check_seat(project, key, seat)

    def _tried(self, project: Project, task: Task) -> bool:
        """Whether the issue is devclaw's to look after although it has no state: somebody was to work on it."""
        return bool(self._world.store.journal.attempts(project.group_id, task.number))

    def _check_issue(self, project: Project, task: Task, seats: dict[SeatKey, Seat], kept: int) -> None:
        states, named = states_in(task.labels), f"{project.name} #{task.number}"
        if len(states) != 1 and not (not states and kept):
            self._wrong(f"{named} has the state labels {[state.value for state in states]}")
        holders = [key for key, seat in seats.items() if seat.issue == task.number]
        active = [state for state in states if KIND[state] is StateKind.ACTIVE]
        if len(holders) > 1:
            self._wrong(f"{named} is held by {' and '.join(map(str, holders))}")
        if active and not holders and not kept:
            self._wrong(f"{named} is in {active[0]} and nobody holds it")
        if kept:
            return
        for key in holders:
            if active != [ACTIVE[key.role]]:
                self._wrong(f"{named} is held by {key} and is in {' and '.join(states) or 'no state'}")
        if task.closed and active:
            self._wrong(f"{named} is closed in {active[0]}")

    def _check_seat(self, project: Project, key: SeatKey, seat: Seat) -> None:
        if seat.issue is None:
            self._wrong(f"{project.name}: {key} is busy with nothing")
            return
        given = [
            one.attempt
            for one in self._world.ledger.given
            if (one.group_id, one.issue) == (project.group_id, seat.issue)
        ]
        if given and max(given) > (seat.attempt or 0):
            self._wrong(f"{project.name}: {key} holds attempt {seat.attempt} at #{seat.issue}, {max(given)} was given")

    def _no_twins(self) -> None:
        """Check that no two workers that live are at one issue; one that has reported only says goodbye."""
        at: dict[tuple[str, int], list[str]] = {}
        for session, task in self._world.cast.at_work().items():
            given = task.given
            if (given.group_id, given.issue, given.attempt) not in self._world.ledger.said:
                at.setdefault((given.group_id, given.issue), []).append(session)
        for (_, issue), sessions in at.items():
            if len(sessions) > 1:
                self._wrong(f"{' and '.join(sorted(sessions))} work on #{issue} at once")

    def _check_limit(self, given: Given, earlier: list[Given]) -> None:
        world = self._world
        limit = world.settings.limits.attempts
        comments = world.trackers[given.group_id].comments(given.issue)
        rounds = 1 + sum(GIVEN_UP in comment.body for comment in comments)
        free = world.ledger.by_hand[given.group_id, given.issue]
        had = sum(one.role is Role.DEV for one in (*earlier, given))
        if given.role is Role.DEV and had > limit * rounds + free:
            self._wrong(f"#{given.issue} of {given.group_id} had {had} dev attempts, the limit is {limit}")
        row = 0
        for one in (*earlier, given):
            row = row + 1 if one.role is Role.QA else 0
        if row > limit * rounds + free:
            self._wrong(f"#{given.issue} of {given.group_id} was tested {row} times in a row, the limit is {limit}")

    def _wrong(self, what: str) -> None:
        self._world.ledger.wrong(self._world.clock.now(), what)
