"""An App on fakes, with the fakes in reach."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import pytest

from devclaw_py import catalogue
from devclaw_py.agents.memory import MemoryAgent
from devclaw_py.agents.sessions import Sessions
from devclaw_py.app import App
from devclaw_py.chat.notify import SilentNotifier
from devclaw_py.errors import DevClawError, RepositoryError, SessionFailed, TrackerUnavailable
from devclaw_py.kernel.clock import Clock, VirtualClock
from devclaw_py.kernel.faults import FailPoints
from devclaw_py.model.caller import HUMAN, Caller, CallerKind
from devclaw_py.model.journal import OutboxRow
from devclaw_py.model.pipeline import Integration, Provider, Role, State, Tier
from devclaw_py.model.project import Project, Seat
from devclaw_py.model.request import Request
from devclaw_py.model.settings import Settings
from devclaw_py.rules.labels import states_in
from devclaw_py.state.files import FilesStore
from devclaw_py.terminals.memory import MemoryTerminal
from devclaw_py.trackers.auth import Keyring
from devclaw_py.trackers.faulty import FaultyTracker
from devclaw_py.trackers.forges import Entry, Forges, Gate
from devclaw_py.trackers.memory import MemoryTracker
from devclaw_py.trackers.memory_requests import MemoryRequests
from devclaw_py.work.memory import MemoryWork
from tests.facts import FactsPlugin
from tests.forge import fixtures

GROUP = "-1001"


def pytest_configure(config: pytest.Config) -> None:
    """Hold a whole run to the table of facts, and have an emulated GitHub for whoever asks."""
    config.pluginmanager.register(FactsPlugin())
    config.pluginmanager.register(fixtures)


class Killed(BaseException):
    """A process that was killed: nothing in the package catches it."""


def die() -> None:
    """Be killed here."""
    raise Killed


@dataclass
class Ears:
    """A notifier that keeps what it was given."""

    heard: list[OutboxRow] = field(default_factory=list)

    def deliver(self, row: OutboxRow, project: Project | None) -> None:
        self.heard.append(row)


class Flaky:
    """A port around another one. Counts its calls, lets one of them fail, and lets somebody act between two calls."""

    def __init__(self, inner: object, error: Callable[[str], DevClawError]) -> None:
        self._inner, self._error = inner, error
        self.calls: list[str] = []
        self.fails: tuple[int, bool] | None = None
        self.before: dict[int, Callable[[], object]] = {}

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._around(name, found) if callable(found) else found

    def fail(self, number: int, *, after_acting: bool) -> None:
        """Let the call of that number, counted from 1 from now on, fail before its effect or after it."""
        self.calls.clear()
        self.fails = (number, after_acting)

    def _around(self, name: str, found: Callable[..., Any]) -> Callable[..., Any]:
        def called(*args: Any, **options: Any) -> Any:
            self.calls.append(name)
            number = len(self.calls)
            self.before.pop(number, lambda: None)()
            if self.fails == (number, False):
                raise self._error(f"{name} was made to fail before its effect")
            answer = found(*args, **options)
            if self.fails == (number, True):
                raise self._error(f"{name} was made to fail after its effect")
            return answer

        return called


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
    requests: MemoryRequests | None = None

    @property
    def project(self) -> Project:
        """The project as the registry file has it."""
        return self.app.store.registry.get(GROUP)

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
        return self.project.seat(Role(role))

    def lines(self, event: str | None = None) -> list[Mapping[str, object]]:
        """Return the audit lines, of one event if named."""
        return [line for line in self.app.store.audit.read() if event in (None, line["event"])]

    def change(self, **fields: Any) -> None:
        """Change fields of the project's entry."""
        self.app.store.registry.change(GROUP, lambda found: found.model_copy(update=fields))

    def commit(self, issue: int) -> str:
        """Commit on the issue's branch, as its worker does; return the commit."""
        return self.work.repo(self.project).commit(self.branch(issue))

    def branch(self, issue: int) -> str:
        """Return the issue's branch."""
        return self.work.branch(self.project, issue, self.tracker.get(issue).title)

    def doing(self, title: str = "Add a footer", *, model: str = "medior", commits: bool = True) -> int:
        """Have a new issue in Doing, with a commit on its branch."""
        issue = self.seed(title)
        self.done("task_pickup", issueId=issue, role="dev", model=model)
        if commits:
            self.commit(issue)
        return issue

    def testing(self, title: str = "Add a footer") -> int:
        """Have a new issue in Testing."""
        issue = self.doing(title)
        self.done("task_complete", role="dev", result="done", summary="It stands")
        if not self.seat("qa").active:
            self.done("task_pickup", issueId=issue, role="qa")
        return issue

    def worker(self, role: str = "dev", tier: str = "medior", **fields: Any) -> Caller:
        """Return the caller that the session of a desk is."""
        bound = {"group_id": GROUP, "session": f"shop-{role}-{tier}", **fields}
        return Caller(kind=CallerKind.WORKER, role=Role(role), tier=Tier(tier), **bound)

    def kill_at(self, point: str) -> None:
        """Let the next process that comes to a fail point be killed there."""
        self.app = replace(self.app, faults=FailPoints(point, die))

    def killed(self, tool: str, caller: Caller = HUMAN, **arguments: Any) -> None:
        """Call a tool in a process that is killed."""
        with pytest.raises(Killed):
            self.call(tool, caller, **arguments)

    def flaky_tracker(self) -> Flaky:
        """Put a port that can fail in the tracker's place."""
        flaky = Flaky(self.tracker, TrackerUnavailable)
        self.app = replace(self.app, open_tracker=lambda project: cast(Any, flaky))
        return flaky

    def faulty_tracker(self) -> FaultyTracker:
        """Put a tracker that can be down in the tracker's place."""
        faulty = FaultyTracker(self.tracker)
        self.app = replace(self.app, open_tracker=lambda project: faulty)
        return faulty

    def flaky_terminal(self) -> Flaky:
        """Put a port that can fail in the terminal's place."""
        flaky = Flaky(self.terminal, SessionFailed)
        self.app.sessions.terminal = cast(Any, flaky)
        return flaky

    def flaky_work(self) -> Flaky:
        """Put a port that can fail in the repository's place."""
        flaky = Flaky(self.work, RepositoryError)
        self.app = replace(self.app, work=cast(Any, flaky))
        return flaky

    def on_forge(self, integration: Integration = Integration.DEVCLAW) -> MemoryRequests:
        """Let the project live on a forge, in memory, whose branches are the repository's pretended remote."""
        repo = self.work.repo(self.project)
        repo.remote = remote = {"main": repo.base[-1]}

        def merging(request: Request) -> str:
            remote[request.base] = repo.record(remote[request.base], request.head)
            return remote[request.base]

        self.requests = requests = MemoryRequests("shop", heads=remote.get, merging=merging)
        self.change(provider=Provider.GITHUB, integration=integration)
        self.app = replace(self.app, open_requests=lambda project: requests)
        return requests

    def ports(self) -> dict[str, object]:
        """Return the adapters of the outside by the names of their ports."""
        found = {"tracker": self.tracker, "terminal": self.terminal, "work": self.work, "requests": self.requests}
        return {port: adapter for port, adapter in found.items() if adapter is not None}

    def hear(self) -> list[OutboxRow]:
        """Return the list to which every announcement is added from now on."""
        ears = Ears()
        self.app = replace(self.app, notifier=ears)
        return ears.heard

    def comments(self, issue: int) -> list[str]:
        """Return the texts of an issue's comments."""
        return [comment.body for comment in self.tracker.comments(issue)]

    def task_file(self, session: str = "shop-dev-medior") -> str:
        """Return the newest task message of a session."""
        folder = self.app.sessions.folder(session) / "tasks"
        return max(folder.iterdir(), key=lambda path: path.stat().st_mtime_ns).read_text(encoding="utf-8")

    def snapshot(self) -> dict[str, Any]:
        """Return everything that a refused call must leave as it was."""
        trackers = [self.tracker, *self.more.values()]
        journal = self.app.store.journal
        return {
            "registry": {group: found.on_disk() for group, found in self.app.store.registry.all().items()},
            "tasks": [
                (task.number, task.title, task.body, sorted(task.labels), task.closed)
                for tracker in trackers
                for task in tracker.list_all()
            ],
            "comments": [tracker.comments(task.number) for tracker in trackers for task in tracker.list_all()],
            "sessions": {name: pane.session for name, pane in self.terminal.panes.items()},
            "base": [list(self.work.repo(found).base) for found in self.app.store.registry.all().values()],
            "wishes": journal.wishes(),
            "intents": journal.intents(),
            "outbox": journal.outbox(),
        }


