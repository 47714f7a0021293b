"""The heartbeat: a tick over few and many projects, idle and busy, and how soon it hands out what an event tells of."""

from __future__ import annotations

import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from devclaw_py import catalogue
from devclaw_py.agents.memory import MemoryAgent
from devclaw_py.agents.sessions import Sessions
from devclaw_py.app import App, open_app
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.kernel.wake import ring
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.project import Project
from devclaw_py.model.settings import LimitSettings, Settings
from devclaw_py.night.dispatch import Known
from devclaw_py.night.heartbeat import Tick, beat
from devclaw_py.night.loop import SHORTEST_S, bell_of, run
from devclaw_py.terminals.memory import MemoryTerminal
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.memory import MemoryTracker
from devclaw_py.work.memory import MemoryWork
from tests.bench.measure import Goal, Row, Scale, ms_of, wait_for
from tests.bench.registry import many_projects

GROUP = "-1000"
COUNT = "calls of the tracker (a count)"
ROOM = 10_000


@dataclass
class Counting:
    """A tracker whose calls are counted."""

    inner: Any
    calls: Counter[str]

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if callable(found):
            self.calls[name] += 1
        return found


@dataclass
class Plant:
    """A workspace of many projects: the store in files, workers in memory, trackers as named."""

    app: App
    known: Known = field(default_factory=Known)
    calls: Counter[str] = field(default_factory=Counter)

    def issue(self, project: Project) -> int:
        """Put an issue into the project's To Do."""
        return self.app.open_tracker(project).create("Add a page", "", labels=["To Do"]).number

    def beat(self) -> Tick:
        """Do one tick as the lasting heartbeat does."""
        done = beat(self.app, self.known)
        failed = [visit.error for visit in done.visits if visit.error]
        if failed:
            raise RuntimeError(f"{len(failed)} projects failed, the first by {failed[0]}")
        return done


def rows(scale: Scale) -> list[Row]:
    """Measure ticks, then the way from an event to a worker."""
    sizes = {"1": 1, "100": max(2, scale.projects // 10), "1000": scale.projects}
    found = [
        _ticks(scale, tracker, busy, name, count)
        for tracker in ("memory", "local")
        for busy in (False, True)
        for name, count in sizes.items()
    ]
    return [*found, _woken(scale)]


def _ticks(scale: Scale, tracker: str, busy: bool, name: str, count: int) -> Row:
    how = "busy" if busy else "idle"
    about = "each with a worker at work and an issue that waits" if busy else "nothing to do"
    row = Row(
        f"tick_{tracker}_{how}_{name}",
        f"a tick of the lasting heartbeat, {tracker} tracker, {count} projects, {about}",
        Goal(1000) if not busy else None,
    )
    counted = row.compared.setdefault(COUNT, [])
    with plant(count, tracker) as found:
        if busy:
            for project in found.app.store.registry.all().values():
                found.issue(project)
            found.beat()
            for project in found.app.store.registry.all().values():
                found.issue(project)
        found.beat()
        for _ in range(max(2, scale.repeats // (20 if busy else 3))):
            found.calls.clear()
            row.values.append(ms_of(found.beat))
            counted.append(float(sum(found.calls.values())))
    return row


def _woken(scale: Scale) -> Row:
    row = Row(
        "event_to_dispatch",
        "from an event that rings to a worker that has accepted its task, memory tracker, 100 projects, the heartbeat "
        "asleep",
        Goal(1000),
    )
    with plant(max(2, scale.projects // 10), "memory") as found:
        project = found.app.store.registry.get(GROUP)
        given: list[int] = []

        def told(tick: Tick) -> None:
            given.extend(answer["issueId"] for visit in tick.visits for answer in visit.given if answer["success"])

        over = threading.Event()
        lasting = threading.Thread(target=run, args=(found.app,), kwargs={"told": told, "stopping": over.is_set})
        lasting.start()
        try:
            for _ in range(max(2, scale.rounds // 3)):
                time.sleep(2 * SHORTEST_S)  # it sleeps after its shortest pause
                issue = found.issue(project)
                row.values.append(ms_of(lambda: _rung(found.app, given, issue)))  # noqa: B023 - called at once
                done = {"projectGroupId": GROUP, "issueId": issue, "state": "Done"}
                catalogue.call(found.app, "task_update", done, HUMAN)
        finally:
            over.set()
            lasting.join()
    return row


def _rung(app: App, given: list[int], issue: int) -> None:
    ring(bell_of(app.workspace))
    wait_for(lambda: issue in given, f"#{issue} is handed out")


@contextmanager
def plant(count: int, tracker: str) -> Iterator[Plant]:
    """Open a workspace with so many projects in a new folder."""
    with tempfile.TemporaryDirectory(prefix="devclaw-bench-") as name:
        folder = Path(name).resolve()
        many_projects(folder, count)
        yield _plant(folder, tracker)


def _plant(folder: Path, tracker: str) -> Plant:
    settings = Settings(limits=LimitSettings(sessions=ROOM))
    clock, terminal = SystemClock(), MemoryTerminal()
    agent, calls = MemoryAgent(terminal), Counter[str]()
    app = open_app(folder, settings, environ={})
    real, memory = app.open_tracker, dict[str, MemoryTracker]()

    def open_tracker(project: Project) -> IssueProvider:
        if tracker == "local":
            inner = real(project)
        else:
            inner = memory.setdefault(project.group_id, MemoryTracker(project.name, clock=clock))
        counting: Any = Counting(inner, calls)
        return counting  # type: ignore[no-any-return] # it has what the inner one has

    app = replace(
        app,
        open_tracker=open_tracker,
        work=MemoryWork(),
        sessions=Sessions(terminal, agent, folder, settings, clock, environ={"PATH": "/usr/bin", "HOME": "/root"}),
    )
    return Plant(app, calls=calls)
