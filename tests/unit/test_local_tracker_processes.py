"""The local tracker under several processes at once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import devclaw_py
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.trackers.local import LocalTracker

ROOT = Path(devclaw_py.__file__).parents[1]
WORKERS = 8

# Says that it is ready, waits for a line, evaluates the call and prints its outcome as JSON.
WORKER = """
import json, sys
from pathlib import Path
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.rules.labels import states_in
from devclaw_py.trackers.local import LocalTracker

tracker = LocalTracker(Path(sys.argv[1]), name="shop", clock=SystemClock(), timeout_s=60)
print("ready", flush=True)
sys.stdin.readline()
print(json.dumps(eval(sys.argv[2], {"tracker": tracker, "states_in": states_in, "me": int(sys.argv[3])})))
"""

Race = Callable[[str], list[object]]


@pytest.fixture
def tracker(tmp_path: Path) -> LocalTracker:
    made = LocalTracker(tmp_path, name="shop", clock=SystemClock(), timeout_s=60)
    made.create("An issue", "Do it.", labels=["To Do", "bug"])
    return made


@pytest.fixture
def race(tmp_path: Path) -> Iterator[Race]:
    """Let `WORKERS` processes evaluate one call each, all at once, and return their outcomes."""
    started: list[subprocess.Popen[str]] = []

    def run(call: str) -> list[object]:
        for me in range(WORKERS):
            started.append(
                subprocess.Popen(
                    [sys.executable, "-c", WORKER, str(tmp_path), call, str(me)],
                    env={**os.environ, "PYTHONPATH": str(ROOT)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        for worker in started:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for worker in started:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()
        return [json.loads(worker.communicate(timeout=120)[0]) for worker in started]

    yield run
    for worker in started:
        if worker.poll() is None:
            worker.kill()
            worker.communicate()


def test_of_eight_processes_that_take_one_label_one_wins(race: Race, tracker: LocalTracker) -> None:
    outcomes = race('(left := tracker.take(1, "To Do")) and sorted(left)')

    assert outcomes.count(["bug"]) == 1
    assert outcomes.count(None) == WORKERS - 1
    assert sum(not event.added for event in tracker.label_events(1)) == 1


def test_labels_that_several_processes_put_are_all_there(race: Race, tracker: LocalTracker) -> None:
    race('[len(tracker.put(1, f"label-{me}-{n}")) for n in range(5)]')

    assert set(tracker.get(1).labels) == {"To Do", "bug"} | {
        f"label-{me}-{n}" for me in range(WORKERS) for n in range(5)
    }
    assert all(event.ours for event in tracker.label_events(1))


def test_issues_that_several_processes_create_have_numbers_of_their_own(race: Race, tracker: LocalTracker) -> None:
    outcomes = race('[tracker.create(f"by {me}", "", labels=["To Do"]).number for _ in range(5)]')

    numbers = [number for made in outcomes if isinstance(made, list) for number in made]
    assert sorted(numbers) == list(range(2, 2 + 5 * WORKERS))
    assert [task.number for task in tracker.list_all()] == list(range(1, 2 + 5 * WORKERS))


def test_comments_of_several_processes_are_all_there_each_in_its_order(race: Race, tracker: LocalTracker) -> None:
    race('[tracker.comment(1, f"{me} {n} " + "x" * 9000).id for n in range(5)]')

    said = [tuple(map(int, comment.body.split()[:2])) for comment in tracker.comments(1)]
    assert sorted(said) == [(me, n) for me in range(WORKERS) for n in range(5)]
    for me in range(WORKERS):
        assert [n for who, n in said if who == me] == list(range(5))


def test_a_reader_never_sees_half_a_write_or_a_human_who_was_not_there(race: Race, tracker: LocalTracker) -> None:
    outcomes = race(
        "[(tracker.put(1, 'Doing'), tracker.take(1, 'Doing')) and True for _ in range(15)] if me < 2 else "
        "[all(e.ours for e in tracker.label_events(1)) and 'bug' in tracker.get(1).labels for _ in range(60)]"
    )

    assert all(isinstance(seen, list) and all(seen) for seen in outcomes)
