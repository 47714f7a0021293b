"""What is put into a worker session that lives, and how the session looks meanwhile."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from devclaw_py.agents import mailbox, tokens
from devclaw_py.agents.base import Agent
from devclaw_py.agents.console import Console
from devclaw_py.agents.look import Look, LookStatus
from devclaw_py.agents.turn import files_of, turn
from devclaw_py.errors import DeliveryUnconfirmed, SessionError, SessionFailed
from devclaw_py.kernel.clock import Clock
from devclaw_py.model.settings import Settings
from devclaw_py.terminals.base import Terminal, TerminalSession

NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
TELL_WAIT_S = 1.0
ACCEPT_POLL_S = 0.003
CHECK_ALIVE_S = 1.0
NUDGE_S = 3.0
LAST_LINES = 15


class Posting:
    """Looking at the sessions of one workspace and typing into them, each under a lock of its own."""

    def __init__(
        self,
        terminal: Terminal,
        agent: Agent,
        workspace: Path,
        settings: Settings,
        clock: Clock,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.terminal, self.agent = terminal, agent
        self.root = workspace.resolve() / "memory" / "sessions"
        self._workspace = workspace.resolve()
        self._settings, self._clock = settings, clock
        self._environ = os.environ if environ is None else environ

    def folder(self, name: str) -> Path:
        """Return the session's folder, whether it exists or not."""
        if not NAME.fullmatch(name):
            raise SessionFailed(f"{name!r} is no session name: a-z, 0-9 and - only")
        return self.root / name

    def look(self, name: str) -> Look:
        """Ask the terminal and the agent how the session stands.

        Raises:
            SessionFailed: the terminal could not be asked.
        """
        return self._look(self.terminal.find(name), name)

    def looks(self) -> dict[str, Look]:
        """Return a look at every session, with one question to the terminal.

        Raises:
            SessionFailed: the terminal could not be asked.
        """
        return {session.name: self._look(session, session.name) for session in self.terminal.sessions()}

    def offer(self, name: str, offer: str, message: str) -> Path:
        """Write the task file and the offer, then have the agent's line typed; return the task file.

        The offer's file holds the line as JSON, for an agent's side that compares what arrived.

        Raises:
            SessionFailed: the line could not be typed; the offer stays until it is made void.
            DeliveryUnconfirmed: it was not typed: a person's text or a dialog is in the way; the offer stays as well.
        """
        folder = self.folder(name)
        task_file = folder / mailbox.TASKS / f"{offer}.md"
        with self._typing(name):
            mailbox.put(task_file, message)
            line = self.agent.line(offer, task_file)
            mailbox.put_offer(folder, offer, line)
            self.agent.submit(self._console(name), line)
            self._touch(name)
        return task_file

    def void(self, name: str, offer: str) -> bool:
        """Take an offer back: True when the worker can no longer accept it, False when it has."""
        with files_of(name):
            return mailbox.void(self.folder(name), offer)

    def accepted(self, name: str, offer: str) -> bool:
        """Say whether the worker accepted the offer."""
        with files_of(name):
            return mailbox.accepted(self.folder(name), offer)

    def wait_accepted(self, name: str, offer: str) -> None:
        """Wait up to ``receipt_s`` for the worker to accept; the offer is not made void here.

        Raises:
            DeliveryUnconfirmed: it did not, or its session ended before it could.
        """
        limit_s = self._settings.timeouts.receipt_s
        started = asked = nudged = self._clock.monotonic()
        while not self.accepted(name, offer):
            now = self._clock.monotonic()
            if now - started >= limit_s:
                raise DeliveryUnconfirmed(
                    f"{name} did not accept task {offer} within {limit_s:g} s; its screen: {self._last_lines(name)}"
                )
            if now - asked >= CHECK_ALIVE_S:
                asked = now
                self._check_alive(name, offer)
            if now - nudged >= NUDGE_S:
                nudged = now
                self._nudge(name, offer)
            self._clock.sleep(ACCEPT_POLL_S)

    def clear(self, name: str) -> None:
        """Remove a line of devclaw's that was left in the session's input."""
        if self.folder(name).exists():
            with self._typing(name):
                self.agent.tidy(self._console(name))

    def tell(self, name: str, text: str) -> bool:
        """Type a line that is no task; False when the session is not alive or could not be told.

        Raises:
            SessionFailed: the terminal could not be asked; the worker may be at work and know nothing.
        """
        with suppress(SessionError):
            session = self.terminal.find(name)
            if session and session.alive and self.folder(name).exists():
                with self._typing(name, wait_s=TELL_WAIT_S):
                    self.agent.say(self._console(name), self.agent.notice(text))
                return True
            return False
        self.terminal.sessions()
        return False

    def save_screen(self, name: str) -> None:
        """Keep the session's last screen in ``last-screen.txt``, if that can be done."""
        with suppress(SessionFailed, OSError):
            mailbox.put(self.folder(name) / "last-screen.txt", self.terminal.screen(name) + "\n")

    def _look(self, session: TerminalSession | None, name: str) -> Look:
        if session is None:
            return Look(status=LookStatus.ABSENT, detail=f"there is no session {name}")
        if not session.alive:
            how = "by a signal" if session.exit_code is None else f"with exit code {session.exit_code}"
            return Look(status=LookStatus.DEAD, exit_code=session.exit_code, detail=f"{name} ended {how}")
        if tokens.of(self.folder(name)) is None:
            # Whoever deleted its files has left a worker that can neither be given a task nor report one.
            return Look(status=LookStatus.DEAD, detail=f"{name} has lost its files")
        condition = self.agent.state(self.folder(name), session, lambda: self.terminal.screen(name))
        return Look(status=LookStatus(condition.state.value), detail=condition.detail)

    def _nudge(self, name: str, offer: str) -> None:
        folder = self.folder(name)
        with suppress(SessionFailed), self._typing(name, wait_s=TELL_WAIT_S):
            self.agent.nudge(self._console(name), self.agent.line(offer, folder / mailbox.TASKS / f"{offer}.md"))

    def _check_alive(self, name: str, offer: str) -> None:
        look = self.look(name)
        if look.status in (LookStatus.ABSENT, LookStatus.DEAD):
            raise DeliveryUnconfirmed(f"{name} did not accept task {offer}: {look.detail}")

    def _last_lines(self, name: str) -> str:
        try:
            said = [line.strip() for line in self.terminal.screen(name).splitlines() if line.strip()]
            return " | ".join(said[-LAST_LINES:]) or "nothing"
        except SessionFailed:
            return "nothing that could be read"

    def _console(self, name: str) -> Console:
        patience_s = self._settings.timeouts.receipt_s
        return Console(self.terminal, name, self.folder(name), self._clock, patience_s)

    def _touch(self, name: str) -> None:
        mailbox.touch(self.folder(name), self._clock.now().timestamp())

    def _typing(self, name: str, *, wait_s: float | None = None) -> AbstractContextManager[None]:
        limit_s = self._settings.timeouts.lock_s if wait_s is None else wait_s
        return turn(self.folder(name) / f"{name}.lock", wait_s=limit_s, session=name, clock=self._clock)
