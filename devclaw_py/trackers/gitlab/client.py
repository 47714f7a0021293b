"""Requests to GitLab: what its answers mean, and who asks."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from urllib.parse import urlsplit

from devclaw_py.errors import TrackerDenied, TrackerError
from devclaw_py.trackers.forge.budget import Pace
from devclaw_py.trackers.forge.client import Connection, ForgeClient, fingerprint_of
from devclaw_py.trackers.forge.reply import Reply
from devclaw_py.trackers.gitlab.refusals import error_for, message_of, paused_until


class GitLabClient(ForgeClient):
    """One account at GitLab's interface, such as ``https://gitlab.com/api/v4``; a self-managed one may be below a path.

    GitLab.com allows a user 60 notes a minute and far more of everything else. A move is one write and mostly goes
    with one note, so all writes together are held to that.
    """

    usual_pace = Pace(per_minute=60, per_hour=3000)

    @property
    def where(self) -> str:
        """The service's name for messages."""
        host = urlsplit(self.api).netloc
        return "GitLab" if host == "gitlab.com" else f"GitLab at {host}"

    @property
    def is_job_token(self) -> bool:
        """Whether the token is a CI job's, by its prefix."""
        return self._token().startswith("glcbt-")

    def connect(self, token: str, timeout_s: float) -> Connection:
        """Return a connection on python-gitlab."""
        # Imported when it is used: python-gitlab takes longer to load than most calls take.
        from devclaw_py.trackers.gitlab import connection

        return connection.Connection(self.api, token, timeout_s=timeout_s)

    def refusal(self, reply: Reply, wish: str, token: str) -> TrackerError:
        """Return the error of an answer that refuses ``wish``."""
        return error_for(reply, wish, where=self.where, fingerprint=fingerprint_of(token), token=token)

    def pause(self, reply: Reply, otherwise_s: Callable[[], float]) -> tuple[datetime, str] | None:
        """Return until when GitLab asks for silence, and why."""
        if reply.status != 429:
            return None
        return paused_until(reply, self.clock.now(), otherwise_s=otherwise_s()), message_of(reply)

    def ask_login(self) -> str:
        """Ask for the account's name; a project's or group's token has one, too.

        Raises:
            TrackerDenied: the token may not ask, which it has to.
        """
        reply = self.ask("GET", "/user", "tell the account's name")
        name = reply.body.get("username") if isinstance(reply.body, dict) else None
        if not name:
            raise TrackerDenied(f"{self.where} does not say whose token {self.fingerprint} is")
        return str(name)
