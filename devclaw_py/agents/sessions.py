"""Worker sessions: a terminal, an agent in it and a folder of files, as one thing that operations use."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from devclaw_py.agents import mailbox, tokens
from devclaw_py.agents.base import Agent, Workplace
from devclaw_py.agents.look import Look, LookStatus
from devclaw_py.agents.surroundings import base_environment, session_limit
from devclaw_py.agents.turn import files_of, turn
from devclaw_py.errors import DeliveryUnconfirmed, SessionFailed, WorkerBusy
from devclaw_py.kernel.clock import Clock
from devclaw_py.model.pipeline import SessionAction
from devclaw_py.model.settings import Settings
from devclaw_py.terminals import processes
from devclaw_py.terminals.base import Terminal, TerminalSession

NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
GRACE_S = 2.0
TELL_WAIT_S = 1.0
POLL_S = 0.02
ACCEPT_POLL_S = 0.003
CHECK_ALIVE_S = 1.0
LAST_LINES = 15


class Sessions:
    """The worker sessions of one workspace.

    A session has a lock of its own, held while anything is typed into it, while it is started and while it is
    stopped. "Gone" is an answer; whatever could not be asked is `SessionFailed`.
    """

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

    def ensure(self, place: Workplace, *, keep: frozenset[str]) -> SessionAction:
        """Have the session alive and idle; start or resume it where it is not.

        At the limit of sessions the one that was used longest ago and is idle is put to sleep, but none of ``keep``:
        name there those that hold a task and those that an operation under way has ensured.

        Raises:
            WorkerBusy: it works on something, or there is no room for one more session.
            SessionFailed: it could not be started or did not get ready; it was stopped again.
        """
        name = place.session
        here = place.model_copy(update={"folder": self.folder(name)})
        with files_of(name):
            mailbox.make(here.folder)
        with self._typing(name):
            look = self._settled(name)
            if look.status is LookStatus.IDLE:
                self._touch(name)
                return SessionAction.SEND
            if look.status is LookStatus.WORKING:
                raise WorkerBusy(f"the session {name} is still working; pick up again when it is idle")
            if look.status is LookStatus.UNKNOWN:
                attach = " ".join(self.terminal.attach_command(name))
                raise SessionFailed(f"{name} is alive and says nothing of itself", hint=f"look at it: {attach}")
            if look.status is LookStatus.DEAD:
                self.save_screen(name)
            return self._begin(here, keep)

    def offer(self, name: str, offer: str, message: str) -> Path:
        """Write the task file and the offer, then type the agent's line; return the task file.

        Raises:
            SessionFailed: the line could not be typed; the offer stays until it is made void.
        """
        folder = self.folder(name)
        task_file = folder / mailbox.TASKS / f"{offer}.md"
        with self._typing(name):
            mailbox.put(task_file, message)
            mailbox.put(folder / mailbox.OFFERS / offer, "")
            # Whoever was killed between pasting and Enter has left a line behind.
            self.terminal.clear_input(name)
            self.terminal.send(name, self.agent.line(offer, task_file))
            self._touch(name)
        return task_file

    def void(self, name: str, offer: str) -> bool:
        """Take an offer back: True when the worker can no longer accept it, False when it has."""
        return mailbox.void(self.folder(name), offer)

    def accepted(self, name: str, offer: str) -> bool:
        """Say whether the worker accepted the offer."""
        return mailbox.accepted(self.folder(name), offer)

    def wait_accepted(self, name: str, offer: str) -> None:
        """Wait up to ``receipt_s`` for the worker to accept; the offer is not made void here.

        Raises:
            DeliveryUnconfirmed: it did not, or its session ended before it could.
        """
        limit_s = self._settings.timeouts.receipt_s
        started = asked = self._clock.monotonic()
        while not self.accepted(name, offer):
            now = self._clock.monotonic()
            if now - started >= limit_s:
                raise DeliveryUnconfirmed(f"{name} did not accept task {offer} within {limit_s:g} s")
            if now - asked >= CHECK_ALIVE_S:
                asked = now
                self._check_alive(name, offer)
            self._clock.sleep(ACCEPT_POLL_S)

    def clear(self, name: str) -> None:
        """Empty the session's input line."""
        if self.folder(name).exists():
            with self._typing(name):
                self.terminal.clear_input(name)

    def tell(self, name: str, text: str) -> bool:
        """Type a line that is no task; False when the session is not alive or could not be told."""
        with suppress(SessionFailed):
            session = self.terminal.find(name)
            if session and session.alive and self.folder(name).exists():
                with self._typing(name, wait_s=TELL_WAIT_S):
                    self.terminal.send(name, self.agent.notice(text))
                return True
        return False

    def stop(self, name: str) -> None:
        """Put the session to sleep: its processes end, its token is void, its folder stays.

        Raises:
            SessionFailed: it could not be stopped.
        """
        if not self.folder(name).exists():
            self.terminal.stop(name)
            return
        with self._typing(name):
            self._end(name)

    def token(self, name: str) -> str:
        """Return the session's token; `SessionFailed` when it has none."""
        token = tokens.of(self.folder(name))
        if token is None:
            raise SessionFailed(f"{name} has no token: it was never started or was put to sleep")
        return token

    def worker_of(self, token: str) -> Workplace | None:
        """Return the worker with this token, or None."""
        return tokens.holder(self.root, token)

    def worker_above(self, pid: int) -> Workplace | None:
        """Return the worker below whose pane process ``pid`` runs, or None.

        Raises:
            NotAllowed: it runs below a worker of another workspace, or of a session that was stopped.
        """
        return tokens.worker_above(self.root, pid)

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
        return Look(status=LookStatus(self.agent.state(self.folder(name)).value))

    def _settled(self, name: str) -> Look:
        """Give an agent that works or starts a moment to become idle."""
        started, ready_s = self._clock.monotonic(), self._settings.timeouts.ready_s
        waits = {LookStatus.WORKING: GRACE_S, LookStatus.UNKNOWN: GRACE_S, LookStatus.STARTING: ready_s}
        while True:
            look = self.look(name)
            if self._clock.monotonic() - started >= waits.get(look.status, 0):
                return look
            self._clock.sleep(POLL_S)

    def _begin(self, place: Workplace, keep: frozenset[str]) -> SessionAction:
        """Start the session anew; one that never became ready is ended first."""
        name = place.session
        resume = self.agent.can_resume(place)
        launch = self.agent.launch(place, resume=resume, base_env=base_environment(self._environ, self._workspace))
        self._end(name)
        tokens.give(place)
        try:
            lock_s = self._settings.timeouts.lock_s
            with turn(self.root / "starting.lock", wait_s=lock_s, session=name, clock=self._clock):
                self._make_room(keep | {name})
                marks = {"project": place.project, "role": place.role.value, "tier": place.tier.value}
                self.terminal.start(name, cwd=place.worktree, argv=launch.argv, env=launch.env, marks=marks)
            self._wait_ready(name)
        except (SessionFailed, WorkerBusy):
            self.save_screen(name)
            with suppress(SessionFailed):
                self._end(name)
            raise
        self._touch(name)
        return SessionAction.RESUME if resume else SessionAction.SPAWN

    def _wait_ready(self, name: str) -> None:
        limit_s = self._settings.timeouts.ready_s
        deadline = self._clock.monotonic() + limit_s
        while (look := self.look(name)).status is not LookStatus.IDLE:
            if look.status in (LookStatus.ABSENT, LookStatus.DEAD):
                raise SessionFailed(f"{look.detail} before it was ready; it said: {self._last_lines(name)}")
            if self._clock.monotonic() >= deadline:
                raise SessionFailed(
                    f"{name} was not ready within {limit_s:g} s ({look.status}); it said: {self._last_lines(name)}"
                )
            self._clock.sleep(POLL_S)

    def _make_room(self, keep: frozenset[str]) -> None:
        alive = {name: look for name, look in self.looks().items() if look.status is not LookStatus.DEAD}
        limit = session_limit(self._settings.limits.sessions, alive=len(alive))
        idle = [name for name, look in alive.items() if look.status is LookStatus.IDLE and name not in keep]
        sleepers = sorted(idle, key=lambda name: mailbox.last_used(self.folder(name)))
        for _ in range(len(alive) - limit + 1):
            if not any(self._put_to_sleep(sleepers.pop(0)) for _ in list(sleepers)):
                raise WorkerBusy(
                    f"{len(alive)} worker sessions live, the limit is {limit}, and none of them can be put to sleep",
                    hint="raise [limits] sessions, or wait until a worker is done",
                )

    def _put_to_sleep(self, name: str) -> bool:
        """Stop a session if it is idle still and nobody types into it."""
        with suppress(SessionFailed), self._typing(name, wait_s=0):
            if self.look(name).status is LookStatus.IDLE and not mailbox.offered(self.folder(name)):
                self.save_screen(name)
                self._end(name)
                return True
        return False

    def _end(self, name: str) -> None:
        folder = self.folder(name)
        self.terminal.stop(name)
        processes.end(processes.marked(tokens.VARIABLE, str(folder / tokens.TOKEN)), grace_s=0)
        tokens.revoke(folder)
        (folder / mailbox.STATE).unlink(missing_ok=True)

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

    def _touch(self, name: str) -> None:
        mailbox.touch(self.folder(name), self._clock.now().timestamp())

    def _typing(self, name: str, *, wait_s: float | None = None) -> AbstractContextManager[None]:
        limit_s = self._settings.timeouts.lock_s if wait_s is None else wait_s
        return turn(self.folder(name) / f"{name}.lock", wait_s=limit_s, session=name, clock=self._clock)
