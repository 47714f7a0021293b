"""Most workers gone at once: the terminal is asked twice whether that is so."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from devclaw_py.kernel.config import socket_name
from devclaw_py.night.heartbeat import tick
from tests.real.crash.conftest import Yard

SETTINGS = """
[agent]
kind = "scripted"
program = ["sh", "-c", 'echo "shop-dev $DEVCLAW_ISSUE.$DEVCLAW_ATTEMPT" >>"$DEVCLAW_WORKSPACE/witness.log"; {work}']

[limits]
sessions = 6
"""
LASTING = "exec sleep 300"
# A server for the project under work: it leaves the terminal and lives on when that has gone.
STRAGGLING = "setsid -f sleep 300; exec sleep 300"


@pytest.fixture
def busy(make_yard: Callable[[], Yard]) -> Callable[[str], Yard]:
    """Make a yard with five workers that have a task each and are at work."""

    def make(work: str) -> Yard:
        yard = make_yard()
        (yard.workspace / "devclaw.toml").write_text(SETTINGS.format(work=work))
        yard.add_project("-1001")
        yard.call("project_update", workers={"dev": 5})
        for number in range(1, 6):
            yard.call("task_create", title=f"Add page {number}", label="To Do")
            yard.call("task_pickup", issueId=number, role="dev", model="medior")
        return yard

    return make


def socket_of(yard: Yard) -> Path:
    return Path(os.environ.get("TMUX_TMPDIR", "/tmp")) / f"tmux-{os.getuid()}" / socket_name(yard.workspace)


def server_of(yard: Yard) -> int:
    argv = ["tmux", "-L", socket_name(yard.workspace), "display-message", "-p", "#{pid}"]
    return int(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


def found(yard: Yard) -> list[dict[str, str]]:
    issues: list[dict[str, str]] = yard.call("session_health", autoFix=True)["issues"]
    return issues


def test_five_workers_behind_a_lost_socket_are_left_alone_and_seen_again_later(
    busy: Callable[[str], Yard], wait_for: Callable[..., None]
) -> None:
    yard = busy(LASTING)
    wait_for(lambda: len(yard.witnessed()) == 5, "five programs run")
    server, socket = server_of(yard), socket_of(yard)
    before = json.loads((yard.workspace / "memory" / "projects.json").read_text())
    try:
        socket.unlink()

        visits = tick(yard.app()).visits
        (told,) = found(yard)

        assert [visit.mended for visit in visits] == [[]]
        assert told["type"] == "terminal_unknown"
        assert f"kill -USR1 {server}" in told["message"]
        assert json.loads((yard.workspace / "memory" / "projects.json").read_text()) == before
        assert len(yard.witnessed()) == 5

        os.kill(server, signal.SIGUSR1)
        wait_for(socket.exists, "tmux makes its socket again")
        assert found(yard) == []
    finally:
        os.kill(server, signal.SIGTERM)


def test_five_workers_that_have_ended_are_mended_although_a_program_of_theirs_lives_on(
    busy: Callable[[str], Yard], wait_for: Callable[..., None]
) -> None:
    yard = busy(STRAGGLING)
    wait_for(lambda: len(yard.witnessed()) == 5, "five programs run")

    os.kill(server_of(yard), signal.SIGKILL)
    socket_of(yard).unlink()

    assert {issue["type"] for issue in found(yard)} == {"session_dead"}
    assert [task.labels for task in yard.tasks()] == [("To Do",)] * 5
