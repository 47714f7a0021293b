"""Handing out: facts about all projects, the plan of `rules.schedule`, and its deeds through the one door."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from devclaw_py import catalogue
from devclaw_py.app import App
from devclaw_py.errors import DevClawError
from devclaw_py.model.caller import HEARTBEAT
from devclaw_py.model.journal import Attempt, AttemptChange
from devclaw_py.model.pipeline import Role, State, StateKind, Tier
from devclaw_py.model.project import Project
from devclaw_py.model.task import Task
from devclaw_py.operations.budget import Ledger, tell
from devclaw_py.rules import budget, tiers, workflow
from devclaw_py.rules.labels import states_in
from devclaw_py.rules.schedule import GivenUp, Pickup, Place, Plan, Queued, plan, tier_for
from devclaw_py.trackers.base import IssueProvider

Waiting = tuple[State, Task]

# Refusals of one pickup after which the others of its project need not be tried in the same tick.
OUTSIDE = frozenset(
    {
        "session_failed",
        "delivery_unconfirmed",
        "usage_limited",
        "tracker_unavailable",
        "rate_limited",
        "config_error",
    }
)


@dataclass
class Handed:
    """What came of one tick's plan. ``troubles`` are the projects whose queue could not be read, each with why."""

    plan: Plan = field(default_factory=Plan)
    answers: list[dict[str, Any]] = field(default_factory=list)
    troubles: dict[str, DevClawError] = field(default_factory=dict)


@dataclass
class Known:
    """What the heartbeat has seen of each project's tracker: its pulse, and the queues that it had then."""

    pulses: dict[str, str | None] = field(default_factory=dict)
    queues: dict[str, tuple[str, list[Waiting]]] = field(default_factory=dict)

    def is_quiet(self, app: App, project: Project) -> bool:
        """Whether nothing of the project's issues has changed since this was asked last.

        Raises:
            TrackerError: the tracker could not be asked.
        """
        before = self.pulses.get(project.group_id)
        self.pulses[project.group_id] = pulse = app.open_tracker(project).pulse()
        return pulse is not None and before == pulse

    def forget(self, group_id: str) -> None:
        """Take a project for changed: what was found in it could not be dealt with."""
        self.pulses.pop(group_id, None)

    def queue(self, app: App, project: Project) -> list[Waiting]:
        """Return what waits in the project's queues, asked anew where something has changed.

        Raises:
            TrackerError: the tracker could not be asked.
        """
        tracker = app.open_tracker(project)
        pulse = tracker.pulse()
        before = self.queues.get(project.group_id)
        if before is not None and before[0] == pulse:
            return before[1]
        found = _queued(tracker)
        if pulse is not None:
            self.queues[project.group_id] = (pulse, found)
        return found


def hand_out(
    app: App,
    projects: Iterable[Project],
    *,
    room: int,
    dry_run: bool = False,
    known: Known | None = None,
    beside: Iterable[Project] = (),
) -> Handed:
    """Plan over the projects, then give tasks out and leave hopeless ones to people; ``dry_run`` plans only.

    ``beside`` are projects that are given nothing now; their workers count all the same.
    """
    known = known if known is not None else Known()
    handed, places, ledger = Handed(), [], Ledger(app)
    for project in projects:
        try:
            places.append(place_of(app, project, known, ledger))
        except DevClawError as error:
            handed.troubles[project.group_id] = error
            places.append(_only_busy(project))
    places += [_only_busy(project) for project in beside]
    beat = app.settings.heartbeat
    handed.plan = plan(
        places,
        now=app.clock.now(),
        limit=app.settings.limits.attempts,
        room=room,
        one_project=beat.project_execution == "sequential",
    )
    if not dry_run:
        handed.answers += [_leave_to_people(app, given_up) for given_up in handed.plan.given_up]
        handed.answers += _give(app, handed.plan.pickups)
        _tell_of_budgets(app, handed.plan, ledger)
    return handed


