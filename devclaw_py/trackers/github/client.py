"""Requests to GitHub: what its answers mean, and who asks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit

from devclaw_py.errors import TrackerDenied, TrackerError
from devclaw_py.trackers.forge.client import Connection, ForgeClient, fingerprint_of
from devclaw_py.trackers.forge.reply import Reply
from devclaw_py.trackers.github.refusals import error_for, message_of, paused_until, used_up


class Client(ForgeClient):
    """One account at GitHub's interface, such as ``https://api.github.com``; `Installation` has login and account."""

    @property
    def where(self) -> str:
        """The service's name for messages."""
        host = urlsplit(self.api).netloc
        return "GitHub" if host == "api.github.com" else f"GitHub at {host}"

    def connect(self, token: str, timeout_s: float) -> Connection:
        """Return a connection on PyGithub."""
        # Imported when it is used: PyGithub takes longer to load than most calls take.
        from devclaw_py.trackers.github import connection

        return connection.Connection(self.api, token, timeout_s=timeout_s)

    def refusal(self, reply: Reply, wish: str, token: str) -> TrackerError:
        """Return the error of an answer that refuses ``wish``."""
        return error_for(reply, wish, where=self.where, fingerprint=fingerprint_of(token), token=token)

    def pause(self, reply: Reply, otherwise_s: Callable[[], float]) -> tuple[datetime, str] | None:
        """Return until when GitHub asks for silence, and why."""
        if not (used_up(reply) or reply.status in (403, 429)):
            return None
        until = paused_until(reply, self.clock.now(), otherwise_s=otherwise_s())
        if until is None:
            return None
        return until, message_of(reply) if reply.status >= 400 else "the requests of this hour are used up"

    def ask_login(self) -> str:
        """Ask for the account's name.

        Raises:
            TrackerDenied: the token is an App's, which cannot be asked.
        """
        reply = self.ask("GET", "/user", "tell the account's name", told=frozenset({403, 404}))
        if reply.status >= 400 or not isinstance(reply.body, dict) or not reply.body.get("login"):
            raise TrackerDenied(
                f"{self.where} does not say whose token {self.fingerprint} is: a GitHub App's cannot be asked",
                hint="name the App in the settings, so that its login is known",
            )
        return str(reply.body["login"])
