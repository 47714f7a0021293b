"""Two heartbeats at once, and people and workers beside them: no task is given twice.

Each race runs its threads one at a time; at every port call, fail point and wait the seed says who goes on. So a race
is the same whenever it is run. CI has 300 on fixed seeds and 30 on fresh ones, which are printed; DEVCLAW_CI_FULL=1
has 10,000.
"""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.model.pipeline import State
from devclaw_py.night.dispatch import Known
from devclaw_py.night.simulation import script
from devclaw_py.night.simulation.outside import Killed, Trap
from devclaw_py.night.simulation.settled import bugs, misreported
from devclaw_py.night.simulation.timeline import Timeline
from devclaw_py.night.simulation.world import World, night_tick

FULL = bool(os.environ.get("DEVCLAW_CI_FULL"))
FIXED, FRESH, A_WORLD = (10_000, 0, 50) if FULL else (300, 30, 10)


class Crossroads:
    """Lets one of several threads run at a time; at each crossing the seed chooses who goes on."""

    def __init__(self) -> None:
        self.random = random.Random(0)
        self._go: dict[int, threading.Event] = {}
        self._raised: list[BaseException] = []

    def cross(self) -> None:
        """Let somebody else go on, perhaps."""
        own = threading.get_ident()
        if own not in self._go:
            return
        chosen = self.random.choice(sorted(self._go, key=list(self._go).index))
        if chosen != own:
            self._go[own].clear()
            self._go[chosen].set()
            self._go[own].wait()

    def race(self, *runners: Callable[[], object]) -> None:
        """Run all to their end; raise what one of them raised."""
        ready = threading.Barrier(len(runners) + 1)
        begin = threading.Event()
        threads = [threading.Thread(target=self._run, args=(runner, ready, begin)) for runner in runners]
        for thread in threads:
            thread.start()
            self._go[thread.ident or 0] = threading.Event()
        ready.wait()
        first = self.random.choice(list(self._go.values()))
        begin.set()
        first.set()
        for thread in threads:
            thread.join(timeout=60)
            assert not thread.is_alive(), "a race hangs"
        if self._raised:
            raise self._raised[0]

    def _run(self, runner: Callable[[], object], ready: threading.Barrier, begin: threading.Event) -> None:
        own = threading.get_ident()
        ready.wait()
        begin.wait()
        self._go[own].wait()
        try:
            runner()
        except (Exception, Killed) as error:  # noqa: BLE001 - what a thread met is raised by whoever waits for it
            self._raised.append(error)
        finally:
            del self._go[own]
            if self._go:
                self.random.choice(list(self._go.values())).set()


class Crossing(Trap):
    """Every place at which a process could be stopped is a crossing."""

    def __init__(self, roads: Crossroads) -> None:
        super().__init__()
        self.roads = roads

    def hit(self, name: str) -> None:
        """Let somebody else go on, perhaps."""
        self.roads.cross()


class Clock(Timeline):
    """Whoever waits lets others go on."""

    roads: Crossroads

    def sleep(self, seconds: float) -> None:
        """Wait, and let somebody else go on."""
        self.roads.cross()
        super().sleep(seconds)


def make_world(number: int, folder: Path, roads: Crossroads) -> World:
    chosen = random.Random(f"race world {number}")
    tables = {
        "night": {"seed": number, "hours": 500, "tracker_s": 0},
        "workers": {tier: {"minutes": [90, 90]} for tier in ("junior", "medior", "senior", "qa")},
        "settings": {"limits": {"sessions": chosen.choice([2, 12])}},
        "projects": [
            {
                "name": name,
                "issues": 0,
                "workers": {"dev": chosen.choice([1, 2]), "qa": 1},
                "auto_chain": chosen.random() < 0.5,
                "role_execution": chosen.choice(["parallel", "sequential"]),
                "swaps": chosen.random() < 0.3,
            }
            for name in ("shop", "till")[: chosen.choice([1, 1, 2])]
        ],
    }
    night = script.parse(tables, "the race")
    clock = Clock(night.begins())
    clock.roads = roads
    world = World(night, folder, clock=clock, trap=Crossing(roads))
    world.heartbeat_lives = False  # the races are its ticks
    return world


def actors(world: World, chosen: random.Random) -> Iterator[Callable[[], object]]:
    """Yield two heartbeats, and sometimes a person or a worker."""
    for _ in range(2):
        yield lambda: night_tick(world.app, Known())
    group = chosen.choice(list(world.trackers))
    if chosen.random() < 0.3:
        role = chosen.choice(["dev", "qa"])
        yield lambda: world.call("task_pickup", {"projectGroupId": group, "role": role})
    working = sorted(world.cast.at_work())
    if working and chosen.random() < 0.5:
        yield lambda: world.cast.reports_now(chosen.choice(working))


def seed_issues(world: World, chosen: random.Random) -> None:
    for tracker in world.trackers.values():
        for _ in range(chosen.choice([0, 1, 1, 2])):
            tracker.seed("An issue", labels=[chosen.choice([State.TO_DO, State.TO_TEST, State.TO_IMPROVE]).value])


def finish_some(world: World, chosen: random.Random) -> None:
    for session in sorted(world.cast.at_work()):
        if chosen.random() < 0.6:
            world.cast.reports_now(session)
    world.clock.sleep(400)  # no pause of an issue outlasts this


def raced(number: int, world: World, roads: Crossroads) -> int:
    """Run one race, and return how many tasks were given out in it."""
    chosen = roads.random = random.Random(f"race {number}")
    seed_issues(world, chosen)
    before = len(world.ledger.given)
    roads.race(*actors(world, chosen))
    world.watch.after("race")
    assert world.ledger.broken == [], f"race {number}"
    given = len(world.ledger.given) - before
    finish_some(world, chosen)
    return given


def run(numbers: range, folder: Path) -> int:
    given = 0
    for first in numbers[::A_WORLD]:
        roads = Crossroads()
        here = folder / str(first)
        here.mkdir()
        world = make_world(first, here, roads)
        given += sum(raced(number, world, roads) for number in range(first, min(first + A_WORLD, numbers.stop)))
        assert [*bugs(world), *misreported(world)] == [], f"world {first}"
    return given


@pytest.mark.timeout(3600 if FULL else 300)
def test_two_heartbeats_at_once_give_no_task_twice(tmp_path: Path) -> None:
    assert run(range(FIXED), tmp_path) > FIXED // 2


@pytest.mark.skipif(FULL, reason="the full job has many more of them")
def test_two_heartbeats_at_once_give_no_task_twice_on_a_fresh_seed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = random.SystemRandom().randrange(10**6, 10**9)
    with capsys.disabled():
        print(f"\nraces: from {first} on")
    run(range(first, first + FRESH), tmp_path)


def test_a_project_without_its_lock_gives_a_task_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Show that the races see what they are for."""
    monkeypatch.setattr("devclaw_py.state.memory.MemoryStore.hold", _nobody_waits)

    with pytest.raises(AssertionError, match="race"):
        run(range(60), tmp_path)


def _nobody_waits(*args: Any, **options: Any) -> Any:
    from contextlib import nullcontext

    return nullcontext()