def place_of(app: App, project: Project, known: Known, ledger: Ledger) -> Place:
    """Return the facts about a project that the schedule needs.

    Raises:
        TrackerError: its queues could not be read.
    """
    attempts = app.store.journal.attempts(project.group_id)
    tries: dict[int, list[Attempt]] = {}
    for attempt in attempts:
        tries.setdefault(attempt.issue, []).append(attempt)
    kept = {intent.issue for intent in app.store.journal.intents(project.group_id)}
    kept |= {seat.issue for seat in project.seats().values()}
    return Place(
        group_id=project.group_id,
        mode=project.mode,
        execution=project.role_execution,
        queue=tuple(
            _waits(project, ledger, task, state, tries.get(task.number, []))
            for state, task in known.queue(app, project)
            if task.number not in kept
        ),
        seats={role: len(project.open_seats(role)) for role in Role},
        busy=_busy(project),
        since=max((attempt.started for attempt in attempts), default=None),
    )


def _queued(tracker: IssueProvider) -> list[Waiting]:
    """Return the issues with exactly one state, a queue's, in queue order."""
    found = []
    for state in workflow.QUEUES:
        for task in tracker.list_by_label(state):
            if len(states_in(task.labels)) == 1:
                found.append((state, task))
    return found


def _only_busy(project: Project) -> Place:
    return Place(group_id=project.group_id, busy=_busy(project))


def _busy(project: Project) -> dict[Role, int]:
    return {role: sum(seat.active for seat in project.seats(role).values()) for role in Role}


def _waits(project: Project, ledger: Ledger, task: Task, state: State, tries: Sequence[Attempt]) -> Queued:
    tier = _tier(task, state)
    takes = tier_for(tier, tries)
    found = ledger.reached(project, task.number, takes)
    spent = {takes: budget.words(found)} if found is not None else {}
    return Queued(number=task.number, state=state, tier=tier, attempts=tuple(tries), spent=spent)


def _tell_of_budgets(app: App, found: Plan, ledger: Ledger) -> None:
    """Have each group told that waits for money and nothing else."""
    for held in found.held:
        if held.spends is not None:
            project = app.store.registry.get(held.group_id)
            reached = ledger.reached(project, held.issue, held.spends)
            if reached is not None:
                tell(app, project, reached)


def _tier(task: Task, state: State) -> Tier:
    role = workflow.ROLE[state]
    return tiers.choose(role, given=None, labels=task.labels, title=task.title, body=task.body).tier


def _give(app: App, pickups: Sequence[Pickup]) -> list[dict[str, Any]]:
    """Pick up in the plan's order; where the outside refuses one, the rest of that project waits for the next tick."""
    answers, failing = [], set()
    for pickup in pickups:
        if pickup.group_id in failing:
            continue
        answer = catalogue.call(
            app,
            "task_pickup",
            {
                "projectGroupId": pickup.group_id,
                "issueId": pickup.issue,
                "role": pickup.role.value,
                **({"model": pickup.tier.value} if pickup.instead else {}),
            },
            HEARTBEAT,
        )
        answers.append({"groupId": pickup.group_id, "issueId": pickup.issue, "role": pickup.role.value, **answer})
        if not answer["success"] and answer["error"]["code"] in OUTSIDE:
            failing.add(pickup.group_id)
    return answers


def _leave_to_people(app: App, given_up: GivenUp) -> dict[str, Any]:
    """Write the story on the issue and move it to Refining; a kill in between repeats neither."""
    assert workflow.KIND[given_up.state] is StateKind.QUEUE
    about = {"projectGroupId": given_up.group_id, "issueId": given_up.issue}
    again = f"given-up:{given_up.group_id}:{given_up.issue}:{given_up.attempt}"
    comment = {**about, "body": given_up.story, "authorRole": "orchestrator", "requestId": f"{again}:comment"}
    told = catalogue.call(app, "task_comment", comment, HEARTBEAT)
    if not told["success"]:
        return {**about, **told}
    reason = "it keeps coming back; a comment tells what was tried"
    moves = {**about, "state": State.REFINING.value, "reason": reason, "requestId": f"{again}:move"}
    answer = catalogue.call(app, "task_update", moves, HEARTBEAT)
    if answer["success"]:
        change = AttemptChange(
            group_id=given_up.group_id, issue=given_up.issue, number=given_up.attempt, given_up=app.clock.now()
        )
        app.store.journal.change_attempt(change)
    return {**about, **answer}
