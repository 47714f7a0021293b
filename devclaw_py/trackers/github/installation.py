"""Acting as a GitHub App: its tokens last an hour and are made from its private key.

They are kept in a file that only this user reads. A new one for every call would make every list a full answer, because
an ETag holds for the token it was given to.
"""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from pathlib import Path

from pydantic import AwareDatetime, BaseModel, ValidationError

from devclaw_py.errors import ConfigError, TrackerAuth, TrackerError
from devclaw_py.kernel import files
from devclaw_py.kernel.clock import Clock
from devclaw_py.kernel.secrets import scrub
from devclaw_py.trackers.forge.client import segments
from devclaw_py.trackers.forge.reply import Reply
from devclaw_py.trackers.github.refusals import error_for, message_of

EARLY = timedelta(minutes=10)
"""A token is renewed that long before it ends: no operation of devclaw lasts longer."""


class Minted(BaseModel):
    """The file: the newest token, and the App's name."""

    token: str = ""
    expires_at: AwareDatetime | None = None
    login: str = ""


class Installation:
    """A GitHub App as it is installed for an owner. ``key`` is its private key (PEM); ``folder`` keeps its token."""

    def __init__(
        self, api: str, *, app_id: str, key: str, installation: str, folder: Path, clock: Clock, timeout_s: float
    ) -> None:
        self._api, self._app_id, self._key, self._installation = api, app_id, key, installation
        self._clock, self._timeout_s = clock, timeout_s
        digest = hashlib.sha256(f"{api} {app_id} {installation} {key}".encode()).hexdigest()[:16]
        self._folder, self._file = folder, folder / f"app-{digest}.json"

    @property
    def account(self) -> str:
        """What budget and limits belong to, whatever the token of the hour is."""
        return f"app {self._app_id} installation {self._installation}"

    def token(self) -> str:
        """Return a token that is valid for some minutes at least.

        Raises:
            TrackerAuth: GitHub does not know the App, the key or the installation.
            ConfigError: the key cannot be used.
            TrackerError: no answer.
        """
        kept = self._load()
        if kept.expires_at is None or kept.expires_at - EARLY <= self._clock.now():
            reply = self._ask("POST", segments("app", "installations", self._installation, "access_tokens"))
            try:
                fresh = Minted.model_validate(reply.body)
            except ValidationError as error:
                raise TrackerAuth(f"{self._api} answered without a token for the App {self._app_id}") from error
            kept = fresh.model_copy(update={"login": kept.login})
            self._save(kept)
        return kept.token

    def login(self) -> str:
        """Return the name under which the App acts, such as ``devclaw[bot]``; the App cannot be asked as itself."""
        kept = self._load()
        if not kept.login:
            body = self._ask("GET", "/app").body
            slug = body.get("slug") if isinstance(body, dict) else None
            kept.login = f"{slug}[bot]"
            self._save(kept)
        return kept.login

    def _ask(self, method: str, path: str) -> Reply:
        from devclaw_py.trackers.github.connection import Connection, app_token

        try:
            proof = app_token(self._app_id, self._key)
        except ValueError as error:
            raise ConfigError(
                f"the private key of the GitHub App {self._app_id} cannot be used: {scrub(str(error), [self._key])}",
                hint="give the file that GitHub let you download when the key was made",
            ) from error
        connection = Connection(self._api, proof, timeout_s=self._timeout_s, as_app=True)
        try:
            reply = connection.send(method, path)
        finally:
            connection.close()
        if reply.status >= 300:
            raise self._refused(reply)
        return reply

    def _refused(self, reply: Reply) -> TrackerError:
        if reply.status in (401, 403, 404):
            return TrackerAuth(
                f"{self._api} does not let the App {self._app_id} act as installation {self._installation}: "
                f"{message_of(reply)}",
                hint="see that number, key and installation belong together and the App is not suspended",
            )
        return error_for(reply, "make a token for the App", where=self._api, fingerprint=f"app {self._app_id}")

    def _load(self) -> Minted:
        try:
            return Minted.model_validate(json.loads(files.read(self._file) or b"{}"))
        except (ValueError, ValidationError):
            return Minted()

    def _save(self, kept: Minted) -> None:
        files.private_folder(self._folder)
        files.write(self._file, kept.model_dump_json().encode(), mode=files.PRIVATE)
