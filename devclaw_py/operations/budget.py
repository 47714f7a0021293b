"""What has been spent, of ended attempts and of those at work, against the limits; and what a group is told of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from devclaw_py.app import App
from devclaw_py.model.budget import Reached, Scope, Sum
from devclaw_py.model.journal import Attempt, OutboxRow
from devclaw_py.model.pipeline import Tier
from devclaw_py.model.project import Project
from devclaw_py.model.usage import TaskUsage
from devclaw_py.rules import announce, budget

EVER = datetime(1970, 1, 1, tzinfo=UTC)
LATELY = timedelta(days=7)


class Ledger:
    """The sums of one look: each is asked for once, and nothing is asked where nothing is limited."""

    def __init__(self, app: App) -> None:
        self._app, self._now = app, app.clock.now()
        self.day = budget.day_of(self._now, app.settings.budget.day_begins_h)
        self._sums: dict[tuple[str | None, int | None, Tier | None], Sum] = {}
        self._running: list[tuple[Attempt, Sum]] | None = None

    def reached(self, project: Project, issue: int, tier: Tier) -> Reached | None:
        """Return the limit that keeps a tier's worker from this task, None while there is money left."""
        settings = self._app.settings.budget
        if not settings.limited and not project.budget:
            return None
        asked: Mapping[Scope, tuple[str | None, int | None, Tier | None]] = {
            Scope.TASK: (project.group_id, issue, None),
            Scope.PROJECT: (project.group_id, None, None),
            Scope.TIER: (None, None, tier),
            Scope.DAY: (None, None, None),
        }
        limits = budget.limits(settings, project.budget, tier)
        about = {Scope.TASK: f"#{issue}", Scope.TIER: tier.value}
        return budget.reached(limits, lambda scope: self._spent(*asked[scope]), about)

    def _spent(self, group: str | None, issue: int | None, tier: Tier | None) -> Sum:
        key = (group, issue, tier)
        if key not in self._sums:
            since = EVER if issue is not None else self.day
            until = self._now + timedelta(days=1)
            ended = self._app.store.journal.spending(group, since=since, until=until, issue=issue, tier=tier)
            self._sums[key] = sum(
                (spent for attempt, spent in self._at_work() if _counts(attempt, *key)), budget.of_spending(ended)
            )
        return self._sums[key]

    def _at_work(self) -> list[tuple[Attempt, Sum]]:
        if self._running is None:
            self._running = [
                (attempt, budget.of_usage(so_far(self._app, attempt)))
                for project in self._app.store.registry.all().values()
                for attempt in _held(self._app, project)
            ]
        return self._running


def so_far(app: App, attempt: Attempt) -> TaskUsage:
    """Return what an attempt that goes on has used up to now; nothing is known of what its agent does not count."""
    if attempt.meter is None:
        return TaskUsage()
    now = app.sessions.meter(attempt.session)
    found = app.sessions.usage(attempt.meter, now) if now is not None else TaskUsage()
    return budget.priced(found, app.settings.budget.prices)


def tell(app: App, project: Project, found: Reached) -> None:
    """Have the group told once of a limit that is reached: once a day, once for each height of the limit."""
    now, limit = app.clock.now(), found.limit
    day = budget.day_of(now, app.settings.budget.day_begins_h)
    when = "" if limit.scope is Scope.TASK else f":{day:%Y-%m-%d}"
    key = f"budget:{project.group_id}:{limit.scope}{found.about}:{limit.unit}:{limit.most:g}{when}"
    told = announce.budget_reached(
        project.name, budget.words(found), costs=_costs(app, project), to_raise=budget.to_raise(found, project.group_id)
    )
    app.store.journal.queue(OutboxRow(key=key, group_id=project.group_id, announcement=told, at=now))


def _costs(app: App, project: Project) -> str:
    """Return what an attempt of the project has cost lately, in words; empty when nothing is known."""
    now = app.clock.now()
    lately = app.store.journal.spending(project.group_id, since=now - LATELY, until=now + timedelta(days=1))
    counted, priced = lately.attempts - lately.uncounted, lately.attempts - lately.unpriced
    if priced:
        return f"${lately.cost_usd / priced:,.2f}"
    return f"{budget.total(lately.tokens) // counted:,} tokens" if counted else ""


def _held(app: App, project: Project) -> list[Attempt]:
    """Return the attempts that the project's busy seats hold."""
    found = []
    for key, seat in project.seats().items():
        if seat.active and seat.issue is not None:
            tries = app.store.journal.attempts(project.group_id, seat.issue)
            found += [one for one in tries if one.number == seat.attempt and one.key == key and one.ended is None]
    return found


def _counts(attempt: Attempt, group: str | None, issue: int | None, tier: Tier | None) -> bool:
    asked = ((group, attempt.group_id), (issue, attempt.issue), (tier, attempt.tier))
    return all(wanted in (None, has) for wanted, has in asked)
