"""An agent without a process: plays the worker behind a `MemoryTerminal`, for tests, the demo and the simulator."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from devclaw_py.agents import mailbox
from devclaw_py.agents.base import AgentState, Condition, Launch, Workplace
from devclaw_py.agents.console import PlainTyping
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.question import Asked
from devclaw_py.rules.cleaning import one_line
from devclaw_py.terminals.base import TerminalSession
from devclaw_py.terminals.memory import MemoryTerminal, Started

Work = Callable[[str, str, str], None]


def no_work(session: str, offer: str, message: str) -> None:
    """Accept a task and do nothing: the worker stays at work until somebody reports for it."""


class MemoryAgent(PlainTyping):
    """Implements `Agent`; accepts what is offered and calls ``work(session, offer, message)`` in the sender's thread.

    ``accepts`` False makes it deaf, ``ready`` False keeps new sessions from becoming idle, those in ``working``
    have a turn running, those in ``unhearing`` take no message. ``endings`` is what `silent` says of an offer.
    ``received`` and ``refused`` hold (session, offer) in order: what was accepted, and what was void when it was
    read. ``details`` are the words beside a state.
    """

    kind = "memory"

    def __init__(self, terminal: MemoryTerminal, work: Work = no_work) -> None:
        self.work = work
        self.accepts, self.ready, self.resumes = True, True, False
        self.working: set[str] = set()
        self.unhearing: set[str] = set()
        self.received: list[tuple[str, str]] = []
        self.refused: list[tuple[str, str]] = []
        self.states: dict[str, AgentState] = {}
        self.endings: dict[str, str] = {}
        self.details: dict[str, str] = {}
        self._folders: dict[str, Path] = {}
        terminal.worker, terminal.on_start = self._typed, self._started

    def launch(self, place: Workplace, *, resume: bool, base_env: Mapping[str, str]) -> Launch:
        """Start nothing that could be run elsewhere."""
        self._folders[place.session] = place.folder
        return Launch(argv=("devclaw-memory-agent", *(["--resume"] if resume else [])), env=dict(base_env))

    def can_resume(self, place: Workplace) -> bool:
        """Return ``resumes``."""
        return self.resumes

    def lost(self, place: Workplace) -> bool:
        """Return False: what ``resumes`` says is true."""
        return False

    def state(self, folder: Path, session: TerminalSession, screen: Callable[[], str]) -> Condition:
        """Return working for the sessions in ``working``, else what was set, else starting."""
        set_to = AgentState.WORKING if folder.name in self.working else self.states.get(folder.name)
        return Condition(state=set_to or AgentState.STARTING, detail=self.details.get(folder.name, ""))

    def silent(self, folder: Path, offer: str) -> str | None:
        """Return what was set for the offer."""
        return self.endings.get(offer)

    def line(self, offer: str, task_file: Path) -> str:
        """Return the task line."""
        return f"task {offer} {task_file}"

    def notice(self, text: str) -> str:
        """Return the notice line."""
        return f"notice {one_line(text)}"

    def words(self, text: str) -> str:
        """Return the notice line."""
        return self.notice(text)

    def heard(self, folder: Path, line: str, since: float) -> bool:
        """Return False for the sessions in ``unhearing``."""
        return folder.name not in self.unhearing

    def ask(self, session: str, name: str, asked: Asked, *, at: float, expires: float) -> Path:
        """Play a worker that asks people; return where its answer will be."""
        record = {"id": name, "at": int(at), "expires": int(expires), "asked": asked.model_dump(mode="json")}
        mailbox.put(self._folders[session] / mailbox.QUESTIONS / f"{name}.json", json.dumps(record))
        return self._folders[session] / mailbox.ANSWERS / name

    def diagnose(self) -> list[Finding]:
        """Say that no program is run."""
        return [Finding(type="agent", severity=Severity.OK, message="workers are played in memory")]

    def _started(self, name: str, started: Started) -> None:
        self.states[name] = AgentState.IDLE if self.ready else AgentState.STARTING

    def _typed(self, name: str, text: str) -> None:
        task = re.fullmatch(r"task (\S+) (.+)", text)
        folder = self._folders.get(name)
        if not task or not folder or not self.accepts:
            return
        if not mailbox.accept(folder, task[1]):
            self.refused.append((name, task[1]))
            return
        self.received.append((name, task[1]))
        self.work(name, task[1], Path(task[2]).read_bytes().decode())
