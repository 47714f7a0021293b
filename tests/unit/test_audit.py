"""audit.log's files: torn lines, rotation, and a kill between any two steps of it."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.model.journal import AuditLine
from devclaw_py.model.settings import AuditSettings, Settings
from devclaw_py.state.audit import FileAudit
from devclaw_py.state.files import FilesStore

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def line(op: str) -> AuditLine:
    return AuditLine(ts=NOW, event="e", op=op, caller="human", facts={"filler": "x" * 50})


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "memory/audit.log"


@pytest.fixture
def audit(tmp_path: Path) -> FileAudit:
    """A log that is rotated after every second line."""
    return FilesStore(tmp_path, VirtualClock(NOW), Settings(audit=AuditSettings(max_bytes=200))).audit


def ops(audit: FileAudit) -> list[object]:
    return [entry["op"] for entry in audit.read()]


def test_the_newest_rotated_file_is_number_one_and_nothing_is_dropped(audit: FileAudit, log: Path) -> None:
    for number in range(7):
        audit.append(line(str(number)))
    assert ops(audit) == [str(number) for number in range(7)]
    assert b'"op":"5"' in gzip.decompress(log.with_name("audit.log.1.gz").read_bytes())
    assert sorted(path.name for path in log.parent.glob("audit*")) == [
        "audit.log",
        "audit.log.1.gz",
        "audit.log.2.gz",
        "audit.log.3.gz",
    ]


def test_a_line_in_a_rotated_file_is_not_written_again(audit: FileAudit) -> None:
    for number in range(7):
        audit.append_once(line(str(number)))
    assert [audit.append_once(line(str(number))) for number in range(7)] == [False] * 7


def test_unreadable_lines_are_passed_over(audit: FileAudit, log: Path) -> None:
    log.parent.mkdir()
    log.write_bytes(b'{"op":"1"}\nnot json\n[1]\n\xff\n{"op":"2"}\n{"op":')
    assert ops(audit) == ["1", "2"]
    audit.append(line("3"))
    assert ops(audit) == ["1", "2", "3"]


def test_a_line_that_lacks_only_its_end_is_found(audit: FileAudit, log: Path) -> None:
    audit.append(line("1"))
    log.write_bytes(log.read_bytes().rstrip(b"\n"))
    assert not audit.append_once(line("1"))


class Killed(BaseException):
    pass


STEPS = ("rename", "unlink", "fsync")


@pytest.mark.parametrize("at", range(1, 12))
def test_a_rotation_that_is_killed_before_any_of_its_steps_loses_and_doubles_nothing(
    audit: FileAudit, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    for number in range(5):
        audit.append(line(str(number)))
    steps = 0

    def counted(act: Callable[..., object]) -> Callable[..., object]:
        def step(*args: object, **more: object) -> object:
            nonlocal steps
            steps += 1
            if steps == at:
                raise Killed
            return act(*args, **more)

        return step

    with monkeypatch.context() as patched:
        for name in STEPS:
            patched.setattr(os, name, counted(getattr(os, name)))
        try:
            audit.append(line("5"))
        except Killed:
            pass
        else:
            assert at > 8, "the kill came too late to test anything"

    assert ops(audit) == ["0", "1", "2", "3", "4", "5"]
    assert not audit.append_once(line("5"))
    audit.append(line("6"))
    audit.append(line("7"))
    assert ops(audit) == [str(number) for number in range(8)]
