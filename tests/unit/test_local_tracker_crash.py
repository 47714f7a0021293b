"""The local tracker under ``kill -9`` before every single thing it asks of the operating system."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import devclaw_py
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.kernel.proc import run
from devclaw_py.trackers.local import LocalTracker

ROOT = Path(devclaw_py.__file__).parents[1]

# For each n a child carries out one call on a copy of the folder, and is killed before its n-th request of the system;
# of a write it is killed after the half as well. Ends with the first child that lived.
DRIVER = """
import os, shutil, signal, sys
from pathlib import Path
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.trackers.local import LocalTracker

seed, out, call = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
count = 0

def counted(name, stop):
    real = getattr(os, name)
    def act(*args, **options):
        global count
        count += 1
        if count == stop:
            if name == "write":
                real(args[0], args[1][: len(args[1]) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*args, **options)
    setattr(os, name, act)

for stop in range(1, 200):
    folder = out / str(stop)
    shutil.copytree(seed, folder)
    child = os.fork()
    if child == 0:
        for name in ("open", "write", "replace", "link", "unlink", "fsync", "close", "pread", "fchmod"):
            counted(name, stop)
        tracker = LocalTracker(folder, name="shop", clock=SystemClock(), timeout_s=15)
        eval(call, {"tracker": tracker})
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    if status == 0:
        break
    assert os.WTERMSIG(status) == signal.SIGKILL, status
"""


def killed(tmp_path: Path, call: str) -> Iterator[Path]:
    """Yield the folder of every child: an issue #1 in To Do, ``call`` begun on it, killed somewhere."""
    seed, out = tmp_path / "seed", tmp_path / "out"
    opened(seed).create("An issue", "Do it.", labels=["bug", "To Do"])
    out.mkdir()
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run([sys.executable, "-c", DRIVER, str(seed), str(out), call], timeout_s=120, env=environ)
    assert done.code == 0, done.err
    folders = sorted(out.iterdir(), key=lambda folder: int(folder.name))
    assert len(folders) > 10
    yield from folders


def opened(folder: Path) -> LocalTracker:
    return LocalTracker(folder, name="shop", clock=SystemClock(), timeout_s=15)


def replayed(tracker: LocalTracker, number: int) -> set[str]:
    """Return the labels that the history leads to; each event must be ours and follow from those before it."""
    labels: set[str] = set()
    for event in tracker.label_events(number):
        assert event.ours, event
        assert (event.label in labels) is not event.added, event
        labels ^= {event.label}
    return labels


CALLS = {
    "take": ('tracker.take(1, "To Do")', {"bug"}),
    "put": ('tracker.put(1, "Doing")', {"bug", "To Do", "Doing"}),
}


@pytest.mark.parametrize(("call", "after"), CALLS.values(), ids=CALLS.keys())
def test_a_killed_move_happened_or_did_not_and_its_history_says_which(
    tmp_path: Path, call: str, after: set[str]
) -> None:
    outcomes = []
    for folder in killed(tmp_path, call):
        tracker = opened(folder)
        outcomes.append(set(tracker.get(1).labels))
        assert replayed(tracker, 1) == outcomes[-1], folder

        tracker.put(1, "later")

        assert replayed(tracker, 1) == {*outcomes[-1], "later"} == set(tracker.get(1).labels), folder

    # Not begun at first, done at last, and no third thing in between.
    turn = outcomes.index(after)
    assert outcomes == [{"bug", "To Do"}] * turn + [after] * (len(outcomes) - turn)
    assert 0 < turn < len(outcomes) - 1


def test_a_save_after_a_killed_move_is_not_taken_for_the_move(tmp_path: Path) -> None:
    for folder in killed(tmp_path, 'tracker.take(1, "To Do")'):
        path, tracker = folder / "1.md", opened(folder)
        path.write_text(path.read_text().replace("An issue", "Renamed"))

        tracker.comment(1, "seen")

        assert tracker.get(1).title == "Renamed"
        assert replayed(tracker, 1) == set(tracker.get(1).labels), folder


def test_a_killed_create_made_one_issue_or_none_and_its_number_is_used_up(tmp_path: Path) -> None:
    counts = []
    for folder in killed(tmp_path, 'tracker.create("Another", "Body", labels=["To Do", "big"])'):
        tracker = opened(folder)
        made = [task for task in tracker.list_all() if task.number != 1]
        counts.append(len(made))
        assert all((task.number, task.body) == (2, "Body") for task in made)

        number = tracker.create("A third", "", labels=["Doing"]).number

        assert number not in {1, *(task.number for task in made)}
        assert replayed(tracker, number) == {"Doing"}
        assert not made or replayed(tracker, 2) == {"To Do", "big"}, folder
        assert not list(folder.glob(".*.tmp")), folder

    assert (counts[0], counts[-1], set(counts)) == (0, 1, {0, 1})


def test_a_killed_comment_is_whole_or_not_there(tmp_path: Path) -> None:
    said = set()
    for folder in killed(tmp_path, 'tracker.comment(1, "first " * 100)'):
        tracker = opened(folder)
        bodies = [comment.body for comment in tracker.comments(1)]
        said.add(tuple(bodies))
        tracker.comment(1, "second")

        assert [comment.body for comment in tracker.comments(1)] == [*bodies, "second"], folder

    assert said == {(), ("first " * 100,)}


def test_a_killed_close_is_closed_or_open(tmp_path: Path) -> None:
    outcomes = []
    for folder in killed(tmp_path, "tracker.close(1)"):
        tracker = opened(folder)
        outcomes.append(tracker.get(1).closed)
        tracker.close(1)

        assert tracker.get(1).closed
        assert replayed(tracker, 1) == {"bug", "To Do"}, folder

    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {False, True}


def test_a_copied_folder_is_a_tracker_of_its_own(tmp_path: Path) -> None:
    opened(tmp_path / "one").create("An issue", "", labels=["To Do"])
    shutil.copytree(tmp_path / "one", tmp_path / "two")

    opened(tmp_path / "two").take(1, "To Do")

    assert opened(tmp_path / "one").get(1).labels == ("To Do",)
