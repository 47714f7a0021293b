"""The local tracker with many issues."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

from devclaw_py import catalogue
from devclaw_py.app import open_app
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.pipeline import State
from devclaw_py.model.settings import Settings
from devclaw_py.model.task import Task
from devclaw_py.trackers.local_format import render
from tests.bench.measure import Goal, Row, Scale, ms_of
from tests.bench.registry import many_projects

STATES = (State.TO_DO, State.TO_TEST, State.TO_IMPROVE, State.DONE, State.PLANNING)


def rows(scale: Scale) -> list[Row]:
    """Ask for the queues of one project."""
    row = Row(
        "queue_status_many_issues",
        f"queue_status over {scale.issues} issues of the local tracker, inside a process that has read none",
        Goal(250),
    )
    with tempfile.TemporaryDirectory(prefix="devclaw-bench-") as name:
        folder = Path(name).resolve()
        many_projects(folder, 1)
        issues = folder / "memory" / "issues" / "shop-0"
        for number in range(1, scale.issues + 1):
            (issues / f"{number}.md").write_bytes(render(_issue(number)))
        reading = row.compared.setdefault("the same files read, nothing parsed", [])
        for _ in range(max(2, scale.repeats // 3)):
            app = open_app(folder, Settings(), environ={})
            took = ms_of(lambda: catalogue.call(app, "queue_status", {}, HUMAN))  # noqa: B023 - called at once
            row.values.append(took)
            reading.append(ms_of(lambda: [path.read_bytes() for path in issues.iterdir()]))
    return [row]


def _issue(number: int) -> Task:
    state, now = STATES[number % len(STATES)], datetime.now(UTC)
    return Task(
        number=number,
        title=f"Issue {number}",
        url="",
        body="The body of the issue.\n" * 20,
        labels=(state.value,),
        closed=state is State.DONE,
        assignees=(),
        created=now,
        updated=now,
    )
