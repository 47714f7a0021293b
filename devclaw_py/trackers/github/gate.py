"""The gate of GitHub: one account, by its token or as an App, before a project is known."""

from __future__ import annotations

from dataclasses import dataclass

from devclaw_py.model.finding import Finding
from devclaw_py.model.project import Forge
from devclaw_py.trackers.auth import Kind
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.forge.budget import Pace
from devclaw_py.trackers.forges import Entry
from devclaw_py.trackers.github import rights
from devclaw_py.trackers.github.client import Client
from devclaw_py.trackers.github.installation import Installation
from devclaw_py.trackers.github.labels import labels_of
from devclaw_py.trackers.github.requests import GitHubRequests
from devclaw_py.trackers.github.tracker import GitHubTracker
from devclaw_py.trackers.remotes import Place
from devclaw_py.trackers.requests import RequestProvider


@dataclass
class GitHubGate:
    """A `Gate`. Credentials are read when the first request needs them; an App's decide more than the token."""

    entry: Entry
    _client: Client | None = None

    def resolve(self, place: Place, *, remote: str) -> Forge:
        """Return the repository under its own number and its full name of today; see the port."""
        found = rights.resolve(self.client, place.path)
        return Forge(host=place.host, api=place.api, path=found.full_name, id=str(found.id), remote=remote)

    def rights(self, forge: Forge, *, name: str) -> list[Finding]:
        """Return one critical finding for each right that the account lacks; see the port."""
        return rights.check(self.client, forge, labels_of(self.client, forge), name=name)

    def tracker(self, forge: Forge, *, name: str) -> IssueProvider:
        """Return the issues of a repository."""
        return GitHubTracker(self.client, forge, name=name)

    def requests(self, forge: Forge) -> RequestProvider:
        """Return the pull requests of a repository."""
        return GitHubRequests(self.client, forge)

    @property
    def client(self) -> Client:
        """The account's client."""
        if self._client is None:
            self._client = self._opened()
        return self._client

    def _opened(self) -> Client:
        entry, section = self.entry, self.entry.settings.github
        pace = Pace(per_minute=section.writes_per_minute, per_hour=section.writes_per_hour)
        found = entry.credentials()
        if found.kind is not Kind.APP:
            return Client(
                entry.api,
                lambda: entry.credentials().secret,
                folder=entry.folder,
                clock=entry.clock,
                timeout_s=entry.timeout_s,
                pace=pace,
            )
        app = Installation(
            entry.api,
            app_id=found.app_id,
            key=found.secret,
            installation=found.installation,
            folder=entry.folder,
            clock=entry.clock,
            timeout_s=entry.timeout_s,
        )
        return Client(
            entry.api,
            app.token,
            folder=entry.folder,
            clock=entry.clock,
            timeout_s=entry.timeout_s,
            login=app.login,
            account=app.account,
            pace=pace,
        )
