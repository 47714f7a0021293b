"""Two heartbeats at once as real processes, and a heartbeat that is woken."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.real.crash.conftest import GROUP, Yard
from tests.real.crash.judge import violations

RACES = 200 if os.environ.get("DEVCLAW_CI_FULL") == "1" else 5
WAITING = """
[agent]
kind = "scripted"
program = ["sh", "-c", 'echo "shop-dev $DEVCLAW_ISSUE.$DEVCLAW_ATTEMPT" >>"$DEVCLAW_WORKSPACE/witness.log"; \
while [ ! -e "$DEVCLAW_WORKSPACE/go.$DEVCLAW_ISSUE" ]; do sleep 0.05; done']
"""
WORKING = """
[agent]
kind = "scripted"
program = ["env", {path}, {python}, {worker}]

[heartbeat]
every_s = 600

[limits]
sessions = 6
"""


@pytest.fixture
def racing(make_yard: Callable[[], Yard]) -> Yard:
    """A project whose worker begins a task, says so, and ends when it is told."""
    yard = make_yard()
    (yard.workspace / "devclaw.toml").write_text(WAITING)
    yard.add_project(GROUP)
    return yard


def test_two_heartbeats_give_no_task_out_twice(racing: Yard, wait_for: Callable[..., None]) -> None:
    for issue in range(1, RACES + 1):
        racing.call("task_create", title=f"Add page {issue}", label="To Do")

        both = [racing.run("heartbeat", "--once") for _ in range(2)]
        ended = [process.communicate(timeout=60) for process in both]

        codes = sorted(process.returncode for process in both)
        assert codes in ([0, 0], [0, 3]), ended
        wait_for(lambda: racing.witnessed()[issue - 1 :], f"#{issue} was given out")  # noqa: B023 - called at once
        assert Counter(offer for _, offer in racing.witnessed())[f"{issue}.1"] == 1
        assert len(racing.witnessed()) == issue
        assert len(racing.attempts()) == issue
        racing.call("task_update", issueId=issue, state="Done", reason="the race is over")
        (racing.workspace / f"go.{issue}").touch()
        racing.idle()
    assert violations(racing) == []


def test_the_end_of_a_worker_wakes_the_heartbeat(make_yard: Callable[[], Yard], wait_for: Callable[..., None]) -> None:
    yard = make_yard()
    worker = json.dumps(str(Path(__file__).with_name("night_worker.py")))
    path = json.dumps(f"PYTHONPATH={yard.environ['PYTHONPATH']}")
    text = WORKING.format(python=json.dumps(sys.executable), worker=worker, path=path)
    (yard.workspace / "devclaw.toml").write_text(text)
    yard.add_project(GROUP)
    yard.call("task_create", title="Add a page", label="To Do")

    # Ten minutes lie between two ticks: without the worker's bell nothing would be tested.
    beating = yard.run("heartbeat")
    try:
        wait_for(lambda: [task.labels for task in yard.tasks()] == [("Done",)], "QA follows DEV", within_s=60)
    finally:
        beating.send_signal(signal.SIGTERM)
        beating.communicate(timeout=30)
