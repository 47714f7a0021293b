"""Sixteen processes at once on one workspace."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread

from devclaw_py import catalogue
from tests.real.crash.conftest import Yard
from tests.real.crash.crowd import GROUPS
from tests.real.crash.judge import violations

PROCESSES = 16
SECONDS = 60 if os.environ.get("DEVCLAW_CI_FULL") else 6


class Reader(Thread):
    """Reads projects.json again and again, as everybody may."""

    def __init__(self, registry: Path) -> None:
        super().__init__()
        self.registry, self.stop, self.reads, self.broken = registry, Event(), 0, 0

    def run(self) -> None:
        while not self.stop.wait(0.001):
            self.reads += 1
            try:
                json.loads(self.registry.read_bytes())
            except ValueError:
                self.broken += 1


def test_sixteen_processes_lose_no_update_and_double_no_pickup(make_yard: Callable[[], Yard]) -> None:
    yard, seed = make_yard(), secrets.randbelow(10**9)
    print(f"seed {seed}")
    for group in GROUPS:
        yard.add_project(group)
    reader = Reader(yard.workspace / "memory" / "projects.json")
    before = len(yard.lines())

    reader.start()
    crowd = [_join(yard, seed + number) for number in range(PROCESSES)]
    told = [json.loads(process.communicate(timeout=SECONDS + 120)[0]) for process in crowd]
    reader.stop.set()
    reader.join()
    yard.recover(*GROUPS)

    made = sum((Counter(one["made"]) for one in told), Counter[str]())
    lines = [line for line in yard.lines()[before:] if line["event"] in catalogue.TOOLS]
    print(f"{made.total()} calls, {reader.reads} reads of the registry, {len(yard.witnessed())} pickups")
    assert [bug for one in told for bug in one["bugs"]] == []
    assert reader.broken == 0
    assert Counter(line["event"] for line in lines if line["caller"] == "human") == made
    assert sum(len(yard.tasks(group)) for group in GROUPS) == sum(one["created"] for one in told)
    assert [offer for offer, count in Counter(yard.witnessed()).items() if count > 1] == []
    assert [wrong for group in GROUPS for wrong in violations(yard, group)] == []


def _join(yard: Yard, seed: int) -> subprocess.Popen[str]:
    script = Path(__file__).with_name("crowd.py")
    argv = [sys.executable, str(script), str(yard.workspace), str(seed), str(SECONDS)]
    return subprocess.Popen(argv, env=yard.environ, cwd=yard.folder, stdout=subprocess.PIPE, text=True)
