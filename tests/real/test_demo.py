"""The demo as a person starts it, and what others than devclaw say of what it left: git, python, tmux, the files."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from devclaw_py.kernel import proc
from devclaw_py.kernel.config import socket_name

ROOT = Path(__file__).resolve().parents[2]
COMMAND = (sys.executable, "-m", "devclaw_py", "demo")
# What a person may have switched on; none of it may reach the sample repository or be changed.
GITCONFIG = """\
[user]
\tname = Ada
\temail = ada@example.org
[commit]
\tgpgSign = true
[gpg]
\tprogram = /nonexistent/gpg
[core]
\thooksPath = {hooks}
\texcludesFile = {ignored}
"""


@dataclass(frozen=True)
class Stage:
    """A machine of one's own: home, tmux sockets, environment."""

    home: Path

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "TMUX_TMPDIR": str(self.home),
            "TMPDIR": str(self.home),
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(ROOT),
            # Settings and tokens of another workspace, which a demo has to leave alone.
            "DEVCLAW_AGENT__KIND": "claude",
            "DEVCLAW_TOKEN": "somebody else's",
            "DEVCLAW_WORKSPACE": "/nonexistent",
        }

    def demo(self, *options: str, env: Mapping[str, str] | None = None) -> proc.Done:
        return proc.run([*COMMAND, *options], timeout_s=200, cwd=self.home, env=env or self.env)

    def tmux(self, folder: Path, *words: str) -> proc.Done:
        return proc.run(["tmux", "-L", socket_name(folder), *words], timeout_s=10, env=self.env)

    def no_server(self, folder: Path) -> bool:
        return self.tmux(folder, "list-sessions").code != 0

    def sessions(self, folder: Path) -> list[str]:
        return self.tmux(folder, "list-sessions", "-F", "#{session_name}").out.split()


@dataclass(frozen=True)
class Played:
    """A demo that has ended."""

    stage: Stage
    folder: Path
    done: proc.Done

    def git(self, *words: str) -> str:
        done = proc.run(["git", "-C", str(self.folder / "till"), *words], timeout_s=20, env=self.stage.env)
        assert done.code == 0, done.err
        return done.out.strip()

    def chat(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "chat.ndjson").read_text(encoding="utf-8").splitlines()]

    def audit(self, event: str) -> list[dict[str, Any]]:
        lines = (self.folder / "memory" / "audit.log").read_text(encoding="utf-8").splitlines()
        return [found for found in map(json.loads, lines) if found["event"] == event]

    def history(self, issue: int) -> list[dict[str, Any]]:
        log = self.folder / "memory" / "issues" / "till" / f"{issue}.log"
        return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]

    def tests_of(self, commit: str, into: Path) -> proc.Done:
        self.git("clone", "--quiet", ".", str(into))
        proc.run(["git", "-C", str(into), "checkout", "--quiet", commit], timeout_s=20, env=self.stage.env)
        return proc.run([sys.executable, "-m", "unittest"], timeout_s=60, cwd=into)


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    for program in ("tmux", "git"):
        if shutil.which(program) is None:
            if program in os.environ.get("DEVCLAW_REQUIRE", "").split(","):
                pytest.fail(f"{program} is missing and DEVCLAW_REQUIRE names it")
            pytest.skip(f"{program} is not installed")
    # Short: the path of a tmux socket has to fit into 108 bytes.
    home = Path(tempfile.mkdtemp(prefix="dc-"))
    hook, ignored = home / "hooks" / "pre-commit", home / "ignored"
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    ignored.write_text("test_*\n")
    (home / ".gitconfig").write_text(GITCONFIG.format(hooks=hook.parent, ignored=ignored))
    yield Stage(home)
    for socket in home.glob("tmux-*/*"):
        proc.run(["tmux", "-S", str(socket), "kill-server"], timeout_s=10)
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="module")
def both(stage: Stage) -> list[Played]:
    """Two demos at the same time on one machine, one of them in a folder with a difficult name."""
    folders = [stage.home / "one", stage.home / "an other (ü) $x"]
    with ThreadPoolExecutor(2) as pool:
        ended = list(pool.map(lambda folder: stage.demo("--speed", "fast", "--dir", str(folder)), folders))
    return [Played(stage, folder, done) for folder, done in zip(folders, ended, strict=True)]


@pytest.fixture(params=[0, 1], ids=["one", "other"])
def played(both: list[Played], request: pytest.FixtureRequest) -> Played:
    chosen: int = request.param
    return both[chosen]


def test_it_ends_well_and_says_that_three_issues_are_done(played: Played) -> None:
    assert played.done.code == 0, played.done
    assert "3 of 3 issues are Done, closed and merged into main" in played.done.out
    assert played.done.err == ""


