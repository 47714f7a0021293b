"""claude, tmux or devclaw is killed at a step of a task, for real; the task goes on or is back in its queue, once.

Judged by the issue files, the registry, git, the processes, and by what the API was asked: a task's line that reached
the model twice was delivered twice. The default run has one case of each kind; DEVCLAW_CI_FULL=1 has all.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pytest

from devclaw_py import catalogue
from devclaw_py.agents.standin.directives import follow_directives
from devclaw_py.agents.standin.script import Answer, Call, Conversation
from devclaw_py.agents.standin.server import StandIn
from devclaw_py.kernel.config import socket_name
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.model.caller import HUMAN
from devclaw_py.operations.registry import fail_points
from tests.real.crash.conftest import GROUP, Yard
from tests.real.crash.judge import violations

LINE = "devclaw-task "
SETTLED_S = 120.0
STILL_S = 0.4
REPORT = "mcp__devclaw__task_complete"
DEV, QA = "shop-dev-medior", "shop-qa-qa"


@dataclass(kw_only=True)
class ClaudeYard(Yard):
    """One project whose workers are Claude Code, and witnesses that do not ask devclaw."""

    standin: StandIn
    wait_for: Callable[..., None] = field(repr=False)

    def furnish(self, claude_bin: str) -> None:
        """Make HOME, workspace and repository, and register the project."""
        self.workspace.mkdir(parents=True)
        (self.folder / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True}))
        self.arm("")
        settings = f"[agent]\nclaude_bin = {json.dumps(claude_bin)}\nenv_file = 'claude.env'\n"
        # The heartbeat settles and follows up here; what is handed out is the test's to say.
        (self.workspace / "devclaw.toml").write_text(f"{settings}[heartbeat]\ndispatch = false\n")
        self.add_project(GROUP)

    def arm(self, line: str) -> None:
        """Say what else stands in the environment of the sessions that start from now on, and of what they start."""
        path = self.workspace / "claude.env"
        path.touch(mode=0o600)
        address = f"ANTHROPIC_BASE_URL={self.standin.url}\nANTHROPIC_AUTH_TOKEN={self.standin.token}\n"
        path.write_text(f"{address}{line}\n")

    def create(self, issue: int) -> None:
        """Create an issue; its DEV commits a file and reports, its QA passes it."""
        path = self.folder / "shop.worktrees" / "dev-medior" / f"work-{issue}.txt"
        write = {"file_path": str(path), "content": f"{issue}\n"}
        commit = {"command": f"git add -A && git commit -qm 'Work on {issue}'"}
        body = f"[[standin: tool Write {json.dumps(write)}]]\n[[standin: tool Bash {json.dumps(commit)}]]\n"
        assert self.call("task_create", title=f"Task {issue}", description=body, label="To Do")["issue"]["id"] == issue

    def label(self, issue: int) -> str:
        (found,) = [task.labels for task in self.tasks() if task.number == issue]
        return ", ".join(found)

    def pick_up(self, issue: int, role: str) -> None:
        tier = {"model": "medior"} if role == "dev" else {}
        self.call("task_pickup", issueId=issue, role=role, **tier)

    def reach(self, issue: int, label: str) -> None:
        """Wait for a worker's own report to move the issue, and for its turn to end."""
        self.wait_for(lambda: self.label(issue) == label, f"#{issue} is in {label}", within_s=60)
        self.idle()

    def pane(self, session: str) -> psutil.Process:
        """Return the process of a session's pane, from tmux."""
        socket = socket_name(self.workspace)
        argv = ["tmux", "-L", socket, "display-message", "-p", "-t", f"={session}:0.0", "#{pane_pid}"]
        return psutil.Process(int(subprocess.run(argv, capture_output=True, text=True, check=True).stdout))

    def kill_claude(self, session: str) -> None:
        process = self.pane(session)
        assert "claude" in process.cmdline()[0]
        process.kill()
        self.wait_for(lambda: not _lives(process), "claude has ended")

    def kill_tmux(self, session: str) -> None:
        server = self.pane(session).parent()
        assert server is not None
        assert server.name().startswith("tmux")
        server.kill()
        self.wait_for(lambda: not _lives(server), "the tmux server has ended")

    def was_told(self, text: str) -> bool:
        """Say whether a text stands in what the API was sent."""
        return any(text in request.raw.decode() for request in self.standin.turns)

    def lines_sent(self) -> Counter[str]:
        """Return how often each task's line stands in what the API was sent, over all conversations."""
        most: dict[tuple[str, str], int] = {}
        for request in self.standin.turns:
            for line, count in Counter(_lines(request.conversation)).items():
                most[request.session, line] = max(count, most.get((request.session, line), 0))
        total: Counter[str] = Counter()
        for (_, line), count in most.items():
            total[line] += count
        return total

    def witnessed(self, group: str | None = None) -> list[tuple[str, str]]:
        """Return the session's name and the offer of each line that the model was told, as often as it was."""
        told = self.lines_sent().elements()
        return [(Path(line.split("`")[1]).parents[1].name, line.split()[1].rstrip(":")) for line in told]

    def drivers(self) -> Counter[str]:
        """Return how many processes drive each conversation."""
        found: Counter[str] = Counter()
        for folder in (self.workspace / "memory" / "sessions").glob("*/conversation.json"):
            conversation = json.loads(folder.read_text())["id"]
            for process in psutil.process_iter(["cmdline"]):
                argv = process.info["cmdline"] or [""]
                found[conversation] += conversation in argv and Path(argv[0]).name != "tmux"
        return found


