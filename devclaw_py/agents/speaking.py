"""Messages of people to a session: kept in its folder until it is idle, typed once, and gone when they were heard.

``messages/<number>-<op>.json`` waits. Right before Enter it becomes ``.typed``: from then on it is never typed again,
whoever is killed.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from devclaw_py.agents import mailbox
from devclaw_py.agents.look import LookStatus
from devclaw_py.agents.posting import ACCEPT_POLL_S, CHECK_ALIVE_S, NUDGE_S, Posting
from devclaw_py.agents.turn import files_of
from devclaw_py.errors import SessionError, SessionFailed
from devclaw_py.model.base import Value

MESSAGES, WAITING, TYPED = "messages", ".json", ".typed"
REACHED = (LookStatus.IDLE, LookStatus.WORKING, LookStatus.STARTING)


class Message(Value):
    """One message. ``op`` is the call that sent it, ``caller`` who made the call."""

    op: str
    group_id: str
    caller: str
    text: str


class Outcome(Value):
    """What became of a message that had waited; ``lost`` says why nobody knows of its arrival."""

    session: str
    message: Message
    lost: str | None = None


class Speaking(Posting):
    """`Posting`, and messages that may wait."""

    def speak(self, name: str, message: Message) -> bool:
        """Have the message typed and heard now: True; or keep it until the session is idle: False.

        Raises:
            SessionFailed: the session is not alive or asks something, or the message was not heard; it is not kept.
        """
        with self._typing(name):
            look = self.look(name)
            if look.status not in REACHED:
                raise SessionFailed(f"{name} cannot be told anything: {look.detail or look.status}")
            earlier = self._messages(name)
            path = self._keep(name, message, earlier)
            if earlier or not self._free(name):
                return False
            try:
                self._deliver(name, path, message)
            except SessionError as error:
                path.unlink(missing_ok=True)
                raise SessionFailed(f"{error}; its screen: {self._last_lines(name)}", hint=error.hint) from error
            return True

    def waiting(self) -> dict[str, set[str]]:
        """Return the sessions with messages and the groups that these are of."""
        found: dict[str, set[str]] = {}
        for path in self.root.glob(f"*/{MESSAGES}/[0-9]*"):
            if message := _read(path):
                found.setdefault(path.parent.parent.name, set()).add(message.group_id)
        return found

    def speak_on(self, name: str) -> list[Outcome]:
        """Settle what a killed devclaw had typed, then have the oldest message typed if the session is idle.

        A session that another devclaw types into, that is gone, or in which something stands in the way keeps its
        messages.
        """
        outcomes: list[Outcome] = []
        with suppress(SessionFailed), self._typing(name, wait_s=0):
            for path in self._messages(name):
                message = _read(path)
                if message is None:
                    continue
                outcome = self._go_on(name, path, message)
                if outcome is not None:
                    outcomes.append(outcome)
                if path.suffix == WAITING:
                    break
        return outcomes

    def _go_on(self, name: str, path: Path, message: Message) -> Outcome | None:
        if path.suffix == WAITING and not self._free(name):
            return None
        try:
            if path.suffix == TYPED:
                self._nudged(name, path, self.agent.words(message.text))
            else:
                self._deliver(name, path, message)
        except SessionError as error:
            if path.exists() and path.suffix == WAITING:
                return None
            return Outcome(session=name, message=message, lost=str(error))
        return Outcome(session=name, message=message)

    def _deliver(self, name: str, path: Path, message: Message) -> None:
        """Type a message and wait until it is heard; as long as its file waits nothing was submitted."""
        line, typed = self.agent.words(message.text), path.with_suffix(TYPED)

        def about_to() -> None:
            with files_of(name):
                os.utime(path)
                path.rename(typed)

        try:
            self.agent.post(self._console(name), line, about_to)
        except SessionError:
            # Whether Enter went through is not known; once more would be twice.
            typed.unlink(missing_ok=True)
            raise
        self._touch(name)
        self._wait_heard(name, typed, line, limit_s=self._settings.timeouts.receipt_s)

    def _nudged(self, name: str, typed: Path, line: str) -> None:
        """Settle a message whose sender was killed around its Enter: heard, or still in the box, or lost."""
        if not self.agent.heard(self.folder(name), line, typed.stat().st_mtime):
            self.agent.nudge(self._console(name), line)
        self._wait_heard(name, typed, line, limit_s=NUDGE_S)

    def _wait_heard(self, name: str, typed: Path, line: str, *, limit_s: float) -> None:
        """Wait for the agent to have the line; its file goes, whatever comes of it."""
        since = typed.stat().st_mtime
        started = asked = nudged = self._clock.monotonic()
        try:
            while not self.agent.heard(self.folder(name), line, since):
                now = self._clock.monotonic()
                if now - started >= limit_s:
                    raise SessionFailed(f"{name} did not take the message within {limit_s:g} s")
                if now - asked >= CHECK_ALIVE_S:
                    asked = now
                    self._check_lives(name)
                if now - nudged >= NUDGE_S:
                    nudged = now
                    self.agent.nudge(self._console(name), line)
                self._clock.sleep(ACCEPT_POLL_S)
        except SessionError:
            typed.unlink(missing_ok=True)
            raise
        typed.unlink(missing_ok=True)

    def _check_lives(self, name: str) -> None:
        look = self.look(name)
        if look.status in (LookStatus.ABSENT, LookStatus.DEAD):
            raise SessionFailed(f"{name} did not take the message: {look.detail}")

    def _free(self, name: str) -> bool:
        return self.look(name).status is LookStatus.IDLE and not mailbox.offered(self.folder(name))

    def _keep(self, name: str, message: Message, earlier: list[Path]) -> Path:
        folder = self.folder(name) / MESSAGES
        folder.mkdir(mode=0o700, exist_ok=True)
        number = int(earlier[-1].name.partition("-")[0]) + 1 if earlier else 1
        path = folder / f"{number:08}-{message.op}{WAITING}"
        mailbox.put(path, message.model_dump_json() + "\n")
        return path

    def _messages(self, name: str) -> list[Path]:
        return sorted((self.folder(name) / MESSAGES).glob("[0-9]*"))


def _read(path: Path) -> Message | None:
    """Return the message; None for a file that somebody has changed."""
    try:
        return Message.model_validate(mailbox.read_record(path))
    except ValidationError:
        return None
