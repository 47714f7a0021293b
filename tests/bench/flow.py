"""Tasks through the pipeline: real git, real tmux, the scripted agent, the local tracker."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from pathlib import Path

from devclaw_py.kernel import proc
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.rules.slug import slug
from tests.bench.measure import Goal, Row, Scale, ms_of
from tests.bench.office import Office, office

GROUP, NAME = "-1001", "shop"
DEV, QA = "shop-dev-medior", "shop-qa-qa"
AGENT = "10.accept"
SHOWN = 100


class Stopwatch(FailPoints):
    """Notes when each row of an operation is done: the fail points stand there."""

    def __init__(self) -> None:
        super().__init__()
        self.marks: list[tuple[str, float]] = []

    def hit(self, name: str) -> None:
        """Note the time."""
        self.marks.append((name.partition(".")[2], time.perf_counter()))

    def parts(self, started: float, ended: float) -> dict[str, float]:
        """Return the milliseconds that each row took, and what came before the first and after the last."""
        found: dict[str, float] = {}
        before = started
        for name, at in [*self.marks, ("after", ended)]:
            found[name] = found.get(name, 0.0) + (at - before) * 1000
            before = at
        self.marks.clear()
        return found


class Programs:
    """Counts the programs that are started, by name. An audit hook cannot be taken off again, so there is one."""

    def __init__(self) -> None:
        self.started: Counter[str] = Counter()
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[object, ...]) -> None:
        if event == "subprocess.Popen" and isinstance(arguments[0], (str, bytes)):
            self.started[Path(os.fsdecode(arguments[0])).name] += 1

    def take(self) -> Counter[str]:
        """Return the count since the last time."""
        found, self.started = self.started, Counter()
        return found


def rows(scale: Scale) -> list[Row]:
    """Take tasks through the pipeline, one after the other, at the same desks."""
    watch, programs = Stopwatch(), Programs()
    pickup = Row(
        "pickup_warm", "control-plane share of a warm task_pickup: all but the agent's own time", Goal(100),
        compared={name: [] for name in ("the agent's own time", "one `git rev-parse` of the same run",
                  "one `tmux has-session` of the same run", "git programs started (a count)",
                  "tmux programs started (a count)")},
    )  # fmt: skip
    create = Row("task_create", "task_create")
    done = Row("report_done", "task_complete of a dev: done, no remote")
    passed = Row("report_pass", "task_complete of QA: pass, merged into the base branch")
    with office(faults=watch) as found:
        repository = found.register(GROUP, NAME)
        for turn in range(scale.rounds + 1):
            _round(found, repository, turn, (create, pickup, done, passed), watch, programs)
        if scale.rounds:
            for row in (create, pickup, done, passed):  # the first round starts the sessions
                _drop_first(row)
        return [pickup, done, passed, create, _health(found, scale)]


def _round(
    found: Office, repository: Path, turn: int, rows: tuple[Row, Row, Row, Row], watch: Stopwatch, programs: Programs
) -> None:
    create, pickup, done, passed = rows
    title = f"Add footer {turn}"
    create.values.append(ms_of(lambda: found.call("task_create", projectGroupId=GROUP, title=title, label="To Do")))
    _pickup(found, repository, pickup, watch, programs)
    found.wait_idle(DEV)
    found.commit(repository.with_name(f"{NAME}.worktrees") / "dev-medior", slug(title))

    report = {"projectGroupId": GROUP, "summary": "It stands"}
    _timed(done, watch, lambda: found.call("task_complete", role="dev", result="done", **report))
    found.call("task_pickup", projectGroupId=GROUP, role="qa")
    found.wait_idle(QA)
    _timed(passed, watch, lambda: _pass(found, report))


def _pass(found: Office, report: dict[str, str]) -> None:
    answer = found.call("task_complete", role="qa", result="pass", **report)
    if answer.get("pending") or "Done" not in str(answer.get("labelTransition")):
        raise RuntimeError(f"the merge did not go through: {answer}")


def _pickup(found: Office, repository: Path, row: Row, watch: Stopwatch, programs: Programs) -> None:
    programs.take()
    watch.marks.clear()
    started = time.perf_counter()
    found.call("task_pickup", projectGroupId=GROUP, role="dev", model="medior")
    parts = watch.parts(started, time.perf_counter())
    counted = programs.take()
    agent = parts.pop(AGENT)
    row.values.append(sum(parts.values()))
    for name, took in parts.items():
        row.parts.setdefault(name, []).append(took)
    socket = found.app.settings.terminal.socket
    git = ["git", "-C", str(repository), "rev-parse", "HEAD"]
    tmux = ["tmux", "-L", socket, "has-session", "-t", f"={DEV}"]
    beside = (
        agent,
        ms_of(lambda: proc.run(git, timeout_s=10)),
        ms_of(lambda: proc.run(tmux, timeout_s=10)),
        float(counted["git"]),
        float(counted["tmux"]),
    )
    for values, value in zip(row.compared.values(), beside, strict=True):
        values.append(value)


def _timed(row: Row, watch: Stopwatch, action: object) -> None:
    assert callable(action)
    watch.marks.clear()
    started = time.perf_counter()
    action()
    ended = time.perf_counter()
    row.values.append((ended - started) * 1000)
    for name, took in watch.parts(started, ended).items():
        row.parts.setdefault(name, []).append(took)


def _drop_first(row: Row) -> None:
    del row.values[0]
    for values in row.compared.values():
        del values[0]
    for name, values in row.parts.items():
        if len(values) > len(row.values):
            del row.parts[name][0]


def _health(found: Office, scale: Scale) -> Row:
    row = Row("session_health", f"session_health without autoFix over {scale.looked_over} issues")
    tracker = found.app.open_tracker(found.app.store.registry.get(GROUP))
    for number in range(len(tracker.list_all()), scale.looked_over):
        tracker.create(f"Issue {number}", "The body of the issue.\n" * 5, labels=["Planning"])
    for _ in range(max(2, scale.repeats // 3)):
        row.values.append(ms_of(lambda: found.call("session_health", projectGroupId=GROUP)))
    return row
