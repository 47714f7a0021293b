"""What the commands for people show, over a store that holds what a night leaves behind."""

from __future__ import annotations

import json
import shutil
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.faces.cli.app import run
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.journal import Closing, Intent, OutboxRow, Wish
from devclaw_py.model.pipeline import Role, SeatKey, State, Tier
from devclaw_py.model.project import Project, Seat
from devclaw_py.model.settings import Settings
from devclaw_py.state.files import FilesStore
from devclaw_py.trackers.local import LocalTracker

GROUP = "-1001"
NASTY = "[red]Hi[/red] \x1b[2J\u202eevil"
CLOCK = SystemClock()

# Without it the terminal cannot be asked, which is told as such and is no answer to these questions.
needs_tmux = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace that this process's environment names."""
    for name in ("DEVCLAW_TOKEN", "DEVCLAW_TOKEN_FILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DEVCLAW_WORKSPACE", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "220")
    monkeypatch.setenv("DEVCLAW_TERMINAL__SOCKET", "devclaw-test-cli-people")
    return tmp_path


@pytest.fixture
def store(workspace: Path) -> FilesStore:
    """One project whose dev has held an issue with a nasty title for an hour."""
    store = FilesStore(workspace, CLOCK, Settings())
    tracker = LocalTracker(workspace / "memory" / "issues" / "shop", name="shop", clock=CLOCK, timeout_s=5)
    issue = tracker.create(NASTY, "", labels=["Doing"]).number
    tracker.create("Waits", "", labels=["To Do"])
    seat = Seat().take(
        issue,
        tier=Tier.MEDIOR,
        session="shop-dev-medior",
        attempt=3,
        previous_state=State.TO_DO,
        at=CLOCK.now() - timedelta(hours=1),
    )
    store.registry.add(Project(group_id=GROUP, name="shop", slug="shop", repo=str(workspace / "repo"), dev=seat))
    return store


def intent(**more: Any) -> Intent:
    return Intent(op="op1", kind="comment", tool="task_comment", group_id=GROUP, issue=2, at=CLOCK.now(), **more)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert run(words) == 0
    return capsys.readouterr().out


