"""``devclaw doctor --selftest claude`` with the real program, and with programs that a release might bring."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

STEPS = ["version", "start", "acceptance", "turn", "report", "resume"]


@pytest.fixture
def doctor(tmp_path: Path, workspace: Path, needed: Callable[[str], None]) -> Callable[[Path | str], tuple[int, Any]]:
    """Return a function that runs the self-test with a program; returns the exit code and the steps."""
    needed("tmux")
    needed("git")
    temporary = tmp_path / "tmp"
    temporary.mkdir()

    def run(program: Path | str) -> tuple[int, Any]:
        (workspace / "devclaw.toml").write_text(f"[agent]\nclaude_bin = {json.dumps(str(program))}\n")
        argv = [sys.executable, "-m", "devclaw_py", "--workspace", str(workspace), "doctor", "--selftest", "claude"]
        environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "LC_ALL": "C.UTF-8", "TMPDIR": str(temporary)}
        root = Path(__file__).parents[3]
        done = subprocess.run([*argv, "--json"], capture_output=True, text=True, cwd=root, env=environ, check=False)
        assert done.stdout, done.stderr
        assert list(temporary.iterdir()) == []
        return done.returncode, json.loads(done.stdout)["steps"]

    return run


@pytest.fixture
def release(tmp_path: Path, claude_bin: str) -> Callable[..., Path]:
    """Return a function that makes a program of another version, which does ``first`` and then is the real one."""

    def make(version: str, *, first: str = "") -> Path:
        path = tmp_path / "claude"
        path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo {version} && exit\n{first}\nexec {claude_bin} "$@"\n')
        path.chmod(0o755)
        return path

    return make


def test_a_task_goes_all_the_way_and_its_session_is_resumed(
    doctor: Callable[..., tuple[int, Any]], claude_bin: str
) -> None:
    code, steps = doctor(claude_bin)

    assert [(step["name"], step["severity"]) for step in steps] == [(name, "ok") for name in STEPS], steps
    assert code == 0


def test_a_version_that_was_never_tried_is_said_so_and_tried(
    doctor: Callable[..., tuple[int, Any]], release: Callable[..., Path]
) -> None:
    code, steps = doctor(release("9.0.0"))

    assert (steps[0]["severity"], "newer than what is known" in steps[0]["seen"]) == ("warning", True)
    assert [step["name"] for step in steps] == STEPS
    assert code == 0


def test_a_release_that_asks_something_first_fails_at_its_start(
    doctor: Callable[..., tuple[int, Any]], release: Callable[..., Path]
) -> None:
    code, steps = doctor(release("9.0.0", first='export CLAUDE_CONFIG_DIR="$HOME/elsewhere"'))

    assert (code, steps[-1]["name"], steps[-1]["severity"]) == (4, "start", "critical"), steps


def test_a_release_that_ends_at_once_fails_with_its_last_words(
    doctor: Callable[..., tuple[int, Any]], release: Callable[..., Path]
) -> None:
    code, steps = doctor(release("9.0.0", first="echo unknown option --settings; exit 1"))

    assert (code, steps[-1]["name"]) == (4, "start")
    assert "unknown option --settings" in steps[-1]["seen"]
