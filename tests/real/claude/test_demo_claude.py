"""``devclaw demo --agent claude`` as a person starts it; judged by git, python, and what the API was asked."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import yaml

from devclaw_py.kernel import proc
from devclaw_py.kernel.config import socket_name

ROOT = Path(__file__).resolve().parents[3]
COMPLETE = "mcp__devclaw__task_complete"
LOGIN = '{"oauthAccount": "a person\'s own"}'
# Who works on what, by issue: the results that were reported, in their order.
STORY = {1: ["done", "pass"], 2: ["done", "fail", "done", "pass"], 3: ["done", "pass"]}


@dataclass(frozen=True)
class Played:
    """A demo that has ended, and what its API was asked, read from the files of the requests."""

    home: Path
    folder: Path
    done: proc.Done

    def git(self, *words: str) -> list[str]:
        done = proc.run(["git", "-C", str(self.folder / "till"), *words], timeout_s=20)
        assert done.code == 0, done.err
        return done.out.strip().splitlines()

    @cached_property
    def bodies(self) -> list[dict[str, Any]]:
        found = [json.loads(path.read_bytes() or b"{}") for path in sorted(self.folder.glob("requests/*.body"))]
        return [body for body in found if body.get("tools")]

    @cached_property
    def calls(self) -> list[tuple[str, dict[str, Any], str]]:
        """Return each tool call that a request tells of, once: its tool, arguments and result."""
        used: dict[str, tuple[str, dict[str, Any]]] = {}
        brought: dict[str, str] = {}
        for body in self.bodies:
            for block in (block for message in body["messages"] for block in _blocks(message)):
                if block["type"] == "tool_use":
                    used[block["id"]] = (block["name"], block["input"])
                elif block["type"] == "tool_result":
                    brought[block["tool_use_id"]] = json.dumps(block["content"])
        return [(*call, brought.get(key, "")) for key, call in used.items()]

    def reports(self, issue: int) -> list[str]:
        return [
            given["result"]
            for tool, given, _ in sorted(self.calls, key=lambda call: call[1].get("attempt", 0))
            if tool == COMPLETE and given["issueId"] == issue
        ]


def _blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def demo(home: Path, folder: Path, path: str) -> proc.Done:
    """Play it with a login, settings and tokens of a person's around it that it has to leave alone."""
    env = {
        "PATH": path,
        "HOME": str(home),
        "TMUX_TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
        "CLAUDE_CONFIG_DIR": str(home / ".claude"),
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
        "ANTHROPIC_API_KEY": "sk-a-person-s-own",
        "DEVCLAW_AGENT__PERMISSION_MODE": "bypassPermissions",
    }
    argv = [sys.executable, "-m", "devclaw_py", "demo", "--agent", "claude", "--speed", "fast", "--dir", str(folder)]
    return proc.run(argv, timeout_s=320, cwd=home, env=env)


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    # Short: the path of a tmux socket has to fit into 108 bytes.
    made = Path(tempfile.mkdtemp(prefix="dc-"))
    (made / ".claude.json").write_text(LOGIN)
    yield made
    for socket in made.glob("tmux-*/*"):
        proc.run(["tmux", "-S", str(socket), "kill-server"], timeout_s=10)
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="module")
def played(home: Path, claude_bin: str) -> Played:
    for program in ("tmux", "git"):
        if shutil.which(program) is None:
            if program in os.environ.get("DEVCLAW_REQUIRE", "").split(","):
                pytest.fail(f"{program} is missing and DEVCLAW_REQUIRE names it")
            pytest.skip(f"{program} is not installed")
    (home / "bin").mkdir()
    (home / "bin" / "claude").symlink_to(claude_bin)
    folder = home / "a demo"
    return Played(home, folder, demo(home, folder, f"{home / 'bin'}:{os.environ['PATH']}"))


def test_it_ends_well_and_says_that_three_issues_are_done(played: Played) -> None:
    assert played.done.code == 0, played.done
    assert "3 of 3 issues are Done, closed and merged into main" in played.done.out
    assert "16 moves, 8 attempts, 4 sessions started, 4 times reused." in played.done.out
    assert played.done.err == ""