def test_main_has_a_merge_of_each_issue(played: Played) -> None:
    subjects = played.git("log", "--merges", "--format=%s", "main").splitlines()

    assert Counter(subject.split(":")[0] for subject in subjects) == {"Merge #1": 1, "Merge #2": 1, "Merge #3": 1}


def test_the_suite_fails_in_the_first_commit_and_passes_on_main(played: Played, tmp_path: Path) -> None:
    first = played.tests_of(played.git("rev-list", "--max-parents=0", "main"), tmp_path / "first")
    last = played.tests_of("main", tmp_path / "last")

    assert first.err.strip().endswith("FAILED (failures=1)")
    assert last.err.strip().endswith("OK")


def test_the_main_checkout_stands_on_main_and_is_clean(played: Played) -> None:
    assert played.git("symbolic-ref", "--short", "HEAD") == "main"
    assert played.git("status", "--porcelain") == ""


@pytest.mark.parametrize("issue", [1, 2, 3])
def test_the_issues_file_says_done_and_closed(played: Played, issue: int) -> None:
    text = (played.folder / "memory" / "issues" / "till" / f"{issue}.md").read_text(encoding="utf-8")
    head = yaml.safe_load(text.split("---\n")[1])

    assert (head["state"], head["labels"]) == ("closed", ["Done"])


def test_one_issue_is_sent_back_once_with_the_output_of_the_tests(played: Played) -> None:
    put = [entry["label"] for entry in played.history(2) if entry["event"] == "label" and entry["added"]]
    failed = [e["body"] for e in played.history(2) if e["event"] == "comment" and "QA**: fail" in e["body"]]

    assert put == ["To Do", "Doing", "To Test", "Testing", "To Improve", "Doing", "To Test", "Testing", "Done"]
    assert len(failed) == 1
    assert "AssertionError: 1800 != 1799" in failed[0]
    assert "Ran 1 test in" in failed[0]


@pytest.mark.parametrize("issue", [1, 3])
def test_the_others_pass_at_once(played: Played, issue: int) -> None:
    put = [entry["label"] for entry in played.history(issue) if entry["event"] == "label" and entry["added"]]

    assert put == ["To Do", "Doing", "To Test", "Testing", "Done"]


def test_dev_is_given_the_reason_of_qa_and_makes_a_second_commit(played: Played) -> None:
    sent_back = (played.folder / "memory" / "sessions" / "till-dev-medior" / "tasks" / "2.3.md").read_text()
    commits = played.git("log", "--no-merges", "--format=%s", "--grep=(#2)", "main").splitlines()

    assert "QA sent this back." in sent_back
    assert "AssertionError: 1800 != 1799" in sent_back
    assert len(commits) == 2


def test_the_group_is_told_each_event_once(played: Played) -> None:
    keys = [told["key"] for told in played.chat()]

    assert len(set(keys)) == len(keys)
    assert Counter(key.partition(":")[2] for key in keys) == {"registered": 1, "created": 3, "pickup": 8, "complete": 8}


def test_every_announcement_is_printed_in_the_order_of_the_chat(played: Played) -> None:
    lines = played.done.out.splitlines()
    printed = [line for line in lines if line in {" ".join(_lines(told["text"])) for told in played.chat()}]

    assert printed == [" ".join(_lines(told["text"])) for told in played.chat()]


def _lines(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("🔗")]


def test_four_sessions_are_started_and_reused_for_four_more_tasks(played: Played) -> None:
    actions = Counter(line["sessionAction"] for line in played.audit("task_pickup") if line["ok"])

    assert actions == {"spawn": 4, "send": 4}


def test_the_three_tiers_and_qa_have_worked(played: Played) -> None:
    by_tier = Counter(line["tier"] for line in played.audit("task_complete"))

    assert by_tier == {"junior": 1, "medior": 2, "senior": 1, "qa": 4}


def test_reports_come_from_workers_and_no_call_has_two_audit_lines(played: Played) -> None:
    reports = played.audit("task_complete")
    calls = [line["op"] for event in ("task_pickup", "task_complete", "task_create") for line in played.audit(event)]

    assert {line["caller"].partition(":")[0] for line in reports} == {"worker"}
    assert len(calls) == len(set(calls))


def test_no_tmux_server_is_left(played: Played, wait_for: Callable[..., None]) -> None:
    wait_for(partial(played.stage.no_server, played.folder), "the server ends")


def test_no_process_is_left(played: Played, wait_for: Callable[..., None]) -> None:
    def works_there(process: psutil.Process) -> bool:
        try:
            return str(played.folder) in process.cwd() or str(played.folder) in " ".join(process.cmdline())
        except psutil.Error:
            return False

    wait_for(lambda: not any(map(works_there, psutil.process_iter())), "every process ends")


