"""Worker sessions: a terminal, an agent in it and a folder of files, as one thing that operations use."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from devclaw_py.agents import mailbox, tokens
from devclaw_py.agents.asking import Asking
from devclaw_py.agents.base import Compaction, Context, Workplace
from devclaw_py.agents.look import Look, LookStatus
from devclaw_py.agents.surroundings import base_environment, session_limit
from devclaw_py.agents.turn import files_of, turn
from devclaw_py.errors import SessionFailed, WorkerBusy
from devclaw_py.model.pipeline import SessionAction
from devclaw_py.model.usage import Meter, TaskUsage
from devclaw_py.terminals import processes

GRACE_S = 2.0
ASKING_S = 1.0
# A status line comes within this time after its turn.
CURRENT_S = 1.0
POLL_S = 0.02
OVER = (LookStatus.ABSENT, LookStatus.DEAD)


class Sessions(Asking):
    """The worker sessions of one workspace.

    A session has a lock of its own, held while anything is typed into it, while it is started and while it is
    stopped. "Gone" is an answer; whatever could not be asked is `SessionFailed`.
    """

    def ensure(self, place: Workplace, *, keep: frozenset[str]) -> SessionAction:
        """Have the session alive and idle; start or resume it where it is not.

        At the limit of sessions the one that was used longest ago and is idle is put to sleep, but none of ``keep``:
        name there those that hold a task and those that an operation under way has ensured.

        Raises:
            WorkerBusy: it works on something, or there is no room for one more session.
            SessionFailed: it could not be started or did not get ready; it was stopped again, but not one that asks
                a person something.
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
                raise SessionFailed(_stuck(name, look), hint=_attach(place))
            if look.status is LookStatus.DEAD:
                self.save_screen(name)
            return self._begin(here, keep)

    def context(self, name: str) -> Context | None:
        """Return how full the session's conversation is, None where it has none; wait a second for a late figure.

        Raises:
            SessionFailed: the session's files cannot be read.
        """
        started = self._clock.monotonic()
        while True:
            with files_of(name):
                found = self.agent.context(self.folder(name))
            if found is None or found.current or self._clock.monotonic() - started >= CURRENT_S:
                return found
            self._clock.sleep(POLL_S)

    def compact(self, name: str) -> Compaction:
        """Have an idle session's conversation compacted; see `Agent.compact`."""
        with self._typing(name):
            return self.agent.compact(self._console(name), self._settings.timeouts.compact_s)

    def renew(self, place: Workplace, *, keep: frozenset[str]) -> None:
        """Start the session again with a new conversation, whatever it does; ``keep`` as in `ensure`.

        Raises:
            WorkerBusy, SessionFailed: it was not started; the next start begins a new conversation as well.
        """
        here = place.model_copy(update={"folder": self.folder(place.session)})
        with self._typing(place.session):
            self.save_screen(place.session)
            self._started(here, keep, resume=False)

    def meter(self, name: str) -> Meter | None:
        """Return where the session's usage stands; None where that is not known."""
        with suppress(OSError):
            return self.agent.meter(self.folder(name))
        return None

    def usage(self, since: Meter, until: Meter) -> TaskUsage:
        """Count what was used between two marks of a session; what cannot be read is None in it."""
        return self.agent.usage(since, until)

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

    def end(self, name: str) -> None:
        """Stop the session at once, whoever is typing into it; what it last showed is kept.

        Raises:
            SessionFailed: it could not be stopped.
        """
        with suppress(SessionFailed):
            self.save_screen(name)
        self._end(name)

    def leave(self, name: str) -> None:
        """Stop a session that is of no use, but not one that asks a person something: the answer makes it useful.

        Raises:
            SessionFailed: it could not be asked or stopped.
        """
        if not _asks(self.look(name)):
            self.stop(name)

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
        if not self.agent.can_resume(place):
            return self._started(place, keep, resume=False)
        try:
            return self._started(place, keep, resume=True)
        except SessionFailed:
            # A conversation that the agent does not know after all would keep the desk from ever starting again.
            if not self.agent.lost(place):
                raise
            return self._started(place, keep, resume=False)

    def _started(self, place: Workplace, keep: frozenset[str], *, resume: bool) -> SessionAction:
        name = place.session
        launch = self.agent.launch(place, resume=resume, base_env=base_environment(self._environ, self._workspace))
        self._end(name)
        tokens.give(place)
        try:
            lock_s = self._settings.timeouts.lock_s
            with turn(self.root / "starting.lock", wait_s=lock_s, session=name, clock=self._clock):
                self._make_room(keep | {name})
                marks = {"project": place.project, "role": place.role.value, "tier": place.tier.value}
                self.terminal.start(name, cwd=place.worktree, argv=launch.argv, env=launch.env, marks=marks)
            self._wait_ready(place)
        except (SessionFailed, WorkerBusy):
            self.save_screen(name)
            with suppress(SessionFailed):
                self._end_useless(name)
            raise
        self._touch(name)
        return SessionAction.RESUME if resume else SessionAction.SPAWN

    def _end_useless(self, name: str) -> None:
        if not _asks(self.look(name)):
            self._end(name)

    def _wait_ready(self, place: Workplace) -> None:
        name, limit_s = place.session, self._settings.timeouts.ready_s
        started = calm = self._clock.monotonic()
        while (look := self.look(name)).status is not LookStatus.IDLE:
            now = self._clock.monotonic()
            if look.status in OVER:
                raise SessionFailed(f"{look.detail} before it was ready; it said: {self._last_lines(name)}")
            if now - started >= limit_s:
                raise SessionFailed(
                    f"{name} was not ready within {limit_s:g} s ({look.status}); it said: {self._last_lines(name)}",
                    hint=_attach(place) if _asks(look) else None,
                )
            if not _asks(look):
                calm = now
            elif now - calm >= ASKING_S:
                raise SessionFailed(_stuck(name, look), hint=_attach(place))
            self._clock.sleep(POLL_S)

    def living_in_terminal(self, names: Iterable[str]) -> dict[str, int]:
        """Return those of the sessions whose processes live below a tmux server, each with the server's process.

        What outlives a server that has ended is not among them: that is not the worker any more.
        """
        found = {}
        tokens_of = {str(self.folder(name) / tokens.TOKEN): name for name in names}
        for pid, value in processes.holding(tokens.VARIABLE, tokens_of):
            server = next((above for above in processes.parents(pid) if processes.named(above, "tmux")), None)
            if server is not None:
                found[tokens_of[value]] = server
        return found

    def room(self) -> int:
        """Return how many workers may be at work at once.

        Raises:
            SessionFailed: the terminal could not be asked.
        """
        alive = sum(look.status not in OVER for look in self.looks().values())
        return session_limit(self._settings.limits.sessions, alive=alive)

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
        self._end_leftovers(folder)
        tokens.revoke(folder)
        (folder / mailbox.STATE).unlink(missing_ok=True)

    def _end_leftovers(self, folder: Path) -> None:
        """End the processes that have left the session's terminal and could go on as a second worker."""
        processes.end(processes.marked(tokens.VARIABLE, str(folder / tokens.TOKEN)), grace_s=0)


def _asks(look: Look) -> bool:
    return look.status is LookStatus.UNKNOWN and bool(look.detail)


def _stuck(name: str, look: Look) -> str:
    return f"{name} is alive, but {look.detail or 'says nothing of itself'}"


def _attach(place: Workplace) -> str:
    return f"{place.attach} shows it; then call again"
