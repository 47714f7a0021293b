"""A project of the GitLab for tests, devclaw's hands for it, and a human's."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from devclaw_py.kernel.clock import Clock, SystemClock
from devclaw_py.model.project import Forge
from devclaw_py.trackers.forge.budget import Pace
from devclaw_py.trackers.gitlab.client import GitLabClient
from devclaw_py.trackers.gitlab.requests import GitLabRequests
from devclaw_py.trackers.gitlab.tracker import GitLabTracker
from tests.forge.gitlab_standin import API, StandIn, Standing

UNHURRIED = Pace(per_minute=100_000, per_hour=1_000_000)


@dataclass
class GitLab:
    """One project on the stand-in."""

    server: StandIn
    project: Standing
    folder: Path
    clock: Clock = field(default_factory=SystemClock)
    token: str = "tok_bot"

    @property
    def forge(self) -> Forge:
        return Forge(host="127.0.0.1", api=self.server.url + API, path=self.project.path, id=str(self.project.id))

    def client(self, *, pace: Pace | None = UNHURRIED, timeout_s: float = 15, token: str | None = None) -> GitLabClient:
        given = token or self.token
        return GitLabClient(
            self.forge.api, lambda: given, folder=self.folder, clock=self.clock, timeout_s=timeout_s, pace=pace
        )

    def tracker(self, client: GitLabClient | None = None) -> GitLabTracker:
        """Return a tracker as a new process has it."""
        return GitLabTracker(client or self.client(), self.forge, name="shop")

    def requests(self, client: GitLabClient | None = None) -> GitLabRequests:
        return GitLabRequests(client or self.client(), self.forge)

    def human(self, method: str, below: str, body: object = None) -> Any:
        """Let a human do something below the project."""
        return self.server.human(method, f"/projects/{self.project.id}{below}", body)

    def labels(self, number: int) -> set[str]:
        """Return an issue's labels as anybody sees them."""
        return set(self.project.issues[number]["labels"])

    def lines(self) -> list[str]:
        """Return the requests so far, without the project's address."""
        return [line.replace(f"{API}/projects/{self.project.id}", "") for line in self.server.lines()]

    def commit(self, branch: str) -> str:
        """Push one more commit to ``branch`` and return it."""
        self.project.branches[branch] = f"{next(self.server.numbers):040x}"
        return self.project.branches[branch]

    def close(self, number: int) -> None:
        """Let a human close a merge request."""
        self.human("PUT", f"/merge_requests/{number}", {"state_event": "close"})