def test_main_has_a_merge_of_each_issue_and_one_commit_of_each_dev_attempt(played: Played) -> None:
    merges = Counter(line.split(":")[0] for line in played.git("log", "--merges", "--format=%s", "main"))
    commits = Counter(line[-2] for line in played.git("log", "--no-merges", "--format=%s", "main") if line[-1] == ")")

    assert merges == {"Merge #1": 1, "Merge #2": 1, "Merge #3": 1}
    assert commits == {"1": 1, "2": 2, "3": 1}


def test_the_suite_fails_in_the_first_commit_and_passes_on_main(played: Played, tmp_path: Path) -> None:
    played.git("clone", "--quiet", ".", str(tmp_path / "main"))
    (first,) = played.git("rev-list", "--max-parents=0", "main")

    ends = []
    for commit in (first, "main"):
        proc.run(["git", "-C", str(tmp_path / "main"), "checkout", "--quiet", commit], timeout_s=20)
        done = proc.run([sys.executable, "-B", "-m", "unittest"], timeout_s=60, cwd=tmp_path / "main")
        ends.append(done.err.strip().splitlines()[-1])

    assert ends == ["FAILED (failures=1)", "OK"]


@pytest.mark.parametrize("issue", STORY)
def test_each_issues_file_says_done_and_closed(played: Played, issue: int) -> None:
    text = (played.folder / "memory" / "issues" / "till" / f"{issue}.md").read_text()
    head = yaml.safe_load(text.split("---\n")[1])

    assert (head["state"], head["labels"]) == ("closed", ["Done"])


@pytest.mark.parametrize("issue", STORY)
def test_the_workers_report_by_their_own_tool_once_an_attempt(played: Played, issue: int) -> None:
    assert played.reports(issue) == STORY[issue]


def test_each_tasks_line_reached_the_model_once_and_nothing_else_did(played: Played) -> None:
    said: Counter[str] = Counter()
    for body in played.bodies:
        # A turn's first request ends with what was typed.
        texts = [block["text"] for block in _blocks(body["messages"][-1]) if block["type"] == "text"]
        said.update(text.strip() for text in texts if not text.lstrip().startswith("<system-reminder>"))

    offers = Counter(line.split()[1].rstrip(":") for line in said.elements() if line.startswith("devclaw-task "))
    assert offers == dict.fromkeys(["1.1", "1.2", "2.1", "2.2", "2.3", "2.4", "3.1", "3.2"], 1)
    assert [line for line in said if not line.startswith("devclaw-task ")] == []


def test_the_work_is_done_by_claude_codes_own_tools(played: Played) -> None:
    tools = Counter(tool for tool, _, _ in played.calls)
    run = [given["command"] for tool, given, _ in played.calls if tool == "Bash"]

    assert set(tools) == {"Read", "Edit", "Write", "Bash", COMPLETE}
    assert sum(command.startswith("git commit") for command in run) == 4
    assert any(command.startswith("python3 -m unittest") for command in run)


def test_qa_fails_by_what_the_tests_say(played: Played) -> None:
    (failed,) = [given for tool, given, _ in played.calls if tool == COMPLETE and given["result"] == "fail"]
    seen = [result for tool, _, result in played.calls if tool == "Bash" and "AssertionError: 1800 != 1799" in result]

    assert "AssertionError: 1800 != 1799" in failed["summary"]
    assert seen


def test_the_persons_own_login_is_left_alone(played: Played) -> None:
    assert (played.home / ".claude.json").read_text() == LOGIN
    assert not (played.home / ".claude").exists()


def test_no_tmux_server_is_left(played: Played, wait_for: Callable[..., None]) -> None:
    argv = ["tmux", "-L", socket_name(played.folder), "list-sessions"]
    env = {"PATH": os.environ["PATH"], "TMUX_TMPDIR": str(played.home)}

    wait_for(lambda: proc.run(argv, timeout_s=10, env=env).code != 0, "the server ends")


def test_without_claude_code_it_says_what_to_install_and_makes_nothing(
    home: Path, tmp_path: Path, needed: Callable[[str], None]
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in ("tmux", "git", "python3"):
        needed(program)
        (programs / program).symlink_to(shutil.which(program) or "")

    refused = demo(home, tmp_path / "new", str(programs))

    assert refused.code == 4
    assert "--agent claude needs Claude Code, and claude is no program on PATH" in refused.err
    assert "npm install -g @anthropic-ai/claude-code" in refused.err
    assert not (tmp_path / "new").exists()
