"""How a worker whose turn ended is told to go on, a silent turn is ended, and an account rests until its limit ends."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from devclaw_py.agents import mailbox
from devclaw_py.agents.console import Console
from devclaw_py.agents.posting import ACCEPT_POLL_S, NUDGE_S
from devclaw_py.agents.speaking import Speaking
from devclaw_py.errors import SessionError, UsageLimited
from devclaw_py.kernel.clock import timestamp
from devclaw_py.model.following import Ended, Parked

# A pass over all workers must not wait for a person who types; the next pass comes back.
PATIENCE_S = 4.0
HEARD_S = 8.0


class Urging(Speaking):
    """`Speaking`, and what is done about a worker that has not reported."""

    def ended(self, name: str, offer: str) -> Ended | None:
        """Return how the newest turn since the offer ended, of a session that is idle; None when nobody knows.

        Raises:
            SessionFailed: the terminal could not be asked.
        """
        session = self.terminal.find(name)
        if session is None or not session.alive:
            return None
        return self.agent.ended(self.folder(name), session, offer)

    def quiet_since(self, name: str) -> datetime | None:
        """Return since when a session at work shows no sign of it; None while it does.

        Raises:
            SessionFailed: the terminal could not be asked.
        """
        session = self.terminal.find(name)
        if session is None or not session.alive:
            return None
        return self.agent.quiet_since(self.folder(name), session)

    def urge(self, name: str, text: str, *, still: Callable[[], bool], about_to: Callable[[], None]) -> bool | None:
        """Type a notice into an idle session in which nothing else waits; say whether it was heard.

        None when it was not typed: the session is not idle, somebody else types, a person's text or a dialog is in the
        way, or it is no longer ``still`` so, which is asked under the session's lock. ``about_to`` is called right
        before Enter; what it raises leaves the line in the box, where the next delivery removes it.
        """
        with suppress(SessionError), self._typing(name, wait_s=0):
            if not self._free(name) or self._messages(name) or not still():
                return None
            line, since = self.agent.notice(text), self._clock.now().timestamp() - 1
            # What the terminal refuses after Enter is as good as heard: typed again it could be twice.
            submitted = False

            def submit() -> None:
                nonlocal submitted
                about_to()
                submitted = True

            with suppress(SessionError):
                self.agent.post(self._short_console(name), line, submit)
            if not submitted:
                self.agent.tidy(self._short_console(name))
                return None
            self._touch(name)
            return self._is_heard(name, line, since)
        return None

    def interrupt(self, name: str, *, about_to: Callable[[], None]) -> bool:
        """End the turn of a session that shows no sign of work; False when it does, or cannot be interrupted."""
        with suppress(SessionError), self._typing(name, wait_s=0):
            return self.agent.interrupt(self._short_console(name), about_to)
        return False

    def park(self, parked: Parked) -> None:
        """Let no worker of this account be given anything until its limit ends; the later of two ends counts."""
        known = self.parked()
        if known is None or known.until < parked.until:
            record = parked.model_copy(update={"account": self._account()})
            mailbox.put(self._parking, record.model_dump_json(by_alias=True) + "\n")

    def parked(self) -> Parked | None:
        """Return the limit that the workers' account has met and that has not ended; None for none."""
        try:
            found = Parked.model_validate(mailbox.read_record(self._parking))
        except ValidationError:
            return None
        return found if found.account == self._account() and self._clock.now() < found.until else None

    def check_not_parked(self) -> None:
        """Refuse to give a worker anything that its account cannot do now.

        Raises:
            UsageLimited: names the time.
        """
        if (found := self.parked()) is not None:
            raise UsageLimited(
                f"the workers' account has reached its usage limit, until {timestamp(found.until)}: {found.words}",
                found.until,
                hint=f"wait, or give the workers another account and remove {self._parking}",
            )

    @property
    def _parking(self) -> Path:
        return self.root / f"parked-{self.agent.kind}.json"

    def _account(self) -> str:
        """Return what changes when the workers are given other credentials by ``env_file``."""
        named = self._settings.agent.env_file
        with suppress(OSError):
            return f"{named}@{(self._workspace / Path(named).expanduser()).stat().st_mtime_ns}" if named else ""
        return named

    def _short_console(self, name: str) -> Console:
        return replace(self._console(name), patience_s=PATIENCE_S)

    def _is_heard(self, name: str, line: str, since: float) -> bool:
        started = nudged = self._clock.monotonic()
        with suppress(SessionError):
            while not self.agent.heard(self.folder(name), line, since):
                now = self._clock.monotonic()
                if now - started >= HEARD_S:
                    return False
                if now - nudged >= NUDGE_S:
                    nudged = now
                    self.agent.nudge(self._console(name), line)
                self._clock.sleep(ACCEPT_POLL_S)
            return True
        return False
