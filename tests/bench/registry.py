"""The registry and the heartbeat over many projects."""

from __future__ import annotations

import json
import tempfile
import time
from pathlib import Path

from devclaw_py.app import App, open_app
from devclaw_py.kernel.files import write
from devclaw_py.model.project import Project
from devclaw_py.model.settings import Settings
from devclaw_py.night.heartbeat import tick
from tests.bench.measure import Goal, Row, Scale, ms_of
from tests.bench.office import bytecode, python

# A new process that has everything imported and nothing read.
COLD = """
import sys, time
from pathlib import Path
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.kernel.files import write
from devclaw_py.model.settings import Settings
from devclaw_py.state.files import FilesStore
store = FilesStore(Path(sys.argv[1]), SystemClock(), Settings())
started = time.perf_counter()
store.registry.change(sys.argv[2], lambda project: project.model_copy(update={"group_name": str(started)}))
changed = time.perf_counter()
content = (Path(sys.argv[1]) / "memory" / "projects.json").read_bytes()
read = time.perf_counter()
write(Path(sys.argv[1]) / "copy.json", content)
print((changed - started) * 1000, (time.perf_counter() - read) * 1000)
"""
RAW = "the same bytes written, synced and renamed"


def rows(scale: Scale) -> list[Row]:
    """Measure on a registry with many projects."""
    with tempfile.TemporaryDirectory(prefix="devclaw-bench-") as name:
        folder = Path(name).resolve()
        many_projects(folder, scale.projects)
        return [_warm(folder, scale), _cold(folder, scale), _tick(folder, scale)]


def many_projects(folder: Path, count: int) -> None:
    """Write a registry of idle projects, and the folders of their issues."""
    entries = {
        str(-1000 - number): Project(
            group_id=str(-1000 - number),
            name=f"shop-{number}",
            slug=f"shop-{number}",
            repo=str(folder / f"shop-{number}"),
            group_name=f"Shop number {number}",
        ).on_disk()
        for number in range(count)
    }
    for number in range(count):
        (folder / "memory" / "issues" / f"shop-{number}").mkdir(parents=True)
    (folder / "memory" / "projects.json").write_text(json.dumps({"projects": entries}, indent=2) + "\n")


def _open(folder: Path) -> App:
    return open_app(folder, Settings(), environ={})


def _warm(folder: Path, scale: Scale) -> Row:
    row = Row(
        "registry_write_warm",
        f"one registry write, {scale.projects} projects, in a process that wrote before",
        Goal(10),
    )
    registry = _open(folder).store.registry
    raw = row.compared.setdefault(RAW, [])
    for turn in range(scale.repeats + 1):
        group = str(-1000 - turn % scale.projects)
        update = {"group_name": f"turn {turn} {time.time()}"}
        took = ms_of(lambda: registry.change(group, lambda project: project.model_copy(update=update)))  # noqa: B023 - called at once
        content = (folder / "memory" / "projects.json").read_bytes()
        beside = ms_of(lambda: write(folder / "copy.json", content))  # noqa: B023 - called at once
        if turn:  # the first one reads the file, as in a new process
            row.values.append(took)
            raw.append(beside)
    return row


def _cold(folder: Path, scale: Scale) -> Row:
    row = Row("registry_write_cold", f"the same, {scale.projects} projects, as a new process's first deed", Goal(10))
    raw = row.compared.setdefault(RAW, [])
    with bytecode() as env:
        for turn in range(scale.processes + 1):
            answer = python("-c", COLD, str(folder), str(-1000 - turn % scale.projects), env=env, cwd=folder)
            changed, beside = map(float, answer.split())
            if turn:  # the first one compiles
                row.values.append(changed)
                raw.append(beside)
    return row


def _tick(folder: Path, scale: Scale) -> Row:
    row = Row("heartbeat_tick", f"a heartbeat tick over {scale.projects} idle projects, in a new `App`", Goal(1000))
    _open(folder).store.journal.keep_answer(str(-1000), "any", {})  # makes the journal
    for _ in range(max(2, scale.repeats // 3)):
        app = _open(folder)
        row.values.append(ms_of(lambda: tick(app)))  # noqa: B023 - called at once
    return row
