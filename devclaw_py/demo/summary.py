"""What came of a demo, by the files and the history it left, not by what anybody said."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.app import App
from devclaw_py.demo.cast import REQUESTS
from devclaw_py.demo.command import typed
from devclaw_py.demo.prepare import CHAT, GROUP
from devclaw_py.demo.repository import BASE, SuiteRun
from devclaw_py.model.pipeline import Role, SessionAction, State
from devclaw_py.model.project import Project
from devclaw_py.model.task import LabelEvent, Task
from devclaw_py.rules.labels import state_of, states_in


@dataclass(frozen=True)
class Told:
    """One issue's way: the states in order, and how often DEV and QA took it."""

    number: int
    title: str
    tiers: tuple[str, ...]
    states: tuple[State, ...]
    attempts: int
    closed: bool
    merged: bool

    @property
    def done(self) -> bool:
        """Whether it is where a demo's issue should be."""
        return self.states[-1] is State.DONE and self.closed and self.merged

    @property
    def moves(self) -> int:
        """How often its state changed."""
        return len(self.states) - 1


@dataclass(frozen=True)
class Summary:
    """The whole. ``started`` and ``reused`` count sessions at pickups."""

    workspace: Path
    repository: Path
    issues: tuple[Told, ...]
    started: int
    reused: int
    seconds: float
    before: SuiteRun
    after: SuiteRun
    requests: Path | None = None

    @property
    def ok(self) -> bool:
        """Whether all are Done, closed and merged, and the merged tests pass although they failed before."""
        return all(issue.done for issue in self.issues) and self.after.passed and not self.before.passed

    def lines(self) -> list[str]:
        """Return the summary for people."""
        done = sum(issue.done for issue in self.issues)
        moves = sum(issue.moves for issue in self.issues)
        attempts = sum(issue.attempts for issue in self.issues)
        return [
            "",
            f"{done} of {len(self.issues)} issues are Done, closed and merged into {BASE}, in {self.seconds:.1f} s.",
            f"The tests of {BASE}: {self.before.words} before, {self.after.words} now.",
            f"{moves} moves, {attempts} attempts, {self.started} sessions started, {self.reused} times reused.",
            "",
            *(line for issue in self.issues for line in _way(issue)),
            "",
            "Look at it:",
            *(f"  {line}" for line in self.places()),
        ]

    def places(self) -> list[str]:
        """Return what a person may look at next."""
        workspace, repository = shlex.quote(str(self.workspace)), shlex.quote(str(self.repository))
        return [
            f"git -C {repository} log --oneline --graph",
            f"{shlex.quote(typed())} status --workspace {workspace}",
            *self._issues(),
            f"{self.workspace / 'memory' / 'audit.log'}  every call",
            f"{self.workspace / CHAT}  what the group was told",
            *([f"{self.requests}  what Claude Code asked its model"] if self.requests else []),
        ]

    def _issues(self) -> list[str]:
        """Return where the local tracker's issues lie; on a forge there are none here."""
        folder = self.workspace / "memory" / "issues"
        return [f"{folder}  the issues and their history"] if folder.exists() else []


def _way(issue: Told) -> list[str]:
    verdict = "" if issue.done else "  (not done, closed and merged)"
    return [
        f"#{issue.number} {issue.title}{verdict}",
        f"   {', '.join(issue.tiers) or 'nobody'}, {issue.attempts} attempts: {' → '.join(issue.states)}",
    ]


def summarise(app: App, *, before: SuiteRun, after: SuiteRun, seconds: float) -> Summary:
    """Read the summary from tracker, journal, audit log and git.

    Raises:
        DevClawError: one of them cannot be read.
    """
    project = app.store.registry.get(GROUP)
    actions = Counter(str(line.get("sessionAction")) for line in app.store.audit.read() if line.get("sessionAction"))
    issues = tuple(_issue(app, project, task) for task in app.open_tracker(project).list_all())
    return Summary(
        workspace=app.workspace,
        repository=project.repo_path,
        issues=issues,
        started=actions[SessionAction.SPAWN],
        reused=actions[SessionAction.SEND],
        seconds=seconds,
        before=before,
        after=after,
        requests=requests if (requests := app.workspace / REQUESTS).is_dir() else None,
    )


def _issue(app: App, project: Project, task: Task) -> Told:
    # An attempt that no worker has accepted was void: its worker was still clearing up after another task.
    attempts = [each for each in app.store.journal.attempts(GROUP, task.number) if each.accepted is not None]
    return Told(
        number=task.number,
        title=task.title,
        tiers=tuple(dict.fromkeys(attempt.tier.value for attempt in attempts if attempt.role is Role.DEV)),
        states=way(app.open_tracker(project).label_events(task.number), states_in(task.labels)),
        attempts=len(attempts),
        closed=task.closed,
        merged=app.work.merged(project, task.number),
    )


def way(events: Sequence[LabelEvent], now: Sequence[State]) -> tuple[State, ...]:
    """Return the states that an issue went through, oldest first; without a history, those that it has now."""
    known = [(event.added, state) for event in events if (state := state_of(event.label)) is not None]
    put = tuple(state for added, state in known if added)
    if known and not known[0][0]:
        return (known[0][1], *put)
    return put or tuple(now)
