"""One look at a project for session_health: registry, journal, tracker, terminal and git, none of them locked."""

from __future__ import annotations

from collections.abc import Mapping

from devclaw_py.agents.look import Look, LookStatus
from devclaw_py.app import App
from devclaw_py.errors import DevClawError, RepositoryError, SessionError, TrackerError, UnknownTask
from devclaw_py.model.journal import Attempt, Intent
from devclaw_py.model.pipeline import Role, SeatKey, StateKind
from devclaw_py.model.project import Project, Seat
from devclaw_py.model.request import RequestState
from devclaw_py.model.task import Task
from devclaw_py.operations.budget import Ledger
from devclaw_py.operations.following import PULSES, facts_of
from devclaw_py.operations.shared import seated_sessions, workplace
from devclaw_py.rules import budget, workflow
from devclaw_py.rules.diagnosis import Issue, Opened, Pulse, Snapshot, Worker
from devclaw_py.rules.following_cases import case
from devclaw_py.rules.health import is_odd
from devclaw_py.rules.labels import states_in
from devclaw_py.terminals.processes import alive
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.work.base import Desk

LOOKS = 3
# From so many busy workers on, more than half of them gone at once is not believed without a look at their processes.
MANY = 5
GONE = (LookStatus.ABSENT, LookStatus.DEAD)


class Panes:
    """How all sessions stand, and what was spent; a terminal that did not answer is asked once in a call.

    ``trouble`` says why nothing is known of the sessions.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self.trouble = ""
        self.ledger = Ledger(app)

    def look(self) -> dict[str, Look] | None:
        """Return a look at every session, or None when they cannot be asked."""
        if not self.trouble:
            try:
                looks = self._app.sessions.looks()
            except SessionError as error:
                self.trouble = str(error)
            else:
                self.trouble = self._outage(looks)
                return looks if not self.trouble else None
        return None

    def _outage(self, looks: Mapping[str, Look]) -> str:
        """Return why the terminal is not believed: most workers are gone at once, and their programs live.

        A terminal whose socket was removed answers that there is no session. Whoever believed it would begin every
        task a second time beside its worker.
        """
        busy = seated_sessions(self._app)
        gone = {name for name in busy if name not in looks or looks[name].status in GONE}
        if len(busy) < MANY or 2 * len(gone) <= len(busy):
            return ""
        living = self._app.sessions.living_in_terminal(gone)
        if not living:
            return ""
        pid = min(living.values())
        return (
            f"{len(gone)} of {len(busy)} workers seem gone at once, but {len(living)} of them live in a tmux server "
            f"that does not answer (process {pid}); kill -USR1 {pid} has it make its socket again"
        )


def look_at(app: App, group_id: str, panes: Panes) -> Snapshot:
    """Return how a project stands.

    Without a lock an operation may go on meanwhile: what was read before and after it is read again.
    """
    for _ in range(LOOKS):
        seen, snapshot = _known(app, group_id), _snapshot(app, group_id, panes)
        if _known(app, group_id) == seen:
            break
    return snapshot


def opened(app: App, group_id: str) -> tuple[Opened, ...]:
    """Return the project's open intents, each with whether its process lives."""
    return tuple(Opened(intent=i, living=alive(i.owner)) for i in app.store.journal.intents(group_id))


def _known(app: App, group_id: str) -> tuple[Project, list[Intent], list[Attempt]]:
    journal = app.store.journal
    return app.store.registry.get(group_id), journal.intents(group_id), journal.attempts(group_id)


def _snapshot(app: App, group_id: str, panes: Panes) -> Snapshot:
    project, attempts = app.store.registry.get(group_id), app.store.journal.attempts(group_id)
    issues: dict[int, Issue] | None = None
    trouble = ""
    try:
        issues = _issues(app, project, attempts)
    except DevClawError as error:
        trouble = str(error)
    return Snapshot(
        project=project,
        now=app.clock.now(),
        opened=opened(app, group_id),
        attempts=tuple(attempts),
        issues=issues,
        workers=_workers(app, project, panes),
        tracker_trouble=trouble,
        terminal_trouble=panes.trouble,
        limit=app.settings.limits.attempts,
    )


