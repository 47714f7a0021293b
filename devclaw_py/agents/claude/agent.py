"""Claude Code as a worker: the Agent port, put together from the modules beside it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from devclaw_py.agents import mailbox
from devclaw_py.agents.base import AgentState, Compaction, Condition, Context, Launch, Workplace
from devclaw_py.agents.claude import (
    asking,
    checkup,
    compacting,
    conversation,
    counting,
    delivery,
    endings,
    events,
    fullness,
    launch,
    presence,
    progress,
    screen,
    states,
)
from devclaw_py.agents.claude.states import Reading
from devclaw_py.agents.console import Console
from devclaw_py.errors import SessionFailed
from devclaw_py.model.finding import Finding
from devclaw_py.model.following import Ended
from devclaw_py.model.question import Asked
from devclaw_py.model.settings import AgentSettings
from devclaw_py.model.usage import Meter, TaskUsage
from devclaw_py.rules.cleaning import one_line
from devclaw_py.rules.speech import harmless
from devclaw_py.rules.worker_mcp import READY
from devclaw_py.terminals.base import Key, TerminalSession

LOG = "states.log"
# A start takes a second; before that the screen says nothing that is worth a question to the terminal.
QUIET_START_S = 2.0
# After that a screen with text and no input box is a dialog, whatever words it has.
LONG_START_S = 15.0
IDLE_S = 5.0
POLL_S = 0.02
# What is pasted stays free of the mark of pasted text up to 800 characters.
LINE_CHARS = 700
# An answer that comes in changes its count of tokens several times in so long.
STILL_S = 3.0


class ClaudeAgent:
    """Implements `Agent`. ``now`` is the time of day in seconds since 1970, to be compared with that of files."""

    kind = "claude"

    def __init__(self, settings: AgentSettings, workspace: Path, *, now: Callable[[], float] = time.time) -> None:
        self._settings, self._workspace, self._now = settings, workspace, now

    def launch(self, place: Workplace, *, resume: bool, base_env: Mapping[str, str]) -> Launch:
        """Write the session's files and return the command; see `agents.claude.launch`.

        Raises:
            ConfigError: the settings do not allow it, or Claude Code is not there.
            SessionFailed: another process drives the conversation.
        """
        kept = conversation.load(place.folder)
        config = launch.config_folder({**base_env, **launch.extra_environment(self._settings, place.workspace)})
        at = self._now()
        chosen = kept or conversation.first(place.worktree, config, at=at)
        if kept is not None and not resume:
            chosen = kept.fresh()
        if resume and (others := conversation.drivers(chosen, place.folder)):
            raise SessionFailed(
                f"the conversation {chosen.id} of {place.session} is driven by process {others[0]} already",
                hint="end that process; two would each lose what the other says",
            )
        started = launch.prepare(self._settings, place, conversation=chosen.id, resume=resume, env=base_env)
        settled = {"worktree": str(place.worktree), "config": str(config), "started": at}
        conversation.save(place.folder, chosen.model_copy(update=settled))
        events.prune(place.folder)
        return started

    def can_resume(self, place: Workplace) -> bool:
        """Say whether the session has a conversation that Claude Code would know."""
        kept = conversation.load(place.folder)
        return kept is not None and conversation.can_resume(kept, place.worktree)

    def lost(self, place: Workplace) -> bool:
        """Say whether Claude Code ended at once because it does not know the conversation."""
        with suppress(OSError):
            return "No conversation found" in (place.folder / "last-screen.txt").read_text(encoding="utf-8")
        return False

    def state(self, folder: Path, session: TerminalSession, screen: Callable[[], str]) -> Condition:
        """Return the state of the session's process; a change is noted in ``states.log``."""
        reading = self.read(folder, session, screen)
        self._note(folder, reading)
        state = states.AS_AGENT[reading.state]
        if reading.state in states.WAITING and reading.source != asking.SOURCE:
            state = AgentState.UNKNOWN
        return Condition(state=state, detail=reading.detail)

    def read(self, folder: Path, session: TerminalSession, screen: Callable[[], str]) -> Reading:
        """Return the state of a live session's process with its source and evidence."""
        kept, now = conversation.begun(folder), self._now()
        if kept is None or session.pid is None:
            said = "no conversation was ever started here"
            return Reading(state=states.ClaudeState.UNKNOWN_SCREEN, source="files", evidence=said, detail=f"has {said}")
        told = events.read(folder, since=kept.started)
        found = presence.read(Path(kept.config), session.pid)
        asked = None
        if found is None and not told and now - kept.started >= QUIET_START_S:
            asked = _asking(screen(), long=now - kept.started >= LONG_START_S)
        connected = (folder / READY).exists()
        usage = mailbox.read_record(folder / progress.USAGE)
        reading = states.fold(told, found, now=now, asking=asked, connected=connected, usage=usage)
        if found is None or reading.state not in states.WAITING:
            return reading
        return asking.named(folder, reading, now, waiting_since=found.since)

    def ended(self, folder: Path, session: TerminalSession, offer: str) -> Ended | None:
        """Return how the newest turn since the offer was accepted ended; for a session that is idle."""
        kept = conversation.load(folder)
        found = presence.read(Path(kept.config), session.pid) if kept and session.pid else None
        accepted = None
        with suppress(OSError):
            # Renaming it is what accepted it, and the time of that is the change of its entry.
            accepted = (folder / mailbox.ACCEPTED / offer).stat().st_ctime
        return endings.ended(
            events.read(folder),
            self.line(offer, folder / mailbox.TASKS / f"{offer}.md"),
            accepted=accepted,
            idle_since=found.since if found else 0.0,
            full=kept is not None and progress.is_full(kept.transcript),
            usage=mailbox.read_record(folder / progress.USAGE),
        )

    def quiet_since(self, folder: Path, session: TerminalSession) -> datetime | None:
        """Return when a session that says it works last wrote anything; None while a tool runs or a person is asked."""
        kept = conversation.load(folder)
        if kept is None or session.pid is None:
            return None
        found = presence.read(Path(kept.config), session.pid)
        last = endings.newest_turn(events.read(folder, since=kept.started))
        open_turn = last is not None and last.name in states.OPEN
        if found is None or found.status != "busy" or not open_turn or progress.tools(session.pid):
            return None
        return datetime.fromtimestamp(progress.last_sign(folder, kept), UTC)

    def line(self, offer: str, task_file: Path) -> str:
        """Return the line that names the task file; the hook knows it by its first words."""
        return f"{delivery.TASK} {offer}: Read the file `{task_file}` and do the task in it."

    def notice(self, text: str) -> str:
        """Return ``devclaw-notice: <text on one line>``."""
        return f"{delivery.NOTICE}: {one_line(text, limit=LINE_CHARS)}"

    def words(self, text: str) -> str:
        """Return the text so that no line of it is a command and no file is read for it."""
        return harmless(text)

    def post(self, console: Console, line: str, about_to: Callable[[], None]) -> None:
        """Put a message's line into the box of an idle session and press Enter."""
        events.prune(console.folder)
        delivery.put(console, line, about_to)

    def heard(self, folder: Path, line: str, since: float) -> bool:
        """Say whether the event of a prompt with this text arrived."""
        told = events.read(folder, since=since)
        prompts = (event.text("prompt") for event in told if event.name == "UserPromptSubmit")
        return any(screen.same(_unmarked(prompt), _unmarked(line)) for prompt in prompts)

    def submit(self, console: Console, line: str) -> None:
        """Wait for the session to be idle, then put the line into its input box and press Enter."""
        deadline = console.clock.monotonic() + IDLE_S
        while (condition := self._condition(console)).state is not AgentState.IDLE:
            if console.clock.monotonic() >= deadline:
                raise SessionFailed(f"{console.name} is not idle: {condition.detail or condition.state}")
            console.clock.sleep(POLL_S)
        events.prune(console.folder)
        delivery.put(console, line)

    def nudge(self, console: Console, line: str) -> None:
        """Press Enter again where the line still stands in the box."""
        delivery.again(console, line)

    def say(self, console: Console, line: str) -> None:
        """Put a line to an idle session, or to one at work, which takes it up when it can."""
        if self._condition(console).state not in (AgentState.IDLE, AgentState.WORKING):
            raise SessionFailed(f"{console.name} cannot be told anything now")
        delivery.put(console, line)

    def interrupt(self, console: Console, about_to: Callable[[], None]) -> bool:
        """Press Escape once, unless the screen's count of tokens moves; the conversation stays, the turn ends."""
        before = console.terminal.screen(console.name)
        console.clock.sleep(STILL_S)
        session, after = console.terminal.find(console.name), console.terminal.screen(console.name)
        if session is None or self.quiet_since(console.folder, session) is None:
            return False
        if progress.counted(before) != progress.counted(after):
            return False
        about_to()
        console.terminal.press(console.name, Key.ESCAPE)
        return True

    def tidy(self, console: Console) -> None:
        """Remove a line of devclaw's from the box; a person's words stay."""
        delivery.tidy(console)

    def asked(self, payload: Mapping[str, Any]) -> Asked | None:
        """Return what Claude Code asks through its hook."""
        return asking.asked(payload)

    def still_asks(self, folder: Path, record: Mapping[str, Any]) -> bool:
        """Return whether its process says that it waits: answered in the terminal, it leaves its hook running."""
        return asking.still_asks(folder, record, now=self._now())

    def reply(self, payload: Mapping[str, Any], answers: Sequence[str], *, caller: str, message: str) -> str:
        """Return what the hook prints."""
        return asking.reply(payload, answers, caller=caller, message=message)

    def context(self, folder: Path) -> Context | None:
        """Return what the status line said of the session's conversation."""
        return fullness.context(folder)

    def compact(self, console: Console, limit_s: float) -> Compaction:
        """Type ``/compact`` and wait for its events."""
        events.prune(console.folder)
        return compacting.compact(console, lambda: self._condition(console).state is AgentState.IDLE, limit_s)

    def meter(self, folder: Path) -> Meter | None:
        """Return where the transcript ends and what the process has cost."""
        return counting.meter(folder, at=self._now())

    def usage(self, since: Meter, until: Meter) -> TaskUsage:
        """Count the transcript's messages between two marks."""
        return counting.usage(since, until)

    def diagnose(self) -> list[Finding]:
        """Look for the program, its version, its set-up, and what the settings do to it."""
        return list(checkup.findings(self._settings, self._workspace, os.environ))

    def _condition(self, console: Console) -> Condition:
        session = console.terminal.find(console.name)
        if session is None or not session.alive:
            raise SessionFailed(f"{console.name} is gone")
        return self.state(console.folder, session, lambda: console.terminal.screen(console.name))

    def _note(self, folder: Path, reading: Reading) -> None:
        """Add a line to the log where the state is another one than the log's last."""
        with suppress(OSError):
            path = folder / LOG
            last = _last_line(path)
            if f'"state":"{reading.state.value}"' not in last:
                line = f'{{"at":{self._now():.3f},{reading.model_dump_json()[1:]}\n'
                with open(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as file:
                    file.write(line.encode("utf-8", errors="replace"))


def _asking(shown: str, *, long: bool) -> str | None:
    found = screen.asks(shown)
    if found is None and long and screen.box(shown) is None:
        return screen.said(shown)
    return found


def _last_line(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - 4000))
            return file.read().decode("utf-8", errors="replace").rstrip("\n").rpartition("\n")[2]
    except FileNotFoundError:
        return ""


def _unmarked(text: str) -> str:
    r"""Return a prompt without what Claude Code adds: a person's ``<pasted_content>`` becomes ``<\pasted_content>``."""
    return text.replace("<\\", "<")
