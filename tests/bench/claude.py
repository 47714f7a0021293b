"""Workers that are the real Claude Code, with the stand-in in the place of its API; no token is spent."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from devclaw_py.agents.base import Workplace
from devclaw_py.agents.claude import events, launch
from devclaw_py.agents.look import LookStatus
from devclaw_py.agents.standin.directives import follow_directives
from devclaw_py.agents.standin.household import ENV_FILE, furnish
from devclaw_py.agents.standin.script import Answer, Conversation
from devclaw_py.agents.standin.server import StandIn
from devclaw_py.app import open_app
from devclaw_py.model.pipeline import Role, SessionAction, Tier
from devclaw_py.model.settings import AgentSettings, LimitSettings, Settings, TerminalSettings
from devclaw_py.rules.worker_mcp import COMMAND, TOKEN_FILE
from tests.bench.measure import Goal, Row, Scale, ms_of, wait_for
from tests.bench.office import ROOT, Office

NAME, MODEL = "shop-dev-medior", "anthropic/claude-sonnet-4-5"
TASK = "[[standin: say done]]"
MB = 1_000_000
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}},
}


class Script:
    """Follows directives, and notes when the newest answer was given."""

    def __init__(self) -> None:
        self.answered_at = 0.0

    def __call__(self, asked: Conversation) -> Answer:
        """Answer, and note the time."""
        answer = follow_directives(asked)
        self.answered_at = time.time()
        return answer


@dataclass(frozen=True)
class Desk:
    """One desk of an office whose workers are Claude Code."""

    office: Office
    place: Workplace
    script: Script
    program: str

    def ensure(self) -> SessionAction:
        """Have the session alive and idle."""
        return self.office.app.sessions.ensure(self.place, keep=frozenset())

    def stop(self) -> None:
        """Put the session to sleep."""
        self.office.app.sessions.stop(NAME)

    def give(self, offer: str) -> None:
        """Put a task to the session, until it is accepted."""
        self.office.app.sessions.offer(NAME, offer, TASK)
        self.office.app.sessions.wait_accepted(NAME, offer)

    def idle(self) -> bool:
        """Say whether no turn runs."""
        return self.office.app.sessions.look(NAME).status is LookStatus.IDLE

    def pane(self) -> psutil.Process:
        """Return Claude Code's own process."""
        session = self.office.app.sessions.terminal.find(NAME)
        if session is None:
            raise RuntimeError(f"{NAME} is gone")
        return psutil.Process(session.pid)


def program() -> str | None:
    """Return DEVCLAW_CLAUDE_BIN, else the claude on the PATH; None where there is none."""
    return shutil.which(os.environ.get("DEVCLAW_CLAUDE_BIN") or "claude")


def rows(scale: Scale) -> list[Row]:
    """Measure with the real program; nothing where it is missing, and a word on stderr."""
    found = program()
    if found is None:
        print("claude: not measured, no claude on the PATH and none in DEVCLAW_CLAUDE_BIN", file=sys.stderr)
        return []
    with _desk(found) as desk:
        return [_start(desk, scale), *_turns(desk, scale), _resume(desk, scale), *_memory(desk, scale)]