def _issues(app: App, project: Project, attempts: list[Attempt]) -> dict[int, Issue]:
    """Return what is ours to look at; an issue without a state label and without an attempt is somebody else's."""
    tracker = app.open_tracker(project)
    tasks = {task.number: task for task in tracker.list_all()}
    tried = {attempt.issue for attempt in attempts}
    seated = {seat.issue for seat in project.seats().values()}
    starts = {a.issue: a.commit for a in reversed(attempts) if a.role is Role.DEV and a.commit is not None}
    numbers = [number for number, task in tasks.items() if number in tried | seated or states_in(task.labels)]
    found = {number: _issue(app, project, tracker, tasks[number], starts.get(number)) for number in numbers}
    missed = {number: _missed(app, project, tracker, number) for number in seated - set(tasks) if number is not None}
    return found | missed


def _missed(app: App, project: Project, tracker: IssueProvider, number: int) -> Issue:
    """Return an issue that a worker holds and the list does not have.

    A forge's list may be behind, and an issue whose label of managed ones somebody took off is not in it: only the
    answer to a question for the issue itself says that it is gone.
    """
    try:
        return _issue(app, project, tracker, tracker.get(number), None)
    except UnknownTask:
        return Issue(task=None)
    except TrackerError as error:
        return Issue(task=None, trouble=str(error))


def _issue(app: App, project: Project, tracker: IssueProvider, task: Task, start: str | None) -> Issue:
    issue = Issue(task=task)
    holders = {key.role: seat for key, seat in project.seats().items() if seat.holds(task.number, None)}
    try:
        if is_odd([*holders], issue) or any(seat.previous_state is None for seat in holders.values()):
            issue = issue.model_copy(update={"events": tuple(tracker.label_events(task.number))})
        if task.closed and any(workflow.KIND[s] in (StateKind.QUEUE, StateKind.ACTIVE) for s in issue.standing):
            issue = issue.model_copy(update={"merged": _merged(app, project, task, start)})
    except (TrackerError, RepositoryError) as error:
        return issue.model_copy(update={"trouble": str(error)})
    return issue


def _merged(app: App, project: Project, task: Task, start: str | None) -> bool:
    """Say whether a task's work is in the base branch: the forge knows where it merges, else git."""
    requests = app.open_requests(project)
    if requests is None:
        return app.work.merged(project, task.number, start=start)
    request = requests.find(app.work.branch(project, task.number, task.title))
    return request is not None and request.state is RequestState.MERGED


def _workers(app: App, project: Project, panes: Panes) -> dict[SeatKey, Worker] | None:
    looks = panes.look()
    if looks is None:
        return None
    return {
        key: _worker(app, project, key, seat, looks).model_copy(
            update={"spent": _spent(app, project, key, panes.ledger)}
        )
        for key, seat in project.seats().items()
        if seat.active
    }


def _spent(app: App, project: Project, key: SeatKey, ledger: Ledger) -> str:
    """Return why no more money is to go into the seat's task; one that a person picked up all the same goes on."""
    seat = project.seat(*key)
    tries = app.store.journal.attempts(project.group_id, seat.issue) if seat.issue is not None else []
    for attempt in tries:
        if attempt.number == seat.attempt and attempt.key == key and not attempt.waived and attempt.report is None:
            found = ledger.reached(project, attempt.issue, attempt.tier)
            return budget.words(found) if found is not None else ""
    return ""


def _worker(app: App, project: Project, key: SeatKey, seat: Seat, looks: dict[str, Look]) -> Worker:
    tier = seat.tier or workflow.default_tier(key.role)
    desk = app.work.desk(project, key.role, tier, key.number)
    session = seat.session(tier) or desk.session
    try:
        # A session that is not listed may belong to somebody else: asking for it by name says so.
        look = looks.get(session) or app.sessions.look(session)
        return _seen(app, project, desk, session, seat, look)
    except SessionError as error:
        return Worker(session=session, pulse=Pulse.UNKNOWN, detail=str(error))


def _seen(app: App, project: Project, desk: Desk, session: str, seat: Seat, look: Look) -> Worker:
    pulse, resumable = PULSES[look.status], False
    facts = facts_of(app, project, desk.key, session, pulse)
    if pulse is Pulse.GONE and seat.attempt is not None:
        resumable = app.sessions.agent.can_resume(workplace(app, project, desk.key, desk.tier, session))
    detail = look.detail or ("it is alive and says nothing of itself" if pulse is Pulse.UNKNOWN else "")
    return Worker(
        session=session,
        pulse=pulse,
        detail=detail,
        case=case(facts) if facts is not None else None,
        resumable=resumable,
    )