def _lives(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _lines(conversation: Conversation) -> Iterator[str]:
    for message in conversation.messages:
        content = message.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
        for block in blocks:
            if message.get("role") == "user" and block.get("type") == "text" and block["text"].startswith(LINE):
                yield block["text"].strip()


def play(conversation: Conversation) -> Answer:
    """Do what the task's file says and report; a worker that is told something else goes on with its newest task."""
    lines, turn = list(_lines(conversation)), conversation.turn
    if not lines or any(result.tool == REPORT for reply in turn.replies for result in reply.results):
        return Answer("There is nothing to do.")
    issue, attempt = map(int, lines[-1].split()[1].rstrip(":").split("."))
    result = "done"
    if f"/{QA}/" in lines[-1]:
        result = "pass"
    elif (work := follow_directives(_asked(conversation, lines[-1]))).calls:
        return work
    said = {"result": result, "summary": f"made {issue}.{attempt}", "issueId": issue, "attempt": attempt}
    return Answer(calls=(Call(REPORT, said),))


def _asked(conversation: Conversation, line: str) -> Conversation:
    """Return a conversation whose newest turn was asked for by this line."""
    whole, prompt = json.dumps(conversation.messages), json.dumps(conversation.turn.prompt)
    return replace(conversation, messages=tuple(json.loads(whole.replace(prompt, json.dumps(line)))))


@pytest.fixture
def yard(
    tmp_path: Path, needed: Callable[[str], None], claude_bin: str, wait_for: Callable[..., None]
) -> Iterator[ClaudeYard]:
    needed("tmux")
    needed("git")
    with StandIn(folder=tmp_path / "requests", script=play) as standin:
        yard = ClaudeYard(tmp_path / "yard", standin=standin, wait_for=wait_for)
        root = Path(__file__).parents[3]
        path = os.environ["PATH"]
        yard.environ = {"PATH": path, "HOME": str(yard.folder), "LC_ALL": "C.UTF-8", "PYTHONPATH": str(root)}
        yard.furnish(claude_bin)
        yield yard
        yard.kill_server()


@dataclass(frozen=True)
class Story:
    """What stands before the step at which something is killed, who is at it, and the label at the end of all."""

    kind: str
    session: str
    end: str
    before: Callable[[ClaudeYard], None]
    issue: int = 1

    @property
    def role(self) -> str:
        return "qa" if self.session == QA else "dev"


def _cold(yard: ClaudeYard) -> None:
    yard.create(1)


def _warm(yard: ClaudeYard) -> None:
    """The desk's session lives and has had a task."""
    yard.create(1)
    yard.pick_up(1, "dev")
    yard.reach(1, "To Test")
    yard.create(2)


def _tested(yard: ClaudeYard) -> None:
    yard.create(1)
    yard.pick_up(1, "dev")
    yard.reach(1, "To Test")


STORIES = {
    "cold": Story("pickup", DEV, "To Test", _cold),
    "warm": Story("pickup", DEV, "To Test", _warm, issue=2),
    "done": Story("complete", DEV, "To Test", _cold),
    "pass": Story("complete", QA, "Done", _tested),
}
# Who is killed. "+" in front: devclaw goes on; else it hangs at the step and is killed after the other.
VICTIMS = {
    "cold": ("devclaw",),
    "warm": ("devclaw", "claude", "tmux", "+claude", "+tmux"),
    "done": ("devclaw", "claude", "tmux"),
    "pass": ("devclaw", "claude", "tmux"),
}
ALL = [
    (name, point, victim)
    for name, story in STORIES.items()
    for point in fail_points()
    if point.startswith(f"{story.kind}.")
    for victim in VICTIMS[name]
]
# A start to be undone; a claim to be taken back; a typed line; a turn begun; a report kept, carried out, merged.
SOME = [
    ("cold", "pickup.3.session", "devclaw"),
    ("warm", "pickup.8.seat", "claude"),
    ("warm", "pickup.9.offer", "tmux"),
    ("warm", "pickup.10.accept", "claude"),
    ("warm", "pickup.7.put", "+claude"),
    ("done", "complete.1.report", "claude"),
    ("done", "complete.5.take", "devclaw"),
    ("pass", "complete.6.publish", "tmux"),
]
CASES = ALL if os.environ.get("DEVCLAW_CI_FULL") == "1" else SOME


@pytest.mark.parametrize(("name", "point", "victim"), CASES)
def test_a_task_goes_on_or_is_back_in_its_queue(yard: ClaudeYard, name: str, point: str, victim: str) -> None:
    story = STORIES[name]
    story.before(yard)

    if victim.startswith("+"):
        pick_up_with_a_kill_in_it(yard, story, point, victim[1:])
    elif story.kind == "pickup":
        pick_up_until(yard, story, point, victim)
    else:
        report_until(yard, story, point, victim)
    yard.arm("")
    recover(yard)
    after_recovery = violations(yard)
    take_to(yard, story)

    assert after_recovery == []
    assert violations(yard) == []
    assert (yard.intents(), yard.rows("line"), yard.seats()) == ([], [], {"dev": False, "qa": False})
    assert [line for line, count in yard.lines_sent().items() if count != 1] == []
    assert [conversation for conversation, count in yard.drivers().items() if count > 1] == []
    assert [report for report, count in reports_of(yard, story.issue).items() if count != 1] == []
    assert yard.git("show", f"devclaw/{story.issue}-task-{story.issue}:work-{story.issue}.txt") == str(story.issue)
    assert len(yard.git("log", "--merges", "--format=%s", "main").splitlines()) == (story.role == "qa")


def pick_up_with_a_kill_in_it(yard: ClaudeYard, story: Story, point: str, victim: str) -> None:
    """Pick up in this process, which goes on after the kill; what it answers is its own affair."""
    hit: list[str] = []

    def act() -> None:
        hit.append(point)
        kill(yard, story, victim)

    app = replace(yard.app(), faults=FailPoints(point, act))
    arguments = {"projectGroupId": GROUP, "issueId": story.issue, "role": story.role, "model": "medior"}
    catalogue.call(app, "task_pickup", arguments, HUMAN)
    assert hit == [point]


def pick_up_until(yard: ClaudeYard, story: Story, point: str, victim: str) -> None:
    word = "kill" if victim == "devclaw" else "hang"
    arguments = {"issueId": story.issue, "role": story.role, "model": "medior"}
    process = yard.start("task_pickup", failpoint=f"{point}:{word}", **arguments)
    if victim != "devclaw":
        yard.wait_for(lambda: hangs(yard, psutil.Process(process.pid), point), f"it hangs at {point}", within_s=60)
        kill(yard, story, victim)
        process.kill()
    _, err = process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL, err


def report_until(yard: ClaudeYard, story: Story, point: str, victim: str) -> None:
    """Let the worker report by its own tool, whose process is stopped at the point."""
    yard.arm(f"DEVCLAW_FAILPOINT={point}:{'kill' if victim == 'devclaw' else 'hang'}")
    yard.pick_up(story.issue, story.role)
    if victim == "devclaw":
        killed = "it ended with code -9 and without an answer"
        yard.wait_for(lambda: yard.was_told(killed), "the report's process was killed", within_s=60)
        assert stands_at(yard, point)
        yard.idle()
        return
    yard.wait_for(lambda: reporting(yard), "the worker reports", within_s=60)
    (process,) = reporting(yard)
    yard.wait_for(lambda: hangs(yard, process, point), f"it hangs at {point}", within_s=60)
    kill(yard, story, victim)
    process.kill()
    yard.wait_for(lambda: not _lives(process), "the report's process has ended")


def kill(yard: ClaudeYard, story: Story, victim: str) -> None:
    (yard.kill_claude if victim == "claude" else yard.kill_tmux)(story.session)


def reporting(yard: ClaudeYard) -> list[psutil.Process]:
    """Return the process of a worker's report."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        argv = process.info["cmdline"] or []
        if "task_complete" in argv and str(yard.workspace) in argv:
            found.append(process)
    return found


def hangs(yard: ClaudeYard, process: psutil.Process, point: str) -> bool:
    """Say whether a process does nothing at all at the point: a wait that looks again and again would be seen."""
    if not stands_at(yard, point):
        return False
    before = process.num_ctx_switches()
    time.sleep(STILL_S)
    return stands_at(yard, point) and process.num_ctx_switches() == before and not process.children()


def stands_at(yard: ClaudeYard, point: str) -> bool:
    """Say whether the journal stands between the point's row and the next."""
    kind, row, word = point.split(".")
    phases = [intent.phase for intent in yard.intents() if intent.kind == kind]
    if word == "close":
        return phases == [] and yard.rows("line") != []
    return phases == [max(1, int(row) - 1)] or (row == "1" and phases == [0])


def recover(yard: ClaudeYard) -> None:
    """Start devclaw again, which settles what was left open."""
    run(yard, "recover")
    yard.idle()


def run(yard: ClaudeYard, *words: str) -> None:
    process = yard.run(*words)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, out + err


def take_to(yard: ClaudeYard, story: Story) -> None:
    """Do what heartbeat and orchestrator do until the issue is at its end."""
    queue, deadline = {"dev": "To Do", "qa": "To Test"}[story.role], time.monotonic() + SETTLED_S
    while yard.label(story.issue) != story.end or yard.intents() or any(yard.seats().values()):
        assert time.monotonic() < deadline, (yard.tasks(), yard.seats(), yard.lines())
        run(yard, "heartbeat", "--once")
        yard.call("session_health", autoFix=True)
        yard.idle()
        if yard.label(story.issue) == queue:
            yard.pick_up(story.issue, story.role)
        yard.idle()


def reports_of(yard: ClaudeYard, issue: int) -> Counter[str]:
    """Return how often each report stands below the issue."""
    log = yard.workspace / "memory" / "issues" / "shop" / f"{issue}.log"
    said = [entry.get("body") or "" for entry in map(json.loads, log.read_text().splitlines())]
    return Counter(found[0] for body in said if (found := re.search(r"made \d+\.\d+", body)))
