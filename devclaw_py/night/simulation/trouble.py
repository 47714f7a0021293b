"""What goes wrong in the night, and what people do meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

from devclaw_py.model.pipeline import State
from devclaw_py.night.simulation.script import LASTING, FaultKind, FaultScript, ProjectScript
from devclaw_py.rules.labels import states_in

if TYPE_CHECKING:
    from devclaw_py.night.simulation.world import World

Begin = Callable[[str | None, FaultScript | None], None]

# Where people put an issue: never where only a pickup belongs.
PLACES = (State.TO_DO, State.TO_IMPROVE, State.TO_TEST, State.REFINING, State.PLANNING)
MOST_PLACES = 60


class Trouble:
    """Makes appointments for every fault of the script, and carries them out."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._random = Random(f"{world.script.night.seed}/trouble")
        self._begins: dict[FaultKind, Begin] = {
            FaultKind.TRACKER_DOWN: self._tracker_down,
            FaultKind.NOTIFIER_DOWN: self._notifier_down,
            FaultKind.TERMINAL_DOWN: self._terminal_down,
            FaultKind.USAGE_LIMIT: self._usage_limit,
            FaultKind.HEARTBEAT_DIES: self._heartbeat_dies,
            FaultKind.HUMAN_PAUSES: self._pauses,
            FaultKind.WORKER_DIES: self._worker_dies,
            FaultKind.ALL_WORKERS_DIE: self._all_workers_die,
            FaultKind.DEVCLAW_KILLED: self._killed,
            FaultKind.HUMAN_MOVES: self._moves,
            FaultKind.HUMAN_CLOSES: self._closes,
            FaultKind.HUMAN_REOPENS: self._reopens,
            FaultKind.HUMAN_MUDDLES: self._muddles,
        }
        self._ends: dict[FaultKind, Callable[[str | None], None]] = {
            FaultKind.TRACKER_DOWN: self._tracker_up,
            FaultKind.NOTIFIER_DOWN: self._notifier_up,
            FaultKind.TERMINAL_DOWN: self._terminal_up,
            FaultKind.USAGE_LIMIT: self._limit_over,
            FaultKind.HEARTBEAT_DIES: self._heartbeat_lives,
            FaultKind.HUMAN_PAUSES: self._resumes,
        }

    def plan(self) -> None:
        """Make the appointments of the whole night."""
        script = self._world.script
        for fault in script.faults:
            group = self._world.group_of(fault.project) if fault.project is not None else None
            self._appoint(fault, group)
        for kind in sorted(script.night.chances):
            self._by_chance(kind, script.night.chances[kind])
        for group, project in zip(self._world.trackers, script.projects, strict=True):
            for at_s in self._times(project.arrivals_per_hour):
                self._world.clock.later(at_s, "person", partial(self._arrives, group, project))

    def over(self) -> None:
        """End everything that lasts."""
        for group in self._world.trackers:
            self._tracker_up(group)
            self._resumes(group)
        for end in (self._notifier_up, self._terminal_up, self._limit_over, self._heartbeat_lives):
            end(None)
        self._world.trap.spring()
        self._world.agent.deaf.clear()
        self._world.cast.hears = True

    def do(self, kind: FaultKind, group: str | None = None, fault: FaultScript | None = None) -> None:
        """Let something happen now; what lasts goes on until `undo`."""
        self._begins[kind](group, fault)

    def undo(self, kind: FaultKind, group: str | None = None) -> None:
        """End what lasts."""
        self._ends[kind](group)

    def _appoint(self, fault: FaultScript, group: str | None) -> None:
        script, clock = self._world.script, self._world.clock
        begin = script.time(fault.begin or fault.at or "")
        clock.at(begin, "fault", lambda: self.do(fault.kind, group, fault))
        if fault.end is not None:
            end = script.time(fault.end)
            clock.at(end, "fault", lambda: self.undo(fault.kind, group))

    def _by_chance(self, kind: FaultKind, per_hour: float) -> None:
        night, clock, groups = self._world.script.night, self._world.clock, list(self._world.trackers)
        for at_s in self._times(per_hour):
            group = self._random.choice(groups)
            clock.later(at_s, "fault", partial(self.do, kind, group))
            if kind in LASTING:
                lasts_s = self._random.uniform(*night.chance_minutes) * 60
                clock.later(at_s + lasts_s, "fault", partial(self.undo, kind, group))

    def _times(self, per_hour: float) -> list[float]:
        """Return random moments of the night, so many an hour on average, in seconds from its start."""
        found: list[float] = []
        at_s, end_s = 0.0, self._world.script.night.hours * 3600
        while per_hour > 0 and (at_s := at_s + self._random.expovariate(per_hour / 3600)) < end_s:
            found.append(at_s)
        return found

    def _note(self, what: str, group: str | None = None) -> None:
        world = self._world
        where = f"{world.store.registry.get(group).name}: " if group is not None else ""
        world.ledger.note(world.clock.now(), f"{where}{what}")

    def _groups(self, group: str | None) -> list[str]:
        return [group] if group is not None else list(self._world.trackers)

    def _tracker_down(self, group: str | None, fault: FaultScript | None) -> None:
        self._note("the tracker is down", group)
        for each in self._groups(group):
            self._world.outside[each].down()

    def _tracker_up(self, group: str | None) -> None:
        for each in self._groups(group):
            self._world.outside[each].up()
            self._world.down_until[each] = self._world.clock.now()

    def _notifier_down(self, group: str | None, fault: FaultScript | None) -> None:
        self._note("the groups cannot be told anything")
        self._world.groups.is_down = True

    def _notifier_up(self, group: str | None) -> None:
        self._world.groups.is_down = False

    def _terminal_down(self, group: str | None, fault: FaultScript | None) -> None:
        self._note("the terminal does not answer")
        self._world.terminal.down()
        self._world.terminal_is_down = True

    def _terminal_up(self, group: str | None) -> None:
        self._world.terminal.up()
        self._world.terminal_is_down = False
        for each in self._world.trackers:
            self._world.down_until[each] = self._world.clock.now()

    def _usage_limit(self, group: str | None, fault: FaultScript | None) -> None:
        script, clock = self._world.script, self._world.clock
        until = script.time(fault.end) if fault is not None and fault.end is not None else script.ends()
        self._note(f"the account's usage limit is reached until {until:%H:%M}")
        self._world.cast.limited_until = max(until, clock.now())

    def _limit_over(self, group: str | None) -> None:
        self._world.cast.limited_until = None

    def _heartbeat_dies(self, group: str | None, fault: FaultScript | None) -> None:
        self._note("the heartbeat is gone")
        self._world.heartbeat_lives = False

    def _heartbeat_lives(self, group: str | None) -> None:
        if not self._world.heartbeat_lives:
            self._world.restart_heartbeat()

    def _pauses(self, group: str | None, fault: FaultScript | None) -> None:
        for each in self._groups(group):
            self._mode(each, "paused")

    def _resumes(self, group: str | None) -> None:
        for each in self._groups(group):
            if each in self._world.ledger.paused:
                self._mode(each, "running")

    def _mode(self, group: str, mode: str) -> None:
        world = self._world
        if mode == "running":
            world.ledger.paused.discard(group)
        answer = world.process("a person", lambda: world.call("project_mode", {"projectGroupId": group, "mode": mode}))
        self._note(f"somebody has the project {mode}", group)
        if answer is not None and answer["success"] and mode == "paused":
            world.ledger.paused.add(group)

    def _worker_dies(self, group: str | None, fault: FaultScript | None) -> None:
        slug = self._world.store.registry.get(group).slug if group is not None else ""
        panes = self._world.terminal.panes
        live = [name for name, pane in panes.items() if pane.session.alive and name.startswith(slug)]
        if live:
            name = self._random.choice(sorted(live))
            self._note(f"the worker {name} dies")
            self._world.cast.dies(name, exit_code=None)

    def _all_workers_die(self, group: str | None, fault: FaultScript | None) -> None:
        self._note("all workers die at once")
        for name in sorted(self._world.terminal.panes):
            self._world.cast.dies(name, exit_code=None)
        self._world.terminal.panes.clear()

    def _killed(self, group: str | None, fault: FaultScript | None) -> None:
        self._world.trap.set(self._random.randint(1, MOST_PLACES))

    def _moves(self, group: str | None, fault: FaultScript | None) -> None:
        found = self._an_issue(group, fault)
        if found is not None:
            state = fault.state if fault is not None and fault.state is not None else self._random.choice(PLACES)
            self._touch(*found, f"somebody moves #{found[1]} to {state}")
            self._world.trackers[found[0]].human_moves(found[1], state.value)

    def _closes(self, group: str | None, fault: FaultScript | None) -> None:
        found = self._an_issue(group, fault)
        if found is not None:
            self._touch(*found, f"somebody closes #{found[1]}")
            self._world.trackers[found[0]].human_closes(found[1])

    def _reopens(self, group: str | None, fault: FaultScript | None) -> None:
        found = self._an_issue(group, fault, closed=True)
        if found is not None:
            self._touch(*found, f"somebody opens #{found[1]} again")
            self._world.trackers[found[0]].human_reopens(found[1])

    def _muddles(self, group: str | None, fault: FaultScript | None) -> None:
        """Put a second state on an issue, or take every state off."""
        found = self._an_issue(group, fault)
        if found is None:
            return
        tracker = self._world.trackers[found[0]]
        labels = tracker.get(found[1]).labels
        if self._random.random() < 0.5:
            self._touch(*found, f"somebody takes every state off #{found[1]}")
            tracker.human_labels(found[1], [label for label in labels if not states_in([label])])
        else:
            state = self._random.choice(PLACES)
            self._touch(*found, f"somebody puts {state} on #{found[1]}, too")
            tracker.human_labels(found[1], (*labels, state.value))

    def _arrives(self, group: str, project: ProjectScript) -> None:
        self._world.new_issue(group, project)
        self._world.ring()

    def _an_issue(
        self, group: str | None, fault: FaultScript | None, *, closed: bool = False
    ) -> tuple[str, int] | None:
        where = group if group is not None else self._random.choice(list(self._world.trackers))
        tasks = [task.number for task in self._world.trackers[where].list_all() if task.closed is closed]
        if fault is not None and fault.issue is not None:
            return (where, fault.issue) if fault.issue in tasks else None
        return (where, self._random.choice(tasks)) if tasks else None

    def _touch(self, group: str, issue: int, what: str) -> None:
        self._note(what, group)
        self._world.ledger.touched[group, issue] = self._world.clock.now()
        self._world.ring()
