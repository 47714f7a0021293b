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
# A kill falls between these parts of the time that a call without an operation takes on this machine now: its start
# alone is most of that, and most kills should fall into what comes after.
SOONEST, LATEST = 0.6, 1.4
MEASURED_EVERY = 10
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


def _time_of_a_call(yard: Yard) -> float:
    """Measure how long a whole process takes that only looks."""
    begun = time.monotonic()
    yard.start("queue_status").communicate(timeout=60)
    return time.monotonic() - begun


def test_kills_at_random_moments_lose_and_double_nothing(yard: Yard) -> None:
    seed = int(os.environ.get("DEVCLAW_SEED") or secrets.randbelow(10**9))
    dice, killed, interrupted, call_s = random.Random(seed), 0, 0, 0.0
    print(f"seed {seed}: set DEVCLAW_SEED to repeat it")
    yard.call("project_update", autoChain=True)
    yard.call("task_create", title="Add a footer", label="To Do")

    for number in range(ROUNDS):
        if number % MEASURED_EVERY == 0:
            call_s = _time_of_a_call(yard)
        tool, arguments = _choose(dice, yard)
        process = yard.start(tool, **arguments)
        try:
            process.communicate(timeout=dice.uniform(SOONEST, LATEST) * call_s)
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
