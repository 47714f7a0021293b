"""The files between real processes, and under kill -9, full disks and forks."""

from __future__ import annotations

import json
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.errors import ConfigError, ProjectBusy, StateCorrupt
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.journal import AuditLine, Intent
from devclaw_py.model.project import Project
from devclaw_py.model.settings import AuditSettings, Settings
from devclaw_py.state.database import SCHEMA
from devclaw_py.state.files import FilesStore

DEADLINE_S = 60
GROUP = "-100"
SMALL = Settings(audit=AuditSettings(max_bytes=2000))

PRELUDE = """
import json, os, sys, time
from pathlib import Path
from devclaw_py.errors import *
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.journal import *
from devclaw_py.model.settings import *
from devclaw_py.state.files import FilesStore
from devclaw_py.state.flush import flush_lines
workspace, me = Path(sys.argv[1]), sys.argv[2]
store = FilesStore(workspace, SystemClock(), Settings(audit=AuditSettings(max_bytes=2000)))
now = SystemClock().now
def line(op): return AuditLine(ts=now(), event="e", op=op, caller="human", facts={"filler": "x" * 50})
print("ready", flush=True)
sys.stdin.readline()
"""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FilesStore]:
    opened = FilesStore(tmp_path, SystemClock(), SMALL)
    yield opened
    opened.disconnect()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a process that runs a script over the workspace's store; it waits for a line before its first act."""
    running: list[subprocess.Popen[str]] = []

    def begin(script: str, me: str = "0") -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", PRELUDE + textwrap.dedent(script), str(tmp_path), me],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        running.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        return process

    yield begin
    for process in running:
        process.kill()
        process.communicate()


def go(*processes: subprocess.Popen[str]) -> list[str]:
    """Let the processes begin together and return what each printed."""
    for process in processes:
        release(process)
    return [process.communicate(timeout=DEADLINE_S)[0] for process in processes]


