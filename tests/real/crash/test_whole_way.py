"""From a call in a process of its own to a program in real tmux: hostile words, secrets, two workspaces, no tmux."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.kernel.config import socket_name
from tests.real.crash.conftest import GROUP, Yard

MakeYard = Callable[[], Yard]

# Keeps what it was given, says something on the issue and reports, all as the worker it is.
PROGRAM = """
out="$DEVCLAW_WORKSPACE/got-$DEVCLAW_ISSUE"
mkdir -p "$out"
cat > "$out/message"
env > "$out/environment"
PYTHONPATH="{package}" "{python}" -m devclaw_py call task_comment '{{"body": "here"}}' > "$out/comment"
tr '\\0' '\\n' < "/proc/$PPID/cmdline" > "$out/parent"
touch "$out/end"
"""
EMOJI = "🧑‍🚀🦀"
TITLES = {
    "escape": "Add \x1b[2J\x1b]0;owned\x07 a footer",
    "paste-end": "Add\x1b[201~\rtouch {marker}\r a footer",
    "one-byte-paste-end": "Add\x9b201~\rtouch {marker}\r a footer",
    "shell": "Add `touch {marker}` $(touch {marker}) ; touch {marker} & a footer",
    "tmux": "Add #(touch {marker}) ; new-window 'touch {marker}' a footer",
    "newline": "Add\ndevclaw-notice forged\ntouch {marker}\na footer",
    "emoji": (EMOJI * 64)[:256],
}


@pytest.fixture
def listening(make_yard: MakeYard) -> MakeYard:
    """A maker of yards whose workers keep what they were given."""

    def make() -> Yard:
        yard = make_yard()
        program = PROGRAM.format(package=Path(__file__).parents[3], python=sys.executable)
        settings = f"[agent]\nkind = 'scripted'\nprogram = ['sh', '-c', {json.dumps(program)}]\n"
        (yard.workspace / "devclaw.toml").write_text(settings)
        yard.add_project(GROUP)
        return yard

    return make


@pytest.fixture
def marker() -> Iterator[Path]:
    """What hostile words try to make; its path is short enough for a title."""
    path = Path(f"/tmp/marker-{uuid.uuid4().hex[:8]}")
    yield path
    path.unlink(missing_ok=True)


def told(yard: Yard, tool: str, **arguments: Any) -> tuple[dict[str, Any], int]:
    """Call a tool in a process of its own; return its answer and its exit code."""
    process = yard.start(tool, **arguments)
    out, err = process.communicate(timeout=60)
    assert "Traceback" not in err, err
    return json.loads(out), process.returncode


def got(yard: Yard, what: str, issue: int = 1) -> str:
    yard.idle()
    return (yard.workspace / f"got-{issue}" / what).read_text(encoding="utf-8")


def tmux(yard: Yard, *words: str) -> str:
    argv = ["tmux", "-L", socket_name(yard.workspace), *words]
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("words", TITLES.values(), ids=TITLES.keys())
def test_hostile_words_reach_a_worker_as_words(listening: MakeYard, marker: Path, words: str) -> None:
    yard = listening()
    evil = words.format(marker=marker)
    told(yard, "task_create", title=evil, description=f"{evil}\n{evil}", label="To Do")

    answer, code = told(yard, "task_pickup", issueId=1, role="dev", model="medior")

    assert code == 0, answer
    message = got(yard, "message")
    assert (EMOJI if EMOJI in evil else "a footer") in message
    assert not set("\x00\x1b\x07\x9b\r") & set(message)
    assert not marker.exists()
    assert tmux(yard, "list-windows", "-a", "-F", "#{session_name} #{pane_title}").count("\n") == 1
    shown = [line for line in tmux(yard, "capture-pane", "-p", "-t", "=shop-dev-medior:").splitlines() if line]
    assert shown[0] == "[devclaw] ready for tasks"
    assert shown[-1] == "[devclaw] task 1.1: the program ended with exit code 0"
    assert not any("forged" in line for line in shown)


def test_words_that_a_person_wrote_into_the_issue_file_reach_a_worker_as_words(
    listening: MakeYard, marker: Path
) -> None:
    yard = listening()
    yard.call("task_create", title="Add a footer", label="To Do")
    file = yard.workspace / "memory/issues/shop/1.md"
    evil = f"\x1b[201~\rtouch {marker}\r`touch {marker}` $(touch {marker})"
    head = file.read_text().replace("title: Add a footer", "title: " + json.dumps(f"Add a footer {evil}"))
    assert "201~" in head
    file.write_text(head + f"\n{evil}\n", newline="")

    answer, code = told(yard, "task_pickup", issueId=1, role="dev", model="medior")

    assert code == 0, answer
    assert "Add a footer" in got(yard, "message")
    assert "\x1b" not in got(yard, "message")
    assert not marker.exists()


def test_a_worker_has_no_secret_of_its_caller_but_its_own_token(listening: MakeYard) -> None:
    yard = listening()
    secrets = {name: f"canary-{name}" for name in ("GITHUB_TOKEN", "GITLAB_TOKEN", "ANTHROPIC_API_KEY", "AWS_SECRET")}
    yard.environ |= secrets
    told(yard, "task_create", title="Add a footer", label="To Do")

    told(yard, "task_pickup", issueId=1, role="dev", model="medior")

    environment = got(yard, "environment")
    assert "canary" not in environment
    assert not secrets.keys() & {line.partition("=")[0] for line in environment.splitlines()}
    assert f"DEVCLAW_TOKEN={yard.app().sessions.token('shop-dev-medior')}" in environment.splitlines()
    assert "canary" not in tmux(yard, "show-environment", "-g")


def test_a_token_stands_in_its_own_file_and_nowhere_else(listening: MakeYard) -> None:
    yard = listening()
    told(yard, "task_create", title="Add a footer", label="To Do")
    told(yard, "task_pickup", issueId=1, role="dev", model="medior")
    assert json.loads(got(yard, "comment"))["success"]
    token = yard.app().sessions.token("shop-dev-medior")

    told(yard, "task_complete", role="dev", result="done", summary="made")

    holding = [path for path in yard.folder.rglob("*") if path.is_file() and token.encode() in path.read_bytes()]
    own = yard.app().sessions.folder("shop-dev-medior") / "token"
    assert sorted(holding) == sorted([own, yard.workspace / "got-1" / "environment"])
    assert own.stat().st_mode & 0o777 == 0o600
    assert token not in got(yard, "parent")
    assert token not in tmux(yard, "capture-pane", "-p", "-S", "-", "-t", "=shop-dev-medior:")
    assert token not in tmux(yard, "list-panes", "-a", "-F", "#{pane_start_command}")


def test_two_workspaces_with_a_project_of_one_name_work_at_the_same_time(listening: MakeYard) -> None:
    yards = [listening(), listening()]
    for number, yard in enumerate(yards):
        yard.call("task_create", title=f"Add page {number} of its own", label="To Do")

    calls = [yard.start("task_pickup", issueId=1, role="dev", model="medior") for yard in yards]
    answers = [json.loads(call.communicate(timeout=60)[0]) for call in calls]

    assert [answer["success"] for answer in answers] == [True, True], answers
    for number, yard in enumerate(yards):
        assert f"Add page {number} of its own" in got(yard, "message")
        assert f"DEVCLAW_WORKSPACE={yard.workspace}" in got(yard, "environment")
        assert tmux(yard, "list-sessions", "-F", "#{session_name}").split() == ["shop-dev-medior"]
    told(yards[0], "task_complete", role="dev", result="done", summary="made")
    yards[0].kill_server()
    assert yards[1].seats() == {"dev": True, "qa": False}
    assert tmux(yards[1], "list-panes", "-a", "-F", "#{pane_dead}").split() == ["0"]


OLD = 'test "$1" = -V && echo tmux 2.9 && exit; echo "usage: list-panes [-as] [-F format] [-t target]" >&2; exit 1'


@pytest.mark.parametrize(("script", "said"), [(None, "tmux"), (OLD, "tmux 2.9: install tmux 3.2 or newer")])
def test_a_tmux_that_is_missing_or_too_old_is_named_and_the_task_stays_queued(
    listening: MakeYard, tmp_path: Path, script: str | None, said: str
) -> None:
    yard, programs = listening(), tmp_path / "programs"
    yard.call("task_create", title="Add a footer", label="To Do")
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(shutil.which(name) or name)
    if script is not None:
        (programs / "tmux").write_text(f"#!/bin/sh\n{script}\n")
        (programs / "tmux").chmod(0o755)
    yard.environ["PATH"] = str(programs)

    answer, code = told(yard, "task_pickup", issueId=1, role="dev")

    assert (answer["error"]["code"], code) == ("session_failed", 3)
    assert said in f"{answer['error']['message']} {answer['error'].get('hint')}"
    assert [task.labels for task in yard.tasks()] == [("To Do",)]
    assert yard.seats() == {"dev": False, "qa": False}
    yard.environ["PATH"] = os.environ["PATH"]
    yard.call("task_pickup", issueId=1, role="dev")


@pytest.mark.parametrize("name", ["My Web App", "ÜBER (v2)", "漢字", "🦀", "v1.2", "a:b", "-rf"])
def test_a_project_of_any_name_has_a_worker(make_yard: MakeYard, name: str) -> None:
    yard = make_yard()
    yard.call("project_register", name=name, repo=str(yard.repo), baseBranch="main")
    yard.call("task_create", title="Add a footer", label="To Do")

    answer, code = told(yard, "task_pickup", issueId=1, role="dev", model="medior")

    assert (answer["success"], code) == (True, 0), answer
    session = answer["sessionKey"].removeprefix("tmux:")
    assert tmux(yard, "list-sessions", "-F", "#{session_name}").split() == [session]
    assert tmux(yard, "show-options", "-v", "-t", f"={session}:", "@devclaw_project").strip() == name
