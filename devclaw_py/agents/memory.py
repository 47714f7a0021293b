"""An agent without a process: plays the worker behind a `MemoryTerminal`, for tests, the demo and the simulator."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from devclaw_py.agents import mailbox
from devclaw_py.agents.base import AgentState, Compaction, Condition, Context, Launch, Workplace
from devclaw_py.agents.console import Console, PlainTyping
from devclaw_py.agents.sessions import Sessions
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.following import End, Ended
from devclaw_py.model.question import Asked
from devclaw_py.model.usage import Meter, TaskUsage, Tokens
from devclaw_py.rules.cleaning import one_line
from devclaw_py.terminals.base import TerminalSession
from devclaw_py.terminals.memory import MemoryTerminal, Started

LONG_AGO = datetime(2026, 1, 1, tzinfo=UTC)

Work = Callable[[str, str, str], None]
Told = Callable[[str, str], None]


def no_work(session: str, offer: str, message: str) -> None:
    """Accept a task and do nothing: the worker stays at work until somebody reports for it."""


def no_ears(session: str, text: str) -> None:
    """Hear a line that is no task, and do nothing."""


class MemoryAgent(PlainTyping):
    """Implements `Agent`; accepts what is offered and calls ``work(session, offer, message)`` in the sender's thread.

    ``accepts`` False makes it deaf, ``ready`` False keeps new sessions from becoming idle, those in ``working``
    have a turn running, those in ``unhearing`` take no message. ``endings`` are programs that ended, by offer;
    ``ends`` what else `ended` says of one, ``quiet`` what `quiet_since` says of a session. ``resumed`` counts the
    resumes of sessions that were told nothing since. ``received`` and ``refused`` hold (session, offer) in order: what
    was accepted, and what was void when it was read. ``details`` are the words beside a state.

    A session that stands in ``used`` has a conversation that is as full as it says there; ``compaction`` is what comes
    of compacting one, and a new start without ``--resume`` begins a new one. ``spent`` is how many tokens of output
    a conversation has cost, None when that cannot be read.
    """

    kind = "memory"

    def __init__(self, terminal: MemoryTerminal, work: Work = no_work) -> None:
        self.work = work
        self.accepts, self.ready, self.resumes = True, True, False
        self.told: Told = no_ears
        self.stopped: Callable[[str], None] = lambda session: None
        self.forgetful: set[str] = set()
        self.deaf: set[str] = set()
        self.talks = False
        self.working: set[str] = set()
        self.unhearing: set[str] = set()
        self.received: list[tuple[str, str]] = []
        self.refused: list[tuple[str, str]] = []
        self.states: dict[str, AgentState] = {}
        self.endings: dict[str, str] = {}
        self.ends: dict[str, Ended] = {}
        self.quiet: dict[str, datetime] = {}
        self.interrupted: list[str] = []
        self.resumed: dict[str, int] = {}
        self._resumes = 0
        self.details: dict[str, str] = {}
        self.used: dict[str, float | None] = {}
        self.compaction = Compaction.DONE
        self.compacted: list[str] = []
        self.spent: dict[str, int | None] = {}
        self._starts: dict[str, int] = {}
        self._folders: dict[str, Path] = {}
        terminal.worker, terminal.on_start = self._typed, self._started

    def launch(self, place: Workplace, *, resume: bool, base_env: Mapping[str, str]) -> Launch:
        """Start nothing that could be run elsewhere."""
        self._folders[place.session] = place.folder
        if not resume:
            self._starts[place.session] = self._starts.get(place.session, 0) + 1
            if self.used.get(place.session) is not None:
                self.used[place.session] = 0.0
        return Launch(argv=("devclaw-memory-agent", *(["--resume"] if resume else [])), env=dict(base_env))

    def can_resume(self, place: Workplace) -> bool:
        """Return ``resumes``; False of a session in ``forgetful``, and with ``talks`` of one that never began."""
        began = not self.talks or place.session in self._starts
        return self.resumes and began and place.session not in self.forgetful

    def lost(self, place: Workplace) -> bool:
        """Return False: what ``resumes`` says is true."""
        return False

    def state(self, folder: Path, session: TerminalSession, screen: Callable[[], str]) -> Condition:
        """Return working for the sessions in ``working``, else what was set, else starting."""
        set_to = AgentState.WORKING if folder.name in self.working else self.states.get(folder.name)
        return Condition(state=set_to or AgentState.STARTING, detail=self.details.get(folder.name, ""))

    def ended(self, folder: Path, session: TerminalSession, offer: str) -> Ended | None:
        """Return what was set for the offer; a session that was resumed and told nothing since says so."""
        if folder.name in self.resumed:
            key, words = f"resumed-{self.resumed[folder.name]}", "its session was started again"
            return Ended(how=End.RESTARTED, key=key, at=LONG_AGO, words=words)
        if offer in self.endings:
            return Ended(how=End.PROGRAM, key=offer, at=LONG_AGO, words=self.endings[offer])
        return self.ends.get(offer)

    def quiet_since(self, folder: Path, session: TerminalSession) -> datetime | None:
        """Return what was set for the session."""
        return self.quiet.get(folder.name)

    def interrupt(self, console: Console, about_to: Callable[[], None]) -> bool:
        """End the turn of a session in ``quiet``."""
        if console.name not in self.quiet:
            return False
        about_to()
        self.quiet.pop(console.name)
        self.working.discard(console.name)
        self.interrupted.append(console.name)
        self.stopped(console.name)
        return True

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

    def context(self, folder: Path) -> Context | None:
        """Return what ``used`` says; conversations are named by session and number."""
        if folder.name not in self.used:
            return None
        *former, now = (f"{folder.name}#{number + 1}" for number in range(self._starts[folder.name]))
        return Context(conversation=now, used=self.used[folder.name], former=tuple(former))

    def compact(self, console: Console, limit_s: float) -> Compaction:
        """Return ``compaction``; after one that is done little of the context is used."""
        self.compacted.append(console.name)
        if self.compaction is Compaction.DONE:
            self.used[console.name] = 0.05
        return self.compaction

    def meter(self, folder: Path) -> Meter | None:
        """Return what the conversation has spent, as the size of its record."""
        found = self.context(folder)
        if found is None:
            return None
        size = self.spent.get(found.conversation, 0) or 0
        return Meter(conversation=found.conversation, file=found.conversation, size=size, at=0, cost_usd=size / 1000)

    def usage(self, since: Meter, until: Meter) -> TaskUsage:
        """Return the difference as tokens of output."""
        if self.spent.get(until.conversation, 0) is None or since.file != until.file:
            return TaskUsage(until=until)
        tokens = Tokens(output=until.size - since.size)
        return TaskUsage(models={"memory": tokens}, cost_usd=tokens.output / 1000, until=until)

    def spend(self, session: str, *, usd: float) -> None:
        """Let a session's conversation cost so much more; a token costs a thousandth of a dollar here."""
        found = self.context(self._folders[session])
        if found is not None:
            self.spent[found.conversation] = (self.spent.get(found.conversation) or 0) + round(usd * 1000)

    def diagnose(self) -> list[Finding]:
        """Say that no program is run."""
        return [Finding(type="agent", severity=Severity.OK, message="workers are played in memory")]

    def _started(self, name: str, started: Started) -> None:
        self.states[name] = AgentState.IDLE if self.ready else AgentState.STARTING
        self.working.discard(name)
        self.quiet.pop(name, None)
        if self.talks:
            self.used.setdefault(name, 0.0)
        if "--resume" in started.argv:
            self._resumes += 1
            self.resumed[name] = self._resumes

    def _typed(self, name: str, text: str) -> None:
        self.resumed.pop(name, None)
        task = re.fullmatch(r"task (\S+) (.+)", text)
        folder = self._folders.get(name)
        if not task:
            self.told(name, text)
            return
        if not folder or not self.accepts or name in self.deaf:
            return
        if not mailbox.accept(folder, task[1]):
            self.refused.append((name, task[1]))
            return
        self.received.append((name, task[1]))
        self.work(name, task[1], Path(task[2]).read_bytes().decode())


class MemorySessions(Sessions):
    """Sessions behind a `MemoryTerminal`: no process can have left one, so none is looked for on the machine."""

    def _end_leftovers(self, folder: Path) -> None:
        """Do nothing."""