def release(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("\n")
    process.stdin.flush()


def says(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def the_rest(process: subprocess.Popen[str]) -> int:
    """Return how many lines a killed process printed that nobody has read; communicate() would lose buffered ones."""
    assert process.stdout is not None
    return len(process.stdout.read().splitlines())


def add(store: FilesStore, group: str = GROUP, **more: Any) -> None:
    store.registry.add(Project(group_id=group, name=f"web{group}", repo="~/git/web", **more))


COUNT = """
def count(found):
    return found.model_copy(update={"models": {**found.models, me: str(int(found.models.get(me, 0)) + 1)}})
for _ in range(25):
    store.registry.change("-100", count)
"""


class TestRegistry:
    def test_writers_lose_no_update_and_every_read_parses(self, store: FilesStore, start: Start) -> None:
        add(store)
        writers = [start(COUNT, me) for me in "abcd"]
        for writer in writers:
            release(writer)
        while any(writer.poll() is None for writer in writers):
            store.registry.all()
        assert store.registry.get(GROUP).models == dict.fromkeys("abcd", "25")

    def test_writers_of_a_new_registry_all_get_in(self, store: FilesStore, start: Start) -> None:
        script = """
        from devclaw_py.model.project import Project
        store.registry.add(Project(group_id=me, name="web", repo="~/git/web"))
        """
        go(*[start(script, f"-{number}") for number in range(4)])
        found = store.registry.all()
        assert set(found) == {"-0", "-1", "-2", "-3"}
        assert len({project.slug for project in found.values()}) == 4

    @pytest.mark.parametrize("delay_ms", [0, 7, 13, 29, 61])
    def test_a_kill_leaves_a_file_that_parses_and_the_next_write_cleans_up(
        self, store: FilesStore, start: Start, tmp_path: Path, delay_ms: int
    ) -> None:
        for number in range(50):
            add(store, f"-{number}")
        add(store)
        writer = start(COUNT.replace("range(25)", "range(10**6)"))
        release(writer)
        _until(lambda: "0" in store.registry.get(GROUP).models)
        time.sleep(delay_ms / 1000)  # not a wait: it spreads the kills over a write
        writer.kill()
        writer.communicate()

        assert len(store.registry.all()) == 51
        store.registry.change(GROUP, lambda found: found)
        assert [path.name for path in (tmp_path / "memory").glob(".*")] == []


class TestAudit:
    def test_appenders_lose_and_double_no_line_while_the_log_rotates(
        self, store: FilesStore, start: Start, tmp_path: Path
    ) -> None:
        script = "for n in range(60): store.audit.append(line(f'{me}{n}'))"
        writers = [start(script, me) for me in "abc"]
        for writer in writers:
            release(writer)
        seen = 0
        while any(writer.poll() is None for writer in writers):
            ops = [entry["op"] for entry in store.audit.read()]
            assert len(ops) == len(set(ops)) >= seen
            seen = len(ops)

        counted = Counter(entry["op"] for entry in store.audit.read())
        assert counted == Counter(f"{me}{number}" for me in "abc" for number in range(60))
        assert (tmp_path / "memory/audit.log.3.gz").exists()

    def test_one_of_many_writes_a_line_that_is_to_stand_once(self, store: FilesStore, start: Start) -> None:
        script = "for n in range(20): store.audit.append_once(line(f'{n}'))"
        go(*[start(script) for _ in range(3)])
        assert Counter(entry["op"] for entry in store.audit.read()) == Counter(str(number) for number in range(20))

    @pytest.mark.parametrize("delay_ms", [0, 3, 8, 15, 30])
    def test_a_kill_at_any_time_costs_no_line_that_was_acknowledged(
        self, store: FilesStore, start: Start, delay_ms: int
    ) -> None:
        writer = start("for n in range(10**6): store.audit.append(line(f'{n}')); print(n, flush=True)")
        release(writer)
        for _ in range(25):
            says(writer)
        time.sleep(delay_ms / 1000)  # not a wait: it spreads the kills
        writer.kill()
        acknowledged = 25 + the_rest(writer)
        store.audit.append(AuditLine(ts=SystemClock().now(), event="e", op="last", caller="human"))

        ops = [entry["op"] for entry in store.audit.read()]
        assert ops in (
            [*map(str, range(acknowledged)), "last"],
            [*map(str, range(acknowledged + 1)), "last"],
        )


class TestJournal:
    def test_exactly_one_of_many_gets_an_issue(self, store: FilesStore, start: Start) -> None:
        script = """
        try:
            store.journal.begin(Intent(op=me, kind="pickup", tool="t", group_id="-100", issue=42, at=now()))
            print("won")
        except IssueClaimed as error:
            print(error.code)
        """
        said = go(*[start(script, str(number)) for number in range(4)])
        assert sorted(said) == ["issue_claimed\n"] * 3 + ["won\n"]
        assert len(store.journal.intents()) == 1

    def test_what_was_begun_before_a_kill_is_there_after_it(self, store: FilesStore, start: Start) -> None:
        writer = start("""
        for n in range(10**6):
            store.journal.begin(Intent(op=str(n), kind="create", tool="t", group_id="-100", at=now()))
            print(n, flush=True)
        """)
        release(writer)
        for _ in range(20):
            says(writer)
        writer.kill()
        acknowledged = 20 + the_rest(writer)
        assert len(store.journal.intents()) in (acknowledged, acknowledged + 1)

    def test_a_forked_child_uses_a_connection_of_its_own(self, store: FilesStore, start: Start) -> None:
        (said,) = go(
            start("""
            def begin(op): store.journal.begin(Intent(op=op, kind="create", tool="t", group_id="-100", at=now()))
            begin("before")
            child = os.fork()
            if child == 0:
                begin("child")
                os._exit(0)
            begin("parent")
            print(os.waitpid(child, 0)[1])
            """)
        )
        assert said == "0\n"
        assert {found.op for found in store.journal.intents()} == {"before", "child", "parent"}

    @pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
    def test_a_damaged_journal_is_said_and_left_as_it_is(
        self, store: FilesStore, tmp_path: Path, content: bytes
    ) -> None:
        path = tmp_path / "memory/journal.db"
        path.parent.mkdir()
        path.write_bytes(content)
        with pytest.raises(StateCorrupt, match=r"journal\.db cannot be read"):
            store.journal.intents()
        with pytest.raises(StateCorrupt):
            store.journal.begin(Intent(op="o", kind="k", tool="t", group_id="g", at=SystemClock().now()))
        assert path.read_bytes() == content

    def test_the_journal_of_a_newer_devclaw_is_refused(self, store: FilesStore, tmp_path: Path) -> None:
        (tmp_path / "memory").mkdir()
        connection = sqlite3.connect(tmp_path / "memory/journal.db")
        connection.execute("PRAGMA user_version = 99")
        connection.close()
        with pytest.raises(StateCorrupt, match="version 99"):
            store.journal.intents()

    def test_the_journal_of_an_older_devclaw_is_taken_over_with_what_it_holds(
        self, store: FilesStore, tmp_path: Path
    ) -> None:
        (tmp_path / "memory").mkdir()
        connection = sqlite3.connect(tmp_path / "memory/journal.db")
        connection.executescript(SCHEMA)
        held = Intent(op="o", kind="k", tool="t", group_id=GROUP, issue=1, at=SystemClock().now())
        connection.execute(
            "INSERT INTO intent (op, kind, group_id, issue, body) VALUES ('o', 'k', ?, 1, ?)",
            (GROUP, held.model_dump_json()),
        )
        connection.execute("PRAGMA user_version = 1")
        connection.commit()
        connection.close()
        now = SystemClock().now()

        assert store.journal.spending(since=now, until=now).attempts == 0
        assert store.journal.intents() == [held]

    def test_asking_an_absent_journal_makes_no_file(self, store: FilesStore, tmp_path: Path) -> None:
        assert (store.journal.intents(), store.journal.next_attempt(GROUP, 1)) == ([], 1)
        assert store.registry.all() == {}
        assert list(store.audit.read()) == []
        assert list(tmp_path.iterdir()) == []

    def test_a_flush_killed_anywhere_writes_each_queued_line_once(self, store: FilesStore, start: Start) -> None:
        script = """
        import signal
        at, steps = int(me), 0
        def step(*_):
            global steps
            steps += 1
            if steps == at: os.kill(os.getpid(), signal.SIGKILL)
        append_once, drop_lines = store.audit.append_once, store.journal.drop_lines
        store.audit.append_once = lambda found: (step(), append_once(found), step())
        store.journal.drop_lines = lambda lines: (drop_lines(lines), step())
        intent = Intent(op=f"q{at}", kind="create", tool="t", group_id="-100", at=now())
        store.journal.begin(intent)
        store.journal.close(intent.op, Closing(lines=tuple(line(f"{at}-{n}") for n in range(3))))
        flush_lines(store)
        """
        for at in range(1, 9):
            go(start(script, str(at)))
        go(start("flush_lines(store)"))
        assert store.journal.queued_lines() == []
        expected = Counter(f"{at}-{number}" for at in range(1, 9) for number in range(3))
        assert Counter(entry["op"] for entry in store.audit.read()) == expected


class TestLocks:
    HOLD = """
    with store.hold("project:-100", wait_s=5, holder="test"):
        print("held", flush=True)
        {}
    """

    def test_a_lock_is_free_when_its_holder_was_killed(self, store: FilesStore, start: Start) -> None:
        holder = start(self.HOLD.format("time.sleep(600)"))
        release(holder)
        assert says(holder) == "held"
        with pytest.raises(ProjectBusy, match=rf"project:-100 is held by test \(pid {holder.pid}"):
            self.take(store, 0)
        holder.kill()
        self.take(store, DEADLINE_S)

    def test_a_lock_is_held_while_a_child_with_effects_lives(
        self, store: FilesStore, start: Start, tmp_path: Path
    ) -> None:
        holder = start("""
        from devclaw_py.kernel.proc import run
        child = "import os, time; open('note', 'w').write(f'{os.getpid()}.'); time.sleep(600)"
        with store.hold("project:-100", wait_s=5, holder="test"):
            run([sys.executable, "-c", child], cwd=workspace, timeout_s=600, with_locks=True)
        """)
        release(holder)
        note = tmp_path / "note"
        _until(lambda: note.exists() and note.read_text().endswith("."))
        holder.kill()
        holder.wait()
        try:
            with pytest.raises(ProjectBusy):
                self.take(store, 0.2)
        finally:
            os.kill(int(note.read_text().rstrip(".")), signal.SIGKILL)
        self.take(store, DEADLINE_S)

    def test_a_child_without_effects_does_not_keep_a_lock(self, store: FilesStore, start: Start) -> None:
        script = "import devclaw_py.kernel.proc as p; p.run(['true'], timeout_s=60); print('ran', flush=True)"
        go(start(self.HOLD.format(script)))
        self.take(store, 0)

    @staticmethod
    def take(store: FilesStore, wait_s: float) -> None:
        with store.hold("project:-100", wait_s=wait_s, holder="me"):
            pass


FULL = """
import resource
add = int(me)
size = max((path.stat().st_size for path in (workspace / "memory").iterdir() if path.is_file()), default=0)
resource.setrlimit(resource.RLIMIT_FSIZE, (size + add, size + add))
try:
    {}
except ConfigError as error:
    print(error)
print("rest", sorted(path.name for path in (workspace / "memory").iterdir() if path.suffix == ".tmp"))
"""


class TestFullDisk:
    def test_the_registry_stays_whole_and_no_draft_is_left(
        self, store: FilesStore, start: Start, tmp_path: Path
    ) -> None:
        add(store)
        before = (tmp_path / "memory/projects.json").read_bytes()
        act = 'store.registry.change("-100", lambda f: f.model_copy(update={"group_name": "x" * 9000}))'
        (said,) = go(start(FULL.format(act), "1000"))
        assert "projects.json could not be written: File too large" in said
        assert "rest []" in said
        assert (tmp_path / "memory/projects.json").read_bytes() == before

    def test_the_audit_log_holds_no_half_line(self, store: FilesStore, start: Start, tmp_path: Path) -> None:
        store.audit.append(AuditLine(ts=SystemClock().now(), event="e", op="1", caller="human"))
        before = (tmp_path / "memory/audit.log").read_bytes()
        (said,) = go(start(FULL.format('store.audit.append(line("2"))'), "40"))
        assert "audit.log could not be written" in said
        assert (tmp_path / "memory/audit.log").read_bytes() == before

    def test_the_journal_refuses_and_keeps_what_it_has(self, store: FilesStore, start: Start) -> None:
        store.journal.begin(Intent(op="1", kind="create", tool="t", group_id="-100", at=SystemClock().now()))
        store.disconnect()
        act = (
            'store.journal.begin(Intent(op="2", kind="create", tool="t", group_id="-100", at=now(),'
            ' payload={"x": "y" * 200000}))'
        )
        (said,) = go(start(FULL.format(act), "1000"))
        assert "journal.db could not be written" in said
        assert [found.op for found in store.journal.intents()] == ["1"]

    def test_a_real_full_file_system_is_said(self, tmp_path: Path) -> None:
        mount = tmp_path / "small"
        mount.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(mount)], capture_output=True)
        if mounted.returncode != 0:
            pytest.skip("this user may not mount a small file system; the limits on file sizes stand in for it")
        try:
            small = FilesStore(mount, SystemClock(), SMALL)
            add(small)
            before = (mount / "memory/projects.json").read_bytes()
            with pytest.raises(ConfigError, match="No space left on device; free some space"):
                small.registry.change(GROUP, lambda found: found.model_copy(update={"group_name": "x" * 90_000}))
            assert (mount / "memory/projects.json").read_bytes() == before
            assert json.loads(before)["projects"].keys() == {GROUP}
            assert sorted(path.name for path in (mount / "memory").iterdir()) == ["locks", "projects.json"]
        finally:
            subprocess.run(["umount", str(mount)], check=True)


def test_file_size_limits_do_not_kill_this_interpreter() -> None:
    assert signal.getsignal(signal.SIGXFSZ) is signal.SIG_IGN
    assert resource.getrlimit(resource.RLIMIT_FSIZE)


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "the condition did not come true in time"
        time.sleep(0.005)
