"""devclaw pause, resume, drain and stop, and the heartbeat on the command line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.errors import ConfigError, InvalidArguments
from devclaw_py.faces.cli.app import run
from devclaw_py.faces.cli.unit import unit
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.pipeline import Mode
from devclaw_py.model.project import Project
from devclaw_py.model.settings import Settings
from devclaw_py.state.files import FilesStore
from devclaw_py.trackers.local import LocalTracker

CLOCK = SystemClock()
needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FilesStore:
    """A workspace of this process's environment with two projects, one of which has an issue in To Do."""
    for name in ("DEVCLAW_TOKEN", "DEVCLAW_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DEVCLAW_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("DEVCLAW_TERMINAL__SOCKET", "devclaw-test-cli-modes")
    monkeypatch.setenv("COLUMNS", "200")
    found = FilesStore(tmp_path, CLOCK, Settings())
    for group, name in (("-1001", "shop"), ("-1002", "bakery")):
        found.registry.add(Project(group_id=group, name=name, slug=name, repo=str(tmp_path / name)))
        tracker = LocalTracker(tmp_path / "memory" / "issues" / name, name=name, clock=CLOCK, timeout_s=5)
        tracker.create("Add a footer", "", labels=["To Do"] if name == "shop" else ["Planning"])
    return found


def modes(store: FilesStore) -> list[Mode]:
    return [project.mode for project in store.registry.all().values()]


@pytest.mark.parametrize(("word", "mode"), [("pause", Mode.PAUSED), ("drain", Mode.DRAINING), ("resume", Mode.RUNNING)])
def test_a_word_sets_the_mode_of_the_project_that_is_named(store: FilesStore, word: str, mode: Mode) -> None:
    assert run(["pause", "bakery"]) == 0

    assert run([word, "shop"]) == 0

    assert modes(store) == [mode, Mode.PAUSED]


@needs_tmux
def test_stop_with_all_stops_every_project(store: FilesStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stop", "--all", "--json"]) == 0

    assert modes(store) == [Mode.STOPPED, Mode.STOPPED]
    assert [one["success"] for one in json.loads(capsys.readouterr().out)["results"]] == [True, True]


@pytest.mark.parametrize("words", [["pause"], ["pause", "shop", "--all"]], ids=["neither", "both"])
@pytest.mark.usefixtures("store")
def test_either_a_project_or_all_must_be_named(words: list[str]) -> None:
    assert run(words) == InvalidArguments("").exit_code


def plan_of(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    capsys.readouterr()
    assert run(["heartbeat", "--dry-run", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)["plan"]
    return found


@needs_tmux
def test_a_dry_run_says_what_would_be_handed_out_and_does_nothing(
    store: FilesStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["heartbeat", "--dry-run"]) == 0
    assert capsys.readouterr().out == "shop: #1 to dev (medior)\n"

    assert [(one["groupId"], one["issue"]) for one in plan_of(capsys)["pickups"]] == [("-1001", 1)]
    assert store.journal.attempts("-1001") == []
    assert list(store.audit.read()) == []


@needs_tmux
def test_a_dry_run_says_what_waits_for_what(store: FilesStore, capsys: pytest.CaptureFixture[str]) -> None:
    run(["pause", "shop"])
    capsys.readouterr()

    assert run(["heartbeat", "--dry-run"]) == 0

    assert capsys.readouterr().out == "shop: #1 waits: the project is paused\n"


@needs_tmux
def test_a_single_tick_of_an_idle_workspace_says_that_nothing_was_open(
    store: FilesStore, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["pause", "shop"])
    capsys.readouterr()

    assert run(["heartbeat", "--once"]) == 0

    assert "Nothing was left open" in capsys.readouterr().out


@pytest.mark.usefixtures("store")
def test_the_unit_is_written_for_this_workspace_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "bin" / "devclaw"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setattr("sys.argv", ["devclaw"])

    assert run(["heartbeat-install"]) == 0

    told = capsys.readouterr()
    path = Path(told.out.strip())
    assert path.parent == tmp_path / "config" / "systemd" / "user"
    assert f"ExecStart={program} --workspace {tmp_path} heartbeat" in path.read_text()
    assert f"enable --now {path.name}" in told.err


def test_the_heartbeat_ends_without_its_workers() -> None:
    text = unit(Path("/srv/devclaw"), program="/usr/bin/devclaw", path="/usr/bin")

    assert "KillMode=process" in text
    assert "Restart=on-failure" in text


@pytest.mark.parametrize("folder", ["/srv/a b", "/srv/50%", '/srv/"x"', "/srv/$HOME"])
def test_a_path_that_systemd_would_read_otherwise_is_refused(folder: str) -> None:
    with pytest.raises(ConfigError):
        unit(Path(folder), program="/usr/bin/devclaw", path="/usr/bin")
