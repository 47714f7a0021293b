"""The wired hands: everything an operation may use, built once by a face."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.agents.kinds import open_agent
from devclaw_py.agents.sessions import Sessions
from devclaw_py.chat.base import Notifier
from devclaw_py.chat.notify import notifier_for
from devclaw_py.errors import ConfigError
from devclaw_py.kernel.clock import Clock, SystemClock
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.model.pipeline import Tier
from devclaw_py.model.project import Project
from devclaw_py.model.settings import Settings
from devclaw_py.state.base import Store
from devclaw_py.state.files import FilesStore
from devclaw_py.terminals.tmux import TmuxTerminal
from devclaw_py.trackers.base import IssueProvider
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

    def open_tracker(project: Project) -> IssueProvider:
        folder = workspace / "memory" / "issues" / project.slug
        return LocalTracker(folder, name=project.name, clock=clock, timeout_s=settings.timeouts.tracker_s)

    return App(
        workspace=workspace,
        settings=settings,
        store=FilesStore(workspace, clock, settings),
        clock=clock,
        open_tracker=open_tracker,
        open_requests=lambda _: None,
        work=GitWork(settings.timeouts),
        sessions=Sessions(terminal, open_agent(settings.agent, workspace), workspace, settings, clock, environ=environ),
        notifier=notifier_for(settings),
        faults=faults or FailPoints(),
    )