def test_the_persons_own_git_settings_are_left_alone(played: Played) -> None:
    home = played.stage.home

    assert (home / ".gitconfig").read_text() == GITCONFIG.format(hooks=home / "hooks", ignored=home / "ignored")
    assert set(played.git("log", "--format=%an", "main").splitlines()) == {"DevClaw demo"}


def test_the_workspace_holds_no_word_of_the_other_demo(both: list[Played]) -> None:
    one, other = both
    for mine, theirs in ((one, other), (other, one)):
        known = (mine.folder / "memory" / "projects.json").read_text(encoding="utf-8")
        assert str(theirs.folder) not in known + (mine.folder / "chat.ndjson").read_text(encoding="utf-8")


def test_a_demo_is_not_played_over_another_one(played: Played) -> None:
    again = played.stage.demo("--dir", str(played.folder))

    assert again.code == 4
    assert "is not empty" in again.err


def test_a_folder_with_something_in_it_is_left_as_it_is(stage: Stage, tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")

    refused = stage.demo("--dir", str(tmp_path))

    assert refused.code == 4
    assert "is not empty: it holds mine.txt" in refused.err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(("there", "missing"), [("git", "tmux"), ("tmux", "git")])
def test_a_missing_program_is_named_and_nothing_is_made(stage: Stage, tmp_path: Path, there: str, missing: str) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    found = shutil.which(there)
    assert found is not None
    (programs / there).symlink_to(found)

    refused = stage.demo("--dir", str(tmp_path / "new"), env={**stage.env, "PATH": str(programs)})

    assert refused.code == 4
    assert f"install {missing}" in refused.err
    assert not (tmp_path / "new").exists()


def test_a_demo_whose_time_is_up_says_what_hangs_and_stops_its_sessions(
    stage: Stage, wait_for: Callable[..., None]
) -> None:
    folder = stage.home / "slow"

    ended = stage.demo("--dir", str(folder), "--time-limit", "3")

    assert ended.code == 3
    assert "not at its end after 3 s; issues: #1 " in ended.err
    assert "DEV (till-dev-junior, working) holds #1; its screen:\n" in ended.err
    assert "$ python3 -m unittest" in ended.err
    assert f"The workspace stays: {folder}" in ended.err
    wait_for(partial(stage.no_server, folder), "the server ends")


@pytest.fixture
def begun(stage: Stage, wait_for: Callable[..., None]) -> Iterator[Callable[..., tuple[Path, Any]]]:
    """Begin a demo in a new folder and return it as soon as its first worker lives."""
    started: list[tuple[Path, Any]] = []

    def begin(name: str, *options: str) -> tuple[Path, Any]:
        folder = stage.home / name
        argv = [*COMMAND, "--dir", str(folder), *options]
        process = proc.start(argv, cwd=stage.home, env=stage.env, stdin=Path(os.devnull))
        started.append((folder, process))
        wait_for(partial(stage.sessions, folder), f"a worker lives in {folder}")
        return folder, process

    yield begin
    for folder, process in started:
        process.kill()
        process.wait()
        stage.tmux(folder, "kill-server")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_demo_that_is_ended_stops_its_sessions_and_keeps_its_workspace(
    stage: Stage,
    begun: Callable[..., tuple[Path, Any]],
    number: signal.Signals,
    capfd: pytest.CaptureFixture[str],
    wait_for: Callable[..., None],
) -> None:
    folder, process = begun(f"ended-{number.name}")

    process.send_signal(number)

    assert process.wait(30) == 130
    wait_for(partial(stage.no_server, folder), "the server ends")
    assert f"its sessions are stopped. The workspace stays: {folder}" in capfd.readouterr().err
    assert (folder / "devclaw.toml").exists()


def test_a_second_demo_in_the_folder_of_a_running_one_is_refused(
    stage: Stage, begun: Callable[..., tuple[Path, Any]]
) -> None:
    folder, _ = begun("running")

    refused = stage.demo("--dir", str(folder))

    assert refused.code == 4
    assert f"a demo is running in {folder} already" in refused.err


def test_sessions_are_kept_when_that_is_wanted(stage: Stage) -> None:
    folder = stage.home / "kept"

    ended = stage.demo("--dir", str(folder), "--speed", "fast", "--keep-sessions")

    try:
        assert sorted(stage.sessions(folder)) == ["till-dev-junior", "till-dev-medior", "till-dev-senior", "till-qa-qa"]
        assert f"tmux -L {socket_name(folder)} kill-server" in ended.out
    finally:
        stage.tmux(folder, "kill-server")