def test_status_shows_titles_as_they_are_written_but_nothing_a_terminal_would_obey(
    store: FilesStore, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = said(capsys, "status")

    assert "[red]Hi[/red] [2Jevil" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


@needs_tmux
def test_status_shows_tier_age_session_and_attempt(store: FilesStore, capsys: pytest.CaptureFixture[str]) -> None:
    seat = json.loads(said(capsys, "status", "--json"))["projects"][0]["seats"][0]

    assert (seat["model"], seat["attempt"], seat["sessionStatus"]) == ("medior", 3, "absent")
    assert 3600 <= seat["ageS"] < 3700


@needs_tmux
def test_status_shows_how_full_a_workers_conversation_is(
    workspace: Path, store: FilesStore, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = workspace / "memory" / "sessions" / "shop-dev-medior"
    folder.mkdir(parents=True)
    kept = {"id": "x", "worktree": "/w", "config": "/c", "started": 1.0}
    (folder / "conversation.json").write_text(json.dumps(kept))
    (folder / "usage.json").write_text(json.dumps({"session_id": "x", "context_window": {"used_percentage": 62}}))

    assert "shop: dev (medior) uses 62 % of context" in said(capsys, "status")
    assert json.loads(said(capsys, "status", "--json"))["projects"][0]["seats"][0]["contextUsed"] == 0.62


def test_status_shows_what_holds_a_project_back(store: FilesStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert "devclaw resume" not in said(capsys, "status")

    said(capsys, "pause", "shop")

    assert "shop is paused: nothing more is handed out" in " ".join(said(capsys, "status").split())


def test_status_shows_what_does_not_go_on_by_itself(store: FilesStore, capsys: pytest.CaptureFixture[str]) -> None:
    now = CLOCK.now()
    store.journal.begin(intent(next_try=now, payload={"waits": "the tracker is down"}))
    store.journal.queue(OutboxRow(key="k", group_id=GROUP, announcement=Announcement(emoji="x", text="y"), at=now))
    # A wish comes to be with the end of an operation.

    store.journal.begin(intent().model_copy(update={"op": "op2", "issue": 3}))
    store.journal.close("op2", Closing(wish=Wish(group_id=GROUP, issue=2, role=Role.QA, at=now)))

    shown = said(capsys, "status")

    assert "task_comment of #2 waits: the tracker is down" in shown
    assert "announcements that wait to be sent: 1" in shown
    assert "#2 waits for qa" in shown


def test_status_shows_issues_that_wait_for_a_person_and_counts_the_rest(
    store: FilesStore, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tracker = LocalTracker(workspace / "memory" / "issues" / "shop", name="shop", clock=CLOCK, timeout_s=5)
    for number in range(5):
        tracker.create(f"Which colour, {number}?", "", labels=["Refining"])

    shown = said(capsys, "status")

    assert "#3 waits for a person in Refining: Which colour, 0?" in shown
    assert "Which colour, 3?" not in shown
    assert "2 more wait for a person in Refining" in shown


@needs_tmux
def test_status_shows_a_worker_that_does_not_work_on_what_it_holds(
    store: FilesStore, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "dev holds #1, and its session is absent: devclaw session-health says why" in said(capsys, "status")


@needs_tmux
def test_status_says_nothing_of_a_resting_worker_whose_report_waits(
    store: FilesStore, capsys: pytest.CaptureFixture[str]
) -> None:
    store.journal.begin(intent(next_try=CLOCK.now(), payload={"waits": "x"}).model_copy(update={"issue": 1}))

    assert "its session is" not in said(capsys, "status")


def test_status_without_projects_says_where_it_looked(workspace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert f"No projects are registered in {workspace}" in said(capsys, "status")


def test_status_shows_a_tracker_that_cannot_be_read_as_an_error(
    store: FilesStore, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = workspace / "memory" / "issues" / "shop"
    for path in folder.iterdir():
        path.unlink()
    folder.rmdir()
    folder.write_text("no folder")

    entry = json.loads(said(capsys, "status", "--json"))["projects"][0]

    assert entry["queue"] is None
    assert entry["error"]["message"]


def test_status_shows_every_column_in_eighty_columns(
    store: FilesStore, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    issue = workspace / "memory" / "issues" / "shop" / "1.md"
    issue.write_text(issue.read_text(encoding="utf-8").replace("evil", "long " * 30), encoding="utf-8")

    shown = said(capsys, "status")

    assert all(name in shown for name in ("Improve", "Test", "Do", "seat", "tier", "age", "session", "attempt"))
    assert max(map(len, shown.splitlines()[:-1])) <= 80


def test_status_leaves_no_line_in_the_audit_log(store: FilesStore, capsys: pytest.CaptureFixture[str]) -> None:
    said(capsys, "status")

    assert list(store.audit.read()) == []


def test_watch_prints_as_many_frames_as_asked_for(store: FilesStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "watch", "--frames", "2", "--interval", "0.1").count("Improve") == 2


def test_stopping_watch_is_no_failure(store: FilesStore, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(self: SystemClock, seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(SystemClock, "sleep", stop)

    assert run(["watch"]) == 0


def test_config_says_where_a_value_came_from(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (workspace / "devclaw.toml").write_text("[limits]\nattempts = 7\n")
    monkeypatch.setenv("DEVCLAW_LIMITS__COMMENTS", "3")

    found = json.loads(said(capsys, "config", "--json"))["settings"]

    assert found["limits.attempts"] == {"value": 7, "origin": "devclaw.toml:2"}
    assert found["limits.comments"] == {"value": 3, "origin": "environment DEVCLAW_LIMITS__COMMENTS"}
    assert found["limits.sessions"]["origin"] == "default"


def test_doctor_sends_away_no_journal_that_is_merely_not_writable(
    workspace: Path, store: FilesStore, capsys: pytest.CaptureFixture[str]
) -> None:
    for file in (workspace / "memory").glob("journal.db*"):
        file.unlink()
    (workspace / "memory" / "journal.db").mkdir()

    run(["doctor"])

    shown = capsys.readouterr().out
    assert "leave it where it is" in shown
    assert "move the file away" not in shown


def test_doctor_says_that_others_can_read_a_session(
    store: FilesStore, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = workspace / "memory" / "sessions" / "shop-dev-medior"
    folder.mkdir(parents=True)
    folder.chmod(0o755)

    assert run(["doctor"]) == 4

    assert f"chmod 700 {folder}" in capsys.readouterr().out


def test_a_selftest_without_its_program_fails_and_says_what_to_do(
    workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DEVCLAW_AGENT__CLAUDE_BIN", "/no/such/claude")

    assert run(["doctor", "--selftest", "claude"]) == 4

    assert "✖ version" in (said := capsys.readouterr().out)
    assert "claude_bin" in said


@needs_tmux
def test_attach_names_the_sessions_there_are(store: FilesStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["attach", GROUP, "dev", "medior"]) == 3

    assert "there is no session shop-dev-medior; sessions of this workspace: none" in capsys.readouterr().err


def test_attach_refuses_a_tier_of_the_other_role(store: FilesStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["attach", "shop", "qa", "junior"]) == 2


def test_a_busy_project_is_not_removed(store: FilesStore, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["project", "remove", "shop", "--yes"]) == 2

    assert "dev with #1" in capsys.readouterr().err
    assert GROUP in store.registry.all()


def test_force_removes_a_busy_project_and_says_what_stays(
    store: FilesStore, workspace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    later = CLOCK.now() + timedelta(minutes=5)
    store.journal.begin(intent(next_try=later))

    answer = json.loads(said(capsys, "project", "remove", GROUP, "--yes", "--force", "--json"))

    assert answer["dropped"] == ["task_comment of #2"]
    assert store.journal.intents() == []
    assert store.registry.all() == {}
    assert (workspace / "memory" / "issues" / "shop" / "1.md").exists()
    assert any("memory/issues/shop" in line for line in answer["stays"])
    assert [line["event"] for line in store.audit.read()] == ["project_remove"]


def test_a_project_with_operations_that_wait_is_not_removed(
    store: FilesStore, capsys: pytest.CaptureFixture[str]
) -> None:
    store.registry.change(GROUP, lambda project: project.with_seat(SeatKey(Role.DEV), project.dev.release()))
    store.journal.begin(intent(next_try=CLOCK.now() + timedelta(minutes=5)))

    assert run(["project", "remove", "shop", "--yes"]) == 2
    assert GROUP in store.registry.all()


def test_nobody_but_a_person_types_into_a_session(
    store: FilesStore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DEVCLAW_TOKEN", "a-strangers")

    assert run(["attach", "--write", GROUP, "dev", "medior"]) == 2
