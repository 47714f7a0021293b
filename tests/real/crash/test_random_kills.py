"""Calls that are killed at any moment, one after another, on one workspace."""

from __future__ import annotations

import os
import random
import secrets
import signal
import subprocess
import time
from typing import Any

from tests.real.crash.conftest import Yard
from tests.real.crash.judge import violations

ROUNDS = 200 if os.environ.get("DEVCLAW_CI_FULL") else 20
# A call needs about 0.25 s to start and as long again for its operation: most kills should fall into that.
SHORTEST_S, LONGEST_S = 0.2, 0.7
RESULTS = {"dev": ("done", "blocked"), "qa": ("pass", "fail", "refine")}


def _choose(dice: random.Random, yard: Yard) -> tuple[str, dict[str, Any]]:
    """Choose a call that has something to do, mostly."""
    seats = yard.seats()
    busy = [role for role, active in seats.items() if active]
    idle = [role for role, active in seats.items() if not active]
    word = dice.choice(("create", "report", "report", "pickup", "pickup", "comment", "update"))
    if word == "report" and busy:
        role = dice.choice(busy)
        return "task_complete", {"role": role, "result": dice.choice(RESULTS[role]), "summary": "seen"}
    if word == "pickup" and idle:
        return "task_pickup", {"role": dice.choice(idle)}
    numbers = [task.number for task in yard.tasks()]
    if word == "comment" and numbers:
        return "task_comment", {"issueId": dice.choice(numbers), "body": "a word"}
    if word == "update" and numbers:
        return "task_update", {"issueId": dice.choice(numbers), "state": dice.choice(("To Do", "To Test", "Planning"))}
    return "task_create", {"title": "Add a footer", "label": "To Do", "pickup": dice.random() < 0.3}


def test_kills_at_random_moments_lose_and_double_nothing(yard: Yard) -> None:
    seed = int(os.environ.get("DEVCLAW_SEED") or secrets.randbelow(10**9))
    dice, killed, interrupted = random.Random(seed), 0, 0
    print(f"seed {seed}: set DEVCLAW_SEED to repeat it")
    yard.call("project_update", autoChain=True)
    yard.call("task_create", title="Add a footer", label="To Do")

    for number in range(ROUNDS):
        tool, arguments = _choose(dice, yard)
        process = yard.start(tool, **arguments)
        try:
            process.communicate(timeout=dice.uniform(SHORTEST_S, LONGEST_S))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        killed += process.returncode == -signal.SIGKILL
        interrupted += bool(yard.intents())
        yard.recover()
        yard.idle()

        assert violations(yard) == [], f"seed {seed}, round {number}: {tool} {arguments}"
        assert yard.intents() == [], f"seed {seed}, round {number}: {tool} {arguments}"

    print(f"{ROUNDS} calls, {killed} killed, {interrupted} of them in the middle of an operation")
    assert killed


def test_a_worker_that_dies_with_its_server_is_found_missing(yard: Yard) -> None:
    yard.call("task_create", title="Add a footer", label="To Do", pickup=True)
    yard.idle()
    yard.kill_server()

    deadline = time.monotonic() + 10
    while yard.app().sessions.looks():
        assert time.monotonic() < deadline
    yard.recover()

    assert violations(yard) == []
