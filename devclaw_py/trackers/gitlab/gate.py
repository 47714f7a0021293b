"""The gate of GitLab: one account, before a project is known."""

from __future__ import annotations

from dataclasses import dataclass

from devclaw_py.model.finding import Finding
from devclaw_py.model.project import Forge
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.forges import Entry
from devclaw_py.trackers.gitlab import rights
from devclaw_py.trackers.gitlab.client import GitLabClient
from devclaw_py.trackers.gitlab.requests import GitLabRequests
from devclaw_py.trackers.gitlab.tracker import GitLabTracker
from devclaw_py.trackers.remotes import Place
from devclaw_py.trackers.requests import RequestProvider


@dataclass
class GitLabGate:
    """A `Gate`. Credentials are read when the first request needs them."""

    entry: Entry

    def __post_init__(self) -> None:
        entry = self.entry
        self.client = GitLabClient(
            entry.api,
            lambda: entry.credentials().secret,
            folder=entry.folder,
            clock=entry.clock,
            timeout_s=entry.timeout_s,
        )

    def resolve(self, place: Place, *, remote: str) -> Forge:
        """Return the repository under its own number and its full name of today; see the port."""
        found = rights.resolve(self.client, place.path)
        return Forge(host=place.host, api=place.api, path=found.path_with_namespace, id=str(found.id), remote=remote)

    def rights(self, forge: Forge, *, name: str) -> list[Finding]:
        """Return one critical finding for each right that the account lacks; see the port."""
        return rights.check(self.client, forge, name=name)

    def tracker(self, forge: Forge, *, name: str) -> IssueProvider:
        """Return the issues of a repository."""
        return GitLabTracker(self.client, forge, name=name)

    def requests(self, forge: Forge) -> RequestProvider:
        """Return the merge requests of a repository."""
        return GitLabRequests(self.client, forge)
