"""The lasting heartbeat: tick after tick, woken early by what happens, until it is told to stop."""

from __future__ import annotations

import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import FrameType

from devclaw_py.agents.mailbox import RUNG
from devclaw_py.app import App
from devclaw_py.errors import DevClawError
from devclaw_py.kernel.wake import Sleeper
from devclaw_py.night.dispatch import Known
from devclaw_py.night.heartbeat import LEASE, Tick, beat

# However often it is woken: a tick that follows another at once would see what the last one saw.
SHORTEST_S = 1.0


def bell_of(workspace: Path) -> Path:
    """Return the file whose touch wakes the heartbeat of a workspace."""
    return workspace / "memory" / "wake"


def run(app: App, *, told: Callable[[Tick], None], stopping: Callable[[], bool]) -> None:
    """Tick until ``stopping`` says so; ``told`` hears of each tick. A tick that is under way is brought to its end.

    A tick that fails is told as its trouble, and the next one comes all the same: a slip in a file that somebody
    edits, or a full disk, must not leave the workers alone for the rest of the night.

    Raises:
        ProjectBusy: another heartbeat of the workspace runs; the lease is a lock that the kernel frees when it ends.
    """
    with app.store.hold(LEASE, wait_s=0, holder="heartbeat"):
        sleeper, known = Sleeper(app.clock, lambda: _bells(app)), Known()
        while not stopping():
            sleeper.listen()
            tick = _beaten(app, known)
            told(tick)
            app.clock.sleep(SHORTEST_S)
            sleeper.sleep(_pause_s(app, tick), enough=stopping)


def _beaten(app: App, known: Known) -> Tick:
    try:
        return beat(app, known)
    except DevClawError as error:
        return Tick([], trouble=error)
    except Exception as error:  # noqa: BLE001 - a bug of one tick must not end all that follow
        traceback.print_exc(file=sys.stderr)
        return Tick([], trouble=DevClawError(f"a bug: {type(error).__name__}: {error}; its trace is on stderr"))


def _pause_s(app: App, tick: Tick) -> float:
    """Return how long to sleep: until the next tick, or until a held issue may be handed out."""
    every_s = app.settings.heartbeat.every_s - SHORTEST_S
    due: datetime | None = tick.plan.next_at
    if due is not None:
        every_s = min(every_s, (due - app.clock.now()).total_seconds())
    return max(every_s, 0.0)


def _bells(app: App) -> Iterator[Path]:
    # Not the folder of the marks: a tick changes it itself, and would follow itself without a pause.
    yield bell_of(app.workspace)
    yield from app.sessions.root.glob(f"*/{RUNG}")


@contextmanager
def stopped_by_signals() -> Iterator[Callable[[], bool]]:
    """Turn SIGTERM, SIGINT and SIGHUP into an answer to "is it to stop?"; a second SIGINT stops at once."""
    caught: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        if caught.count(signal.SIGINT) > 1:
            raise KeyboardInterrupt

    before = {number: signal.signal(number, note) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}
    try:
        yield lambda: bool(caught)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
