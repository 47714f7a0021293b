"""Several processes with one token on an emulated GitHub, none of which knows of the others but through GitHub."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import devclaw_py
from devclaw_py.trackers.forge.budget import Pace, Spend
from tests.forge.emulated import GitHub
from tests.real.trackers import claim

ROOT = Path(devclaw_py.__file__).parents[1]
PROCESSES = 8


def race(github: GitHub, number: int) -> Counter[str]:
    """Let all processes claim an issue at the same moment."""
    argv = [sys.executable, claim.__file__, str(github.folder), github.forge.model_dump_json(), str(number)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    pipe = subprocess.PIPE
    started = [subprocess.Popen(argv, env=environ, stdin=pipe, stdout=pipe, text=True) for _ in range(PROCESSES)]
    for process in started:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in started:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    return Counter(process.communicate(timeout=120)[0].strip() for process in started)


def test_of_eight_processes_that_claim_one_issue_one_wins(github: GitHub) -> None:
    number = github.tracker().create("An issue", "", labels=["To Do"]).number

    assert race(github, number) == {"won": 1, "moved": PROCESSES - 1}
    assert github.labels(number) == {"Doing", "devclaw"}


def test_all_processes_together_stay_within_one_budget(github: GitHub) -> None:
    number = github.tracker().create("An issue", "", labels=["To Do"]).number
    budget = github.client(pace=Pace()).budget
    for _ in range(48):
        budget.admit(Spend.BEGIN, "x")
    github.proxy.clear()

    told = race(github, number)

    # The minute holds 50 that begin something, and 48 are spent.
    assert len([line for line in github.proxy.lines() if line.startswith("DELETE")]) <= 2
    assert told["limited"] >= PROCESSES - 2
