"""A client that several threads share."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from devclaw_py.kernel.clock import SystemClock
from devclaw_py.trackers.forge.budget import Pace
from devclaw_py.trackers.forge.client import Connection
from devclaw_py.trackers.forge.reply import Reply
from devclaw_py.trackers.github.client import Client

THREADS = 4


class Wire:
    """A connection that notes which threads use it."""

    def __init__(self, used: dict[int, set[int]]) -> None:
        self._used = used

    def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: object = None,
    ) -> Reply:
        self._used[id(self)].add(threading.get_ident())
        return Reply(200, {}, {"path": path})

    def close(self) -> None:
        pass


class Wired(Client):
    """A client whose connections are kept, so that no two of them have one number."""

    def __init__(self, folder: Path) -> None:
        pace = Pace(per_minute=1000, per_hour=1000)
        super().__init__(
            "https://api.github.com", lambda: "t", folder=folder, clock=SystemClock(), timeout_s=5, pace=pace
        )
        self.wires: list[Wire] = []
        self.used: dict[int, set[int]] = defaultdict(set)

    def connect(self, token: str, timeout_s: float) -> Connection:
        self.wires.append(Wire(self.used))
        return self.wires[-1]


def test_no_two_threads_speak_over_one_connection(tmp_path: Path) -> None:
    client, together = Wired(tmp_path), threading.Barrier(THREADS, timeout=30)

    def ask(number: int) -> list[object]:
        together.wait()
        return [client.ask("GET", f"/{number}/{turn}", "ask").body for turn in range(3)]

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(ask, range(THREADS)))

    assert [len(threads) for threads in client.used.values()] == [1] * THREADS
    assert answers == [[{"path": f"/{number}/{turn}"} for turn in range(3)] for number in range(THREADS)]
