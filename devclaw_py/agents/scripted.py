"""The scripted agent: runs the program of ``[agent] program`` for each task, without a model.

For tests, the demo and work that a program can do. What it says of itself stands in ``state.json`` of the session's
folder, how a program ended in ``events/ended-<offer>.json``; both are written by `agents.scripted_loop`.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import devclaw_py
from devclaw_py.agents import mailbox
from devclaw_py.agents.base import AgentState, Condition, Launch, Workplace
from devclaw_py.agents.console import PlainTyping
from devclaw_py.agents.plain import WithoutConversation
from devclaw_py.agents.scripted_loop import NOTICE, TASK
from devclaw_py.errors import ConfigError
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.following import End, Ended
from devclaw_py.model.settings import AgentSettings
from devclaw_py.rules.cleaning import one_line
from devclaw_py.terminals import processes
from devclaw_py.terminals.base import TerminalSession

LOOP = "devclaw_py.agents.scripted_loop"
STATES = {"idle": AgentState.IDLE, "working": AgentState.WORKING}


class ScriptedAgent(WithoutConversation, PlainTyping):
    """Implements `Agent`."""

    kind = "scripted"

    def __init__(self, settings: AgentSettings) -> None:
        self._program = settings.program

    def launch(self, place: Workplace, *, resume: bool, base_env: Mapping[str, str]) -> Launch:
        """Start the loop; ``resume`` means nothing here, a program has no conversation."""
        if not self._program:
            raise ConfigError('[agent] kind is "scripted" and program is empty: name the program to run for each task')
        env = {
            **base_env,
            "DEVCLAW_WORKSPACE": str(place.workspace),
            "DEVCLAW_GROUP_ID": place.group_id,
            "DEVCLAW_PROJECT": place.project,
            "DEVCLAW_ROLE": place.role.value,
            "DEVCLAW_TIER": place.tier.value,
            "DEVCLAW_TOKEN_FILE": str(place.token_file),
            "PYTHONPATH": str(Path(devclaw_py.__file__).parent.parent),
        }
        # -P: a module of the worktree must not be taken for one of Python's.
        return Launch(argv=(sys.executable, "-P", "-m", LOOP, *self._program), env=env)

    def can_resume(self, place: Workplace) -> bool:
        """A program has no conversation: a dead session is started anew."""
        return False

    def lost(self, place: Workplace) -> bool:
        """Return False: nothing is resumed."""
        return False

    def state(self, folder: Path, session: TerminalSession, screen: Callable[[], str]) -> Condition:
        """Return what the loop last said; unknown when the process that said it is gone."""
        return Condition(state=_said(folder))

    def ended(self, folder: Path, session: TerminalSession, offer: str) -> Ended | None:
        """Return how the offer's program ended."""
        path = folder / mailbox.EVENTS / f"ended-{offer}.json"
        record = mailbox.read_record(path)
        if record is None:
            return None
        at = record.get("at")
        ended_at = datetime.fromtimestamp(at if isinstance(at, int | float) else 0, UTC)
        return Ended(how=End.PROGRAM, key=path.name, at=ended_at, words=_how(record))

    def quiet_since(self, folder: Path, session: TerminalSession) -> datetime | None:
        """Return None: a program may work for hours without a sign."""
        return None

    def line(self, offer: str, task_file: Path) -> str:
        """Return ``devclaw-task <offer> <task file>``."""
        return f"{TASK} {offer} {task_file}"

    def notice(self, text: str) -> str:
        """Return ``devclaw-notice <text on one line>``."""
        return f"{NOTICE} {one_line(text)}"

    def words(self, text: str) -> str:
        """Return a notice: a program has no conversation."""
        return self.notice(text)

    def diagnose(self) -> list[Finding]:
        """Check that there is a program and that it can be run."""
        if not self._program:
            return [_finding(Severity.CRITICAL, "[agent] program is empty", "name the program to run for each task")]
        if shutil.which(self._program[0]) is None:
            message = f"[agent] program {self._program[0]} is not an executable program"
            there = os.path.isfile(self._program[0])
            mend = f"chmod +x {shlex.quote(self._program[0])}" if there else "write its absolute path"
            return [_finding(Severity.CRITICAL, message, mend)]
        return [_finding(Severity.OK, f"tasks are done by {' '.join(self._program)}")]


def _how(record: Mapping[str, Any]) -> str:
    if record.get("error"):
        return str(record["error"])
    if record.get("signal"):
        return f"its program was ended by {_signal_name(int(record['signal']))}"
    return f"its program ended with exit code {record.get('code')}"


def _said(folder: Path) -> AgentState:
    if not (folder / mailbox.STATE).exists():
        return AgentState.STARTING
    record = mailbox.read_record(folder / mailbox.STATE) or {}
    pid = record.get("pid")
    if not isinstance(pid, int) or not processes.alive(pid):
        return AgentState.UNKNOWN
    return STATES.get(str(record.get("status")), AgentState.UNKNOWN)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _finding(severity: Severity, message: str, mend: str = "") -> Finding:
    return Finding(type="agent", severity=severity, message=message, mend=mend)
