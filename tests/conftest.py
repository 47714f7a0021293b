"""An App on fakes, with the fakes in reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.agents.memory import MemoryAgent
from devclaw_py.agents.sessions import Sessions
from devclaw_py.app import App
from devclaw_py.chat.notify import SilentNotifier
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.model.caller import HUMAN, Caller
from devclaw_py.model.pipeline import State
from devclaw_py.model.project import Project, Seat
from devclaw_py.model.settings import Settings
from devclaw_py.rules.labels import states_in
from devclaw_py.state.files import FilesStore
from devclaw_py.terminals.memory import MemoryTerminal
from devclaw_py.trackers.memory import MemoryTracker
from devclaw_py.work.memory import MemoryWork

GROUP = "-1001"


@dataclass
class Office:
    """One project, ``shop`` of group -1001, on fakes; the store is the real one, in files."""

    app: App
    tracker: MemoryTracker
    terminal: MemoryTerminal
    agent: MemoryAgent
    work: MemoryWork
    clock: VirtualClock
    more: dict[str, MemoryTracker] = field(default_factory=dict)

    def call(self, tool: str, caller: Caller = HUMAN, **arguments: Any) -> dict[str, Any]:
        """Call a tool for the project, and return its answer whatever it is."""
        return catalogue.call(self.app, tool, {"projectGroupId": GROUP, **arguments}, caller)

    def done(self, tool: str, caller: Caller = HUMAN, **arguments: Any) -> dict[str, Any]:
        """Call a tool that must succeed."""
        answer = self.call(tool, caller, **arguments)
        assert answer["success"], answer
        return answer

    def refused(self, tool: str, caller: Caller = HUMAN, **arguments: Any) -> str:
        """Call a tool that must fail, and return the error's code."""
        answer = self.call(tool, caller, **arguments)
        assert not answer["success"], answer
        return str(answer["error"]["code"])

    def seed(self, title: str = "Add a footer", state: State | None = State.TO_DO, **more: Any) -> int:
        """Create an issue in a state and return its number."""
        return self.tracker.seed(title, labels=[state.value] if state else [], **more)

    def states(self, issue: int) -> tuple[State, ...]:
        """Return the issue's state labels."""
        return states_in(self.tracker.get(issue).labels)

    def seat(self, role: str) -> Seat:
        """Return a seat as the registry file has it."""
        project = self.app.store.registry.get(GROUP)
        return project.dev if role == "dev" else project.qa

    def lines(self, event: str | None = None) -> list[Mapping[str, object]]:
        """Return the audit lines, of one event if named."""
        return [line for line in self.app.store.audit.read() if event in (None, line["event"])]


def make_office(workspace: Path, *, faults: FailPoints | None = None, settings: Settings | None = None) -> Office:
    """Build an office in an empty folder."""
    clock, terminal = VirtualClock(), MemoryTerminal()
    settings = settings or Settings()
    agent, tracker, work = MemoryAgent(terminal), MemoryTracker("shop", clock=clock), MemoryWork()
    app = App(
        workspace=workspace,
        settings=settings,
        store=FilesStore(workspace, clock, settings),
        clock=clock,
        open_tracker=lambda project: tracker,
        work=work,
        sessions=Sessions(terminal, agent, workspace, settings, clock, environ={"PATH": "/usr/bin", "HOME": "/root"}),
        notifier=SilentNotifier(),
        faults=faults or FailPoints(),
    )
    app.store.registry.add(
        Project(group_id=GROUP, name="shop", slug="shop", repo=str(workspace / "shop"), base_branch="main")
    )
    return Office(app=app, tracker=tracker, terminal=terminal, agent=agent, work=work, clock=clock)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """An office with nothing going on."""
    return make_office(tmp_path)