def make_forges(workspace: Path, settings: Settings, clock: Clock) -> Forges:
    """Return forges that are out of reach, for a person without any credentials."""

    def closed(entry: Entry) -> Gate:
        raise TrackerUnavailable(f"{entry.api} is out of reach in this test")

    keyring = Keyring(settings, workspace, {"PATH": str(workspace), "HOME": str(workspace)})
    return Forges(keyring, workspace / "memory" / "forges", clock, 1.0, closed, ask=lambda address: None)


def make_office(
    workspace: Path, *, faults: FailPoints | None = None, settings: Settings | None = None, swaps: bool = False
) -> Office:
    """Build an office in an empty folder; with ``swaps`` its tracker moves an issue in one write, as GitLab does."""
    clock, terminal = VirtualClock(), MemoryTerminal()
    settings = settings or Settings()
    agent, tracker, work = MemoryAgent(terminal), MemoryTracker("shop", clock=clock, swaps=swaps), MemoryWork()
    more: dict[str, MemoryTracker] = {}

    def open_tracker(project: Project) -> MemoryTracker:
        if project.group_id == GROUP:
            return tracker
        return more.setdefault(project.group_id, MemoryTracker(project.name, clock=clock))

    app = App(
        workspace=workspace,
        settings=settings,
        store=FilesStore(workspace, clock, settings),
        clock=clock,
        open_tracker=open_tracker,
        open_requests=lambda _: None,
        forges=make_forges(workspace, settings, clock),
        work=work,
        sessions=Sessions(terminal, agent, workspace, settings, clock, environ={"PATH": "/usr/bin", "HOME": "/root"}),
        notifier=SilentNotifier(),
        faults=faults or FailPoints(),
    )
    app.store.registry.add(
        Project(group_id=GROUP, name="shop", slug="shop", repo=str(workspace / "shop"), base_branch="main")
    )
    return Office(app=app, tracker=tracker, terminal=terminal, agent=agent, work=work, clock=clock, more=more)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    """An office with nothing going on."""
    return make_office(tmp_path)
