"""``devclaw audit``: filters, following, and what of a stored text reaches a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from devclaw_py.faces.cli.app import run
from devclaw_py.faces.cli.tail import Tail
from devclaw_py.kernel.clock import SystemClock, VirtualClock
from devclaw_py.model.journal import AuditLine
from devclaw_py.model.project import Project
from devclaw_py.model.settings import AuditSettings, Settings
from devclaw_py.state.files import FilesStore

NOW = datetime.now(UTC)


@pytest.fixture
def tail(tmp_path: Path) -> Iterator[Tail]:
    """The tail of the log."""
    with Tail(tmp_path / "memory" / "audit.log") as tail:
        yield tail


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FilesStore:
    """A store with one project, in the workspace that the environment names."""
    monkeypatch.setenv("DEVCLAW_WORKSPACE", str(tmp_path))
    store = FilesStore(tmp_path, SystemClock(), Settings())
    store.registry.add(Project(group_id="-1001", name="My shop", slug="my-shop", repo="/r"))
    return store


def line(op: str, *, event: str = "task_update", hours: float = 0, **more: object) -> AuditLine:
    known = {name: more.pop(name) for name in ("project", "group_id", "issue") if name in more}
    return AuditLine.model_validate(
        {"ts": NOW - timedelta(hours=hours), "event": event, "op": op, "caller": "human", "facts": more, **known}
    )


def ops(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert run(["audit", "--json", *words]) == 0
    return [json.loads(text)["op"] for text in capsys.readouterr().out.splitlines()]


def test_the_last_fifty_lines_are_shown(store: FilesStore, capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(60):
        store.audit.append(line(f"op{number}"))

    assert ops(capsys) == [f"op{number}" for number in range(10, 60)]
    assert ops(capsys, "-n", "2") == ["op58", "op59"]
    assert len(ops(capsys, "--all")) == 60


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--project", "my-shop"], ["named", "grouped"]),
        (["--project", "-1001"], ["named", "grouped"]),
        (["--project", "gone"], ["removed"]),
        (["--issue", "#7"], ["grouped"]),
        (["--event", "task_pickup"], ["named"]),
        (["--op", "old"], ["old"]),
        (["--since", "2h"], ["named", "grouped", "removed"]),
        (["--until", "1d"], ["old"]),
        (["--since", (NOW - timedelta(days=4)).replace(tzinfo=None).isoformat(), "--until", "2h"], ["old"]),
    ],
)
def test_lines_are_filtered(
    store: FilesStore, capsys: pytest.CaptureFixture[str], words: list[str], expected: list[str]
) -> None:
    store.audit.append(line("old", hours=72))
    store.audit.append(line("named", event="task_pickup", project="My shop"))
    store.audit.append(line("grouped", group_id="-1001", issue=7))
    store.audit.append(line("removed", project="gone"))

    assert ops(capsys, *words) == expected


@pytest.mark.parametrize("words", [["--since", "soon"], ["--issue", "x"]])
def test_what_is_not_understood_is_refused(
    store: FilesStore, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    assert run(["audit", *words]) == 2


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_stored_control_characters_do_not_reach_the_terminal(
    store: FilesStore, capsys: pytest.CaptureFixture[str], form: list[str]
) -> None:
    store.audit.append(line("op", reason="a\x1b[2J\x9b1mb\u202ec [red]d"))

    assert run(["audit", *form]) == 0

    shown = capsys.readouterr().out
    assert not {"\x1b", "\x9b", "\u202e"} & set(shown)
    assert "[red]d" in shown


def test_following_loses_and_doubles_no_line_over_rotations(tmp_path: Path, tail: Tail) -> None:
    small = Settings(audit=AuditSettings(max_bytes=1000))
    store = FilesStore(tmp_path, SystemClock(), small)
    written = [f"op{number}" for number in range(40)]
    for op in written[:10]:
        store.audit.append(line(op))

    seen = [entry["op"] for entry in tail.past()]
    for place, op in enumerate(written[10:], 1):
        store.audit.append(line(op))
        # Several lines between two looks, so that a rotation falls among them.
        seen += [] if place % 5 else [entry["op"] for entry in tail.new()]

    assert seen == written


def test_following_begins_before_there_is_a_log(tmp_path: Path, tail: Tail) -> None:
    store = FilesStore(tmp_path, SystemClock(), Settings())
    assert list(tail.past()) == []

    store.audit.append(line("first"))

    assert [entry["op"] for entry in tail.new()] == ["first"]


def test_following_waits_for_the_end_of_a_line(tmp_path: Path, tail: Tail) -> None:
    path = tmp_path / "memory" / "audit.log"
    path.parent.mkdir()
    path.write_bytes(b'{"op": "whole"}\n{"op": ')
    past = [entry["op"] for entry in tail.past()]

    with path.open("ab") as file:
        file.write(b'"late"}\n')

    assert past + [entry["op"] for entry in tail.new()] == ["whole", "late"]


def test_following_ends_without_a_failure_when_it_is_stopped(
    store: FilesStore, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store.audit.append(line("first"))

    def stop(self: SystemClock, seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SystemClock, "sleep", stop)

    assert run(["audit", "-f", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["op"] == "first"


def test_follow_yields_what_comes_between_two_looks(tmp_path: Path, tail: Tail) -> None:
    store = FilesStore(tmp_path, SystemClock(), Settings())
    store.audit.append(line("old"))
    looks = iter(range(3))
    list(tail.past())

    def keep_on() -> bool:
        store.audit.append(line(f"new{next(looks)}"))
        return True

    followed = tail.follow(VirtualClock(), keep_on)

    assert [next(followed)["op"] for _ in range(3)] == ["new0", "new1", "new2"]
