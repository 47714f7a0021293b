"""One workspace of which only devclaw is real: everything around it is played, on one clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from devclaw_py import catalogue
from devclaw_py.agents.memory import MemoryAgent, MemorySessions
from devclaw_py.app import App
from devclaw_py.errors import DevClawError, TrackerUnavailable
from devclaw_py.kernel import config
from devclaw_py.model.caller import HUMAN, Caller
from devclaw_py.model.pipeline import State
from devclaw_py.model.project import Project
from devclaw_py.model.settings import Settings
from devclaw_py.night.dispatch import Known
from devclaw_py.night.heartbeat import Tick, beat
from devclaw_py.night.simulation.ledger import Given, Key, Ledger
from devclaw_py.night.simulation.outside import Groups, Killed, SlowTracker, Trap
from devclaw_py.night.simulation.script import ProjectScript, Script
from devclaw_py.night.simulation.timeline import Timeline
from devclaw_py.night.simulation.watch import Watch
from devclaw_py.night.simulation.workers import Cast
from devclaw_py.rules.slug import slug
from devclaw_py.state.memory import MemoryStore
from devclaw_py.terminals.memory import MemoryTerminal
from devclaw_py.trackers.auth import Keyring
from devclaw_py.trackers.forges import Entry, Forges, Gate
from devclaw_py.trackers.memory import MemoryTracker
from devclaw_py.work.memory import MemoryWork

T = TypeVar("T")

# The machine's free memory would decide otherwise, and with it the night.
SESSIONS = 12
# What lies between two ticks at least, and between a worker's end and the tick that it wakes.
SHORTEST_S = 1.0
# A service that was killed is started again.
RESTART_S = 30.0


class World:
    """A night that has not begun. `Timeline.run_until` lets it pass; `watch` says what did not hold.

    ``clock`` and ``trap`` may be given by whoever wants to know when devclaw waits, or could be killed.
    """

    def __init__(
        self, script: Script, folder: Path, *, clock: Timeline | None = None, trap: Trap | None = None
    ) -> None:
        self.script, self.folder = script, folder
        self.clock = clock or Timeline(script.begins())
        self.ledger, self.groups, self.trap = Ledger(), Groups(), trap or Trap()
        self.terminal, self.work = MemoryTerminal(), MemoryWork()
        self.agent = MemoryAgent(self.terminal)
        self.trackers: dict[str, MemoryTracker] = {}
        self.outside: dict[str, SlowTracker] = {}
        self.store = MemoryStore(self.clock)
        self.settings = settings_of(script, folder)
        self.app = self._wire()
        self.known = Known()
        self.ticks = 0
        self.heartbeat_lives = True
        self.terminal_is_down = False
        self.down_until: dict[str, datetime] = {}
        self._generation = 0
        self._beating = self._rung = False
        self._good: dict[Key, bool] = {}
        self._titles = Random(f"{script.night.seed}/titles")
        self.watch = Watch(self)
        self.cast = Cast(self)
        self.clock.after = self.watch.after
        for number, project in enumerate(script.projects, 1):
            self._register(number, project)
        self.beat_in(SHORTEST_S)

    def group_of(self, name: str) -> str:
        """Return the group of a project."""
        return next(group for group, project in self.store.registry.all().items() if project.name == name)

    def call(self, tool: str, arguments: dict[str, Any], caller: Caller = HUMAN) -> dict[str, Any]:
        """Call a tool as anybody does."""
        return catalogue.call(self.app, tool, arguments, caller)

    def process(self, who: str, act: Callable[[], T]) -> T | None:
        """Let one process of devclaw do something; None when it was killed in the middle."""
        try:
            return act()
        except Killed:
            self.ledger.note(self.clock.now(), f"devclaw was killed in the middle of what {who} asked for")
            return None

    def new_issue(self, group_id: str, script: ProjectScript) -> int:
        """Let a person write an issue and put it into the queue."""
        mix = script.mix
        tiers, shares = ("junior", "medior", "senior"), (mix.junior, mix.medior, mix.senior)
        tier = self._titles.choices(tiers, shares if sum(shares) else (1, 1, 1))[0]
        tracker = self.trackers[group_id]
        return tracker.seed(f"Issue of {script.name}", labels=[State.TO_DO.value, tier])

    def commits(self, given: Given) -> None:
        """Let a developer commit what it has made."""
        project = self.store.registry.get(given.group_id)
        repo = self.work.repo(project)
        branch = next((name for name in repo.branches if name.startswith(f"devclaw/{given.issue}-")), None)
        if branch is not None:
            repo.commit(branch)
        task = self.cast.tasks.get(given.session)
        self._good[given.group_id, given.issue] = task is not None and task.good

    def work_deserves_to_pass(self, group_id: str, issue: int) -> bool:
        """Return whether the newest work at an issue is good."""
        return self._good.get((group_id, issue), True)

    def ring(self) -> None:
        """Wake the heartbeat; one that is at it comes back at once."""
        self._rung = True
        if self.script.night.heartbeat == "lasting" and self.heartbeat_lives and not self._beating:
            self.beat_in(SHORTEST_S)

    def beat_in(self, seconds: float) -> None:
        """Let the next tick be so many seconds from now; the one that was planned before does not come."""
        self._generation += 1
        generation = self._generation
        self.clock.later(seconds, "heartbeat", lambda: self._beat(generation))

    def restart_heartbeat(self) -> None:
        """Start a heartbeat that was gone."""
        self.heartbeat_lives, self.known = True, Known()
        self.beat_in(SHORTEST_S)

    def was_down(self, group_id: str, *, since: datetime) -> bool:
        """Whether the project's tracker, or the terminal, could not be asked at any time since then."""
        up_at = self.down_until.get(group_id)
        return self.terminal_is_down or self.outside[group_id].is_down or (up_at is not None and up_at >= since)

    def tick(self) -> Tick | None:
        """Do one tick of the heartbeat, as one process; None when it could not or was killed."""
        self.ticks += 1
        try:
            with self.store.hold("heartbeat", wait_s=0, holder="heartbeat"):
                return self.process("the heartbeat", lambda: night_tick(self.app, self.known))
        except DevClawError as error:
            self.ledger.note(self.clock.now(), f"the heartbeat could not go on: {error}")
            return None

    def _beat(self, generation: int) -> None:
        if generation != self._generation or not self.heartbeat_lives:
            return
        began, self._beating, self._rung = self.clock.now(), True, False
        tick = self.tick()
        self._beating = False
        if tick is None:
            self.known = Known()
            self.beat_in(RESTART_S)
            return
        self.watch.ticked(tick, began)
        self.beat_in(self._pause_s(tick))

    def _pause_s(self, tick: Tick) -> float:
        """Return how long the heartbeat sleeps: until a held issue may be handed out, or it is woken."""
        if self.script.night.heartbeat == "timer":
            return self.settings.heartbeat.every_s
        if self._rung:
            return SHORTEST_S
        due = tick.plan.next_at
        left = (due - self.clock.now()).total_seconds() if due is not None else self.settings.heartbeat.every_s
        return max(min(self.settings.heartbeat.every_s, left), SHORTEST_S)

    def _register(self, number: int, script: ProjectScript) -> None:
        group_id = f"-{1000 + number}"
        tracker = self.trackers[group_id] = MemoryTracker(script.name, clock=self.clock, swaps=script.swaps)
        self.outside[group_id] = SlowTracker(tracker, self.clock, self.trap, seconds=self.script.night.tracker_s)
        entry = Project(
            group_id=group_id,
            name=script.name,
            slug=slug(script.name),
            repo=f"/night/{number}",
            auto_chain=script.auto_chain,
            role_execution=script.role_execution,
            workers=script.workers,
        )
        self.store.registry.add(entry)
        for _ in range(script.issues):
            self.new_issue(group_id, script)

    def _wire(self) -> App:
        sessions = MemorySessions(
            self.terminal, self.agent, self.folder, self.settings, self.clock, environ={"PATH": "/usr/bin"}
        )
        return App(
            workspace=self.folder,
            settings=self.settings,
            store=self.store,
            clock=self.clock,
            open_tracker=lambda project: self.outside[project.group_id],
            open_requests=lambda project: None,
            forges=Forges(
                Keyring(self.settings, self.folder, {}),
                folder=self.folder / "memory" / "forges",
                clock=self.clock,
                timeout_s=self.settings.timeouts.tracker_s,
                open_gate=_closed,
            ),
            work=self.work,
            sessions=sessions,
            notifier=self.groups,
            faults=self.trap,
        )


def _closed(entry: Entry) -> Gate:
    """Keep every forge out of reach: the night's trackers are in memory."""
    raise TrackerUnavailable(f"{entry.api} is out of reach of a simulated night")


def night_tick(app: App, known: Known) -> Tick:
    """Do what the heartbeat does in one tick."""
    return beat(app, known)


def settings_of(script: Script, folder: Path) -> Settings:
    """Return the night's settings: those of the script over the defaults.

    Raises:
        ConfigError: a section, a key or a value is none of devclaw.toml's.
    """
    flags = {f"{section}.{key}": value for section, keys in script.settings.items() for key, value in keys.items()}
    settings = config.load(folder, {}, flags).settings
    if settings.limits.sessions:
        return settings
    limits = settings.limits.model_copy(update={"sessions": SESSIONS})
    return settings.model_copy(update={"limits": limits})
