"""A disk that is full and one that is read-only, under a whole workspace's memory: real file systems, git and tmux."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.real.crash.conftest import Yard
from tests.real.crash.judge import violations

PAGE = 4096
# The journal's own files take the first pages; then a little more each time, until the call has all it needs.
PAGES = (0, 8, *range(18, 64, 2))
REFUSALS = {("config_error", 4), ("session_failed", 3), ("delivery_unconfirmed", 3)}


@dataclass
class Disk:
    """A file system of its own under the yard's memory folder; the workers' own log lies elsewhere."""

    yard: Yard

    @property
    def folder(self) -> Path:
        return self.yard.workspace / "memory"

    @contextmanager
    def left(self, pages: int) -> Iterator[None]:
        """Let so many pages be free, and make space again afterwards."""
        ballast = self.folder / "ballast"
        ballast.touch()
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, (os.statvfs(self.folder).f_bavail - pages) * PAGE)
        assert os.statvfs(self.folder).f_bavail == pages
        yield
        ballast.unlink()

    def remount(self, mode: str) -> None:
        subprocess.run(["mount", "-o", f"remount,{mode}", str(self.folder)], check=True)


@pytest.fixture
def disk(make_yard: Callable[[], Yard]) -> Iterator[Disk]:
    disk = Disk(make_yard())
    disk.folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "tmpfs", str(disk.folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
        pytest.skip("cannot be had: this user may not mount a small file system")
    try:
        # In processes of their own: an open journal of this one would keep the disk from being remounted.
        told(disk.yard, "project_register", name="shop", repo=str(disk.yard.repo), baseBranch="main")
        told(disk.yard, "task_create", title="Add a footer", label="To Do")
        yield disk
    finally:
        disk.yard.kill_server()
        subprocess.run(["umount", "--lazy", str(disk.folder)], check=True)


def told(yard: Yard, tool: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool in a process of its own, which prints one answer, no trace, and exits by its error's code."""
    process = yard.start(tool, **arguments)
    out, err = process.communicate(timeout=60)
    answer: dict[str, Any] = json.loads(out)
    assert "Traceback" not in err, err
    if not answer["success"]:
        assert (answer["error"]["code"], process.returncode) in REFUSALS, answer
    return answer


def whole(answer: dict[str, Any]) -> bool:
    return answer["success"] and not answer.get("pending") and "warning" not in answer


def settled(yard: Yard) -> bool:
    """Settle what is open; say whether dev holds the issue then."""
    yard.recover()
    yard.idle()
    assert violations(yard) == []
    assert yard.intents() == []
    assert yard.rows("line") == []
    return yard.seats()["dev"]


def test_a_pickup_is_whole_or_undone_whichever_page_is_the_last_of_the_disk(disk: Disk) -> None:
    yard, ends = disk.yard, []
    yard.call("task_pickup", issueId=1, role="dev")
    yard.idle()

    for pages in PAGES:
        yard.call("task_update", issueId=1, state="To Do")
        with disk.left(pages):
            answer = told(yard, "task_pickup", issueId=1, role="dev")
        held = settled(yard)
        assert held or not whole(answer)
        if not held:
            yard.call("task_pickup", issueId=1, role="dev")
            yard.idle()
        ends.append(answer)
        if whole(answer):
            break

    assert not whole(ends[0])
    assert whole(ends[-1])


def test_a_report_is_kept_or_can_be_made_again_whichever_page_is_the_last_of_the_disk(disk: Disk) -> None:
    yard, ends = disk.yard, []

    for pages in PAGES:
        yard.call("task_pickup", issueId=1, role="dev")
        yard.idle()
        with disk.left(pages):
            answer = told(yard, "task_complete", role="dev", result="done", summary="made", issueId=1)
        settled(yard)
        again = yard.call("task_complete", role="dev", result="done", summary="made", issueId=1)
        assert again["labelTransition"] == "Doing → To Test"
        assert again.get("repeated", False) == answer["success"]
        assert settled(yard) is False
        yard.call("task_update", issueId=1, state="To Do")
        ends.append(answer)
        if whole(answer):
            break

    assert not whole(ends[0])
    assert whole(ends[-1])


def test_a_read_only_workspace_is_named_and_works_again_when_it_is_writable(disk: Disk) -> None:
    yard = disk.yard
    before = sorted((path, path.stat().st_mtime_ns) for path in disk.folder.rglob("*"))
    disk.remount("ro")

    answers = [
        told(yard, "task_pickup", issueId=1, role="dev"),
        told(yard, "task_create", title="Add a header"),
        told(yard, "task_update", issueId=1, state="Planning"),
        told(yard, "task_comment", issueId=1, body="hi"),
        told(yard, "queue_status"),
    ]

    for answer in answers:
        assert str(disk.folder) in answer["error"]["message"]
        assert "writable" in answer["error"]["message"]
    assert sorted((path, path.stat().st_mtime_ns) for path in disk.folder.rglob("*")) == before
    disk.remount("rw")
    yard.call("task_pickup", issueId=1, role="dev")
    assert settled(yard)