@contextmanager
def _desk(found: str) -> Iterator[Desk]:
    script = Script()
    with tempfile.TemporaryDirectory(prefix="devclaw-bench-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        with StandIn(folder=folder / "requests", script=script) as standin:
            environ = furnish(standin, home=folder / "home", workspace=folder, environ=os.environ)
            settings = Settings(
                agent=AgentSettings(kind="claude", claude_bin=found, env_file=ENV_FILE),
                terminal=TerminalSettings(socket=f"devclaw-bench-{uuid.uuid4().hex[:8]}"),
                limits=LimitSettings(sessions=10),
            )
            office = Office(folder, open_app(folder, settings, environ=environ), environ)
            (folder / "work").mkdir()
            place = Workplace(
                session=NAME, workspace=folder, group_id="-1001", project="shop", role=Role.DEV, tier=Tier.MEDIOR,
                model=MODEL, worktree=folder / "work", folder=office.app.sessions.folder(NAME),
            )  # fmt: skip
            try:
                yield Desk(office, place, script, found)
            finally:
                office.end()


def _start(desk: Desk, scale: Scale) -> Row:
    """Measure starts in pairs: one by devclaw, one of the bare program in the same tmux server."""
    row = Row(
        "claude_start",
        "start of a session until a task may be put to it",
        compared={"Claude Code alone, right before it, until its state file says idle": [], "the difference": []},
    )
    bare, more = row.compared.values()
    for turn in range(max(1, scale.processes // 3) + 1):
        alone = ms_of(lambda: _bare(desk))
        whole = ms_of(desk.ensure)
        desk.stop()
        shutil.rmtree(desk.place.folder)  # the next one is a first start too
        if turn:  # the first one makes the user's folder
            row.values.append(whole)
            bare.append(alone)
            more.append(whole - alone)
    return row


def _bare(desk: Desk) -> None:
    """Start the program as devclaw does, without hooks, tools and files of its own, and stop it again."""
    name, office = f"bare-{uuid.uuid4().hex[:6]}", desk.office
    argv = [desk.program, "--session-id", str(uuid.uuid4()), "--permission-mode", "dontAsk", "--strict-mcp-config"]
    variables = (office.folder / ENV_FILE).read_text(encoding="utf-8").splitlines()
    env = {**desk.office.environ, **launch.SWITCHES, **dict(line.split("=", 1) for line in variables if line)}
    marks = {"project": "shop", "role": "dev", "tier": "medior"}
    session = office.app.sessions.terminal.start(name, cwd=desk.place.worktree, argv=argv, env=env, marks=marks)
    state = office.folder / "home" / ".claude" / "sessions" / f"{session.pid}.json"
    wait_for(lambda: _says_idle(state), "Claude Code is idle")
    office.app.sessions.terminal.stop(name)


def _says_idle(state: Path) -> bool:
    try:
        return bool(json.loads(state.read_text(encoding="utf-8")).get("status") == "idle")
    except (OSError, ValueError):
        return False


def _turns(desk: Desk, scale: Scale) -> list[Row]:
    """Give tasks to a session that lives, one after another."""
    accepted = Row("claude_acceptance", "delivery of a task to an idle session, until it is accepted")
    known = Row(
        "claude_turn_end",
        "end of a turn: from the API's last answer until devclaw knows it",
        Goal(250),
        compared={"until Claude Code's Stop event is a file": []},
    )
    desk.ensure()
    for turn in range(1, scale.rounds + 2):
        took = ms_of(lambda: desk.give(f"{turn}.1"))  # noqa: B023 - called at once
        wait_for(desk.idle, "the turn has ended")
        at = time.time()
        if turn == 1:
            continue
        accepted.values.append(took)
        known.values.append((at - desk.script.answered_at) * 1000)
        told = events.newest(events.read(desk.place.folder), "Stop")
        if told is not None:
            known.compared["until Claude Code's Stop event is a file"].append(
                (told.at - desk.script.answered_at) * 1000
            )
    return [accepted, known]


def _resume(desk: Desk, scale: Scale) -> Row:
    row = Row("claude_resume", "a session that was put to sleep, until its conversation goes on and a task may be put")
    for _ in range(max(1, scale.processes // 3)):
        desk.stop()
        actions: list[SessionAction] = []
        row.values.append(ms_of(lambda: actions.append(desk.ensure())))  # noqa: B023 - called at once
        if actions != [SessionAction.RESUME]:
            raise RuntimeError(f"the session was not resumed: {actions}")
    return row


def _memory(desk: Desk, scale: Scale) -> list[Row]:
    """Weigh the idle session and its MCP server, in megabytes that no other process shares, and start such servers."""
    session = Row("claude_memory", "MB of memory of an idle session: Claude Code and devclaw's server beside it")
    server = Row("claude_mcp_memory", "MB of memory of a worker's MCP server", Goal(25))
    start = Row("claude_mcp_start", "start of a worker's MCP server until it has answered `initialize`", Goal(250))
    for _ in range(max(1, scale.rounds // 10)):
        used = dict(_used(process) for process in (desk.pane(), *desk.pane().children(recursive=True)))
        session.values.append(sum(used.values()))
        server.values.append(sum(each for words, each in used.items() if COMMAND in words))
    token = desk.place.folder / "token"
    for _ in range(max(1, scale.processes // 3)):
        start.values.append(ms_of(lambda: _serve(token)))
    return [session, server, start]


def _used(process: psutil.Process) -> tuple[tuple[str, ...], float]:
    """Return a process's arguments and what it uses; one that ends meanwhile uses nothing."""
    with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return tuple(process.cmdline()), float(process.memory_full_info().uss) / MB
    return (), 0.0


def _serve(token: Path) -> None:
    argv = [sys.executable, "-P", "-c", launch.START, str(ROOT), COMMAND]
    env = {"PATH": os.environ["PATH"], TOKEN_FILE: str(token)}
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as served:
        assert served.stdin is not None
        assert served.stdout is not None
        served.stdin.write(json.dumps(HELLO) + "\n")
        served.stdin.flush()
        answer = json.loads(served.stdout.readline())
        served.stdin.close()
        if "result" not in answer:
            raise RuntimeError(f"the server did not begin: {answer}")
