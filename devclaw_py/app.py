"""The wired hands: everything an operation may use, built once by a face."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.agents.kinds import open_agent
from devclaw_py.agents.sessions import Sessions
from devclaw_py.chat.base import Notifier
from devclaw_py.chat.notify import notifier_for
from devclaw_py.errors import ConfigError, NotAllowed
from devclaw_py.kernel.clock import Clock, SystemClock
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.model.pipeline import Provider, Tier
from devclaw_py.model.project import Project
from devclaw_py.model.settings import Settings
from devclaw_py.state.base import Store
from devclaw_py.state.files import FilesStore
from devclaw_py.terminals.tmux import TmuxTerminal
from devclaw_py.trackers.auth import Keyring
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.forges import Forges
from devclaw_py.trackers.gates import open_gate
from devclaw_py.trackers.local import LocalTracker
from devclaw_py.trackers.requests import RequestProvider
from devclaw_py.work.base import Work
from devclaw_py.work.git import GitWork


@dataclass(frozen=True)
class App:
    """One workspace's hands.

    ``unusable`` is what is wrong with the settings of a workspace that was opened all the same, to keep a report.
    """

    workspace: Path
    settings: Settings
    store: Store
    clock: Clock
    open_tracker: Callable[[Project], IssueProvider]
    open_requests: Callable[[Project], RequestProvider | None]
    forges: Forges
    work: Work
    sessions: Sessions
    notifier: Notifier
    faults: FailPoints
    unusable: ConfigError | None = None

    def model_of(self, project: Project, tier: Tier) -> str:
        """Return the model of a tier: the project's own, else the setting."""
        return project.models.get(tier.value) or self.settings.models.of(tier)


def open_app(
    workspace: Path, settings: Settings, *, environ: Mapping[str, str], faults: FailPoints | None = None
) -> App:
    """Wire the real hands for one workspace. Nothing is started and nothing is written yet."""
    clock = SystemClock()
    terminal = TmuxTerminal(workspace, settings.terminal, settings.timeouts)

    sessions = Sessions(terminal, open_agent(settings.agent, workspace), workspace, settings, clock, environ=environ)
    forges = Forges(
        Keyring(settings, workspace, environ, trusts=lambda: not _of_a_worker(environ, sessions)),
        folder=workspace / "memory" / "forges",
        clock=clock,
        timeout_s=settings.timeouts.tracker_s,
        open_gate=open_gate,
    )

    def open_tracker(project: Project) -> IssueProvider:
        if project.provider is not Provider.LOCAL:
            return forges.tracker(project)
        folder = workspace / "memory" / "issues" / project.slug
        return LocalTracker(folder, name=project.name, clock=clock, timeout_s=settings.timeouts.tracker_s)

    return App(
        workspace=workspace,
        settings=settings,
        store=FilesStore(workspace, clock, settings),
        clock=clock,
        open_tracker=open_tracker,
        open_requests=lambda project: None if project.provider is Provider.LOCAL else forges.requests(project),
        forges=forges,
        work=GitWork(settings.timeouts),
        sessions=sessions,
        notifier=notifier_for(settings),
        faults=faults or FailPoints(),
    )


def _of_a_worker(environ: Mapping[str, str], sessions: Sessions) -> bool:
    """Say whether this process runs for a worker: with its token, or anywhere below its session."""
    if "DEVCLAW_TOKEN" in environ or "DEVCLAW_TOKEN_FILE" in environ:
        return True
    try:
        return sessions.worker_above(os.getpid()) is not None
    except NotAllowed:
        return True
