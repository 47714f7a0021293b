"""The lasting heartbeat on real parts: several projects, several workers, and kills of whatever can be killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from devclaw_py.kernel.config import socket_name
from tests.real.crash.conftest import GROUP, Yard, slug_of
from tests.real.crash.judge import violations

PROJECTS, ISSUES, KILLS = (10, 6, 60) if os.environ.get("DEVCLAW_CI_FULL") == "1" else (2, 4, 6)
LIMIT_S = 1200 if os.environ.get("DEVCLAW_CI_FULL") == "1" else 150
SETTINGS = """
[agent]
kind = "scripted"
program = ["env", {path}, {python}, {worker}]

[heartbeat]
every_s = 2

[limits]
sessions = 6
attempts = 50

[timeouts]
receipt_s = 10
"""


@pytest.fixture
def night(make_yard: Callable[[], Yard]) -> Yard:
    """Projects with issues in To Do and workers that report by themselves."""
    yard = make_yard()
    worker = json.dumps(str(Path(__file__).with_name("night_worker.py")))
    path = json.dumps(f"PYTHONPATH={yard.environ['PYTHONPATH']}")
    text = SETTINGS.format(python=json.dumps(sys.executable), worker=worker, path=path)
    (yard.workspace / "devclaw.toml").write_text(text)
    yard.add_project(GROUP)
    return yard


@pytest.fixture
def heartbeat() -> Iterator[Callable[[Yard], subprocess.Popen[str]]]:
    """Start the heartbeat of a yard as a process of its own."""
    started: list[subprocess.Popen[str]] = []

    def start(yard: Yard) -> subprocess.Popen[str]:
        started.append(yard.run("heartbeat"))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def groups(count: int) -> list[str]:
    return [GROUP, *(f"-200{number}" for number in range(1, count))]


def states(yard: Yard, group: str) -> list[str]:
    return [label for task in yard.tasks(group) for label in task.labels]


def wait(condition: Callable[[], bool], what: str, limit_s: float) -> None:
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def ended(yard: Yard, count: int, issues: int) -> bool:
    return all(states(yard, group) == ["Done"] * issues for group in groups(count))


def test_queues_are_worked_off_and_a_second_heartbeat_is_refused(
    night: Yard, heartbeat: Callable[[Yard], subprocess.Popen[str]]
) -> None:
    night.call("project_update", workers={"dev": 2})
    for number in range(3):
        night.call("task_create", title=f"Add page {number}", label="To Do")
    first = heartbeat(night)
    wait(lambda: "Doing" in states(night, GROUP), "nothing was handed out", 30)

    second = heartbeat(night)

    assert second.wait(30) == 3
    assert "heartbeat" in second.communicate()[1]
    wait(lambda: ended(night, 1, 3), f"it does not end: {states(night, GROUP)}", 90)
    first.send_signal(signal.SIGTERM)
    out, err = first.communicate(timeout=30)
    assert (first.returncode, "Traceback" in err) == (0, False), err
    assert "#1 went to dev" in out
    assert violations(night) == []


def test_everything_ends_in_done_although_everything_is_killed_at_random(
    night: Yard, heartbeat: Callable[[Yard], subprocess.Popen[str]]
) -> None:
    seed = int(os.environ.get("DEVCLAW_SEED", "0")) or random.SystemRandom().randrange(1_000_000)
    print(f"seed {seed}")
    chance = random.Random(seed)
    for group in groups(PROJECTS)[1:]:
        night.add_project(group)
    for group in groups(PROJECTS):
        for number in range(ISSUES):
            night.call("task_create", projectGroupId=group, title=f"Add page {number}", label="To Do")
    beating = heartbeat(night)
    killed: Counter[str] = Counter()
    for _ in range(KILLS):
        time.sleep(chance.uniform(0.5, 4))
        victim = chance.choice(["worker", "worker", "server", "heartbeat"])
        killed[victim] += 1
        if victim == "heartbeat":
            beating.kill()
            beating.communicate()
            beating = heartbeat(night)
        else:
            (night.kill_server if victim == "server" else lambda: kill_a_worker(night, chance))()

    everything = f"of {dict(killed)} with seed {seed}: "
    wait(lambda: ended(night, PROJECTS, ISSUES), everything + str(list(map(night.tasks, groups(PROJECTS)))), LIMIT_S)

    beating.send_signal(signal.SIGTERM)
    _, err = beating.communicate(timeout=30)
    assert (beating.returncode, "Traceback" in err) == (0, False), err
    night.recover(*groups(PROJECTS))
    for group in groups(PROJECTS):
        check_ended(night, group, everything)


def check_ended(night: Yard, group: str, everything: str) -> None:
    """Judge a project by its files, its repository and what its workers' programs wrote."""
    assert violations(night, group) == [], everything
    ran = Counter(night.witnessed(group))
    assert max(ran.values()) == 1, f"an attempt ran twice: {ran}; {everything}"
    assert len([task for task in night.tasks(group) if task.closed]) == ISSUES
    assert night.git("status", "--porcelain", group=group) == ""
    merged = night.git("log", "--format=%s", "main", group=group)
    assert all(f"Merge #{number}" in merged for number in range(1, ISSUES + 1)), slug_of(group)


def kill_a_worker(yard: Yard, chance: random.Random) -> None:
    argv = ["tmux", "-L", socket_name(yard.workspace), "list-panes", "-a", "-F", "#{pane_pid}"]
    panes = subprocess.run(argv, capture_output=True, text=True, check=False).stdout.split()
    if panes:
        with suppress(ProcessLookupError):  # a pane that stays when its process has ended is listed as well
            os.kill(int(chance.choice(panes)), signal.SIGKILL)
