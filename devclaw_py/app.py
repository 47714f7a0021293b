"""The wired hands: everything an operation may use, built once by a face."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.agents.sessions import Sessions
from devclaw_py.chat.base import Notifier
from devclaw_py.kernel.clock import Clock
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.model.pipeline import Tier
from devclaw_py.model.project import Project
from devclaw_py.model.settings import Settings
from devclaw_py.state.base import Store
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.work.base import Work


@dataclass(frozen=True)
class App:
    """One workspace's hands."""

    workspace: Path
    settings: Settings
    store: Store
    clock: Clock
    open_tracker: Callable[[Project], IssueProvider]
    work: Work
    sessions: Sessions
    notifier: Notifier
    faults: FailPoints

    def model_of(self, project: Project, tier: Tier) -> str:
        """Return the model of a tier: the project's own, else the setting."""
        return project.models.get(tier.value) or self.settings.models.of(tier)
