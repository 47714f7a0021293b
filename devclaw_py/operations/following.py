"""Following up workers that hold a task and have not reported: one pass over a project's seats, by `rules.following`.

No lock of the project is held: each thing that is done is one transaction of the journal that only one process wins,
and what is typed is typed under the session's own lock.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from typing import Any

from devclaw_py.agents import mailbox
from devclaw_py.agents.look import Look, LookStatus
from devclaw_py.app import App
from devclaw_py.errors import DevClawError, SessionError
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.caller import RECOVERY, Caller
from devclaw_py.model.following import End, Followed, Parked
from devclaw_py.model.journal import Attempt, AuditLine, Following, OutboxRow
from devclaw_py.model.pipeline import SeatKey
from devclaw_py.model.project import Project
from devclaw_py.model.task import TaskRef
from devclaw_py.operations.wishes import new_op
from devclaw_py.rules import announce, prompts
from devclaw_py.rules.diagnosis import Pulse
from devclaw_py.rules.following import TYPED, Act, Do, Facts, decide
from devclaw_py.state.flush import flush_lines

PULSES = {
    LookStatus.ABSENT: Pulse.GONE,
    LookStatus.DEAD: Pulse.GONE,
    LookStatus.IDLE: Pulse.IDLE,
    LookStatus.WORKING: Pulse.BUSY,
    LookStatus.STARTING: Pulse.BUSY,
    LookStatus.UNKNOWN: Pulse.UNKNOWN,
}
# A task that was just accepted has nothing to be followed up yet, so its session is not asked.
FRESH = timedelta(seconds=10)


class Superseded(SessionError):
    """The attempt has ended, has a report, or something else was done about it."""


def follow(
    app: App, group_id: str, *, caller: Caller = RECOVERY, own_session: str | None = None, fresh: timedelta = FRESH
) -> list[dict[str, Any]]:
    """Do what is due about the project's workers, and say what was done.

    ``own_session`` is the session in which this very call runs: it works. A task that was accepted less than ``fresh``
    ago is passed over. A terminal that cannot be asked is no failure here; session_health says so. Waits a few seconds
    at most for each worker that is told something.
    """
    project = app.store.registry.get(group_id)
    open_now = [attempt for attempt in _unreported(app, project, fresh) if attempt.session != own_session]
    if not open_now:
        return []
    done: list[dict[str, Any]] = []
    looks: dict[str, Look] = {}
    with suppress(SessionError):
        looks = app.sessions.looks()
    for attempt in open_now:
        if (look := looks.get(attempt.session)) is not None:
            with suppress(SessionError):
                done += _follow(app, project, attempt, PULSES[look.status], caller)
    return done


def followed_groups(app: App) -> set[str]:
    """Return the groups with a worker that could be followed up."""
    projects = app.store.registry.all()
    return {group for group, project in projects.items() if any(seat.active for seat in project.seats().values())}


def facts_of(app: App, project: Project, key: SeatKey, session: str, pulse: Pulse) -> Facts | None:
    """Return the facts about a busy seat; None when the journal knows nothing of its attempt.

    Raises:
        SessionError: the terminal could not be asked.
    """
    seat = project.seat(*key)
    ended = quiet_since = None
    if pulse is Pulse.IDLE and seat.attempt is not None:
        ended = app.sessions.ended(session, f"{seat.issue}.{seat.attempt}")
    elif pulse is Pulse.BUSY:
        quiet_since = app.sessions.quiet_since(session)
    # Read last: a report that came in the turn whose end was seen is known by now.
    attempt = _attempt(app, project, key)
    if attempt is None and (ended is None or ended.how is not End.PROGRAM):
        return None
    return Facts(
        now=app.clock.now(),
        pulse=pulse,
        ended=ended,
        quiet_since=quiet_since,
        reported=attempt is not None and attempt.report is not None,
        parked=app.sessions.parked(),
        done=(attempt and attempt.followed) or Followed(),
        stall=timedelta(minutes=app.settings.timeouts.stall_min),
    )


def _unreported(app: App, project: Project, fresh: timedelta) -> Iterator[Attempt]:
    for key in project.seats():
        attempt = _attempt(app, project, key)
        if attempt is None or attempt.ended is not None or attempt.report is not None:
            continue
        if app.clock.now() - (attempt.accepted or attempt.started) >= fresh:
            yield attempt


def _attempt(app: App, project: Project, key: SeatKey) -> Attempt | None:
    """Return the attempt that the seat holds."""
    seat = project.seat(*key)
    if not seat.active or seat.issue is None or seat.attempt is None:
        return None
    tries = app.store.journal.attempts(project.group_id, seat.issue)
    return next((one for one in tries if one.number == seat.attempt and one.key == key), None)


def _follow(app: App, project: Project, attempt: Attempt, pulse: Pulse, caller: Caller) -> list[dict[str, Any]]:
    facts = facts_of(app, project, attempt.key, attempt.session, pulse)
    act = decide(facts) if facts is not None else None
    if act is None:
        return []
    what: dict[str, Any] = {"did": act.do.value, "issueId": attempt.issue, "role": attempt.role.value, "why": act.why}
    following = _following(app, project, attempt, act, caller)

    def claim() -> None:
        if not app.store.journal.follow(following):
            raise Superseded(f"attempt {attempt.number} at #{attempt.issue} is followed up by somebody else")

    try:
        heard = _do(app, attempt, act, claim)
    except Superseded:
        return []
    with suppress(DevClawError):  # lines that cannot be written now stay queued
        flush_lines(app.store)
    if heard is None:
        return []
    return [{**what, "heard": heard}] if act.do in TYPED else [what]


def _do(app: App, attempt: Attempt, act: Act, claim: Callable[[], None]) -> bool | None:
    """Do it; None when it could not be done now and the next pass comes back."""
    if act.do is Do.ESCAPE:
        return app.sessions.interrupt(attempt.session, about_to=claim) or None
    if act.do in TYPED:
        offer, key = f"{attempt.issue}.{attempt.number}", act.record.key

        def still() -> bool:
            ended = app.sessions.ended(attempt.session, offer)
            return ended is not None and ended.key == key

        task_file = app.sessions.folder(attempt.session) / mailbox.TASKS / f"{offer}.md"
        text = TEXTS[act.do](attempt.issue, attempt.number, str(task_file), act.why)
        return app.sessions.urge(attempt.session, text, still=still, about_to=claim)
    if act.do is Do.PARK and act.until is not None:
        app.sessions.park(Parked(until=act.until, words=act.why))
    claim()
    return True


TEXTS = {Do.REMIND: prompts.reminder, Do.GO_ON: prompts.go_on, Do.TELL_AGAIN: prompts.told_again}


def _following(app: App, project: Project, attempt: Attempt, act: Act, caller: Caller) -> Following:
    now, told = app.clock.now(), _told(project, attempt, act)
    facts: dict[str, Any] = {
        "ok": True,
        "role": attempt.role.value,
        "attempt": attempt.number,
        "session": attempt.session,
        "reason": act.why[:100],
        **_counts(act),
    }
    line = AuditLine(
        ts=now,
        event=act.do.value,
        op=new_op(),
        caller=str(caller),
        project=project.name,
        group_id=project.group_id,
        issue=attempt.issue,
        facts=facts,
    )
    key = f"follow:{project.group_id}:{attempt.issue}.{attempt.number}:{act.record.number}"
    if act.do is Do.PARK:
        # Several workers of one group meet the same limit.
        key = f"parked:{project.group_id}:{act.until}"
    row = OutboxRow(key=key, group_id=project.group_id, announcement=told, at=now) if told is not None else None
    return Following(
        group_id=project.group_id,
        issue=attempt.issue,
        number=attempt.number,
        followed=act.record,
        lines=(line,),
        outbox=(row,) if row is not None else (),
    )


def _counts(act: Act) -> dict[str, Any]:
    if act.do is Do.REMIND:
        return {"reminder": act.record.reminders}
    if act.do is Do.PARK and act.until is not None:
        return {"until": act.until.isoformat()}
    counts = {"retries": act.record.retries, "restarts": act.record.restarts, "stalls": act.record.stalls}
    return {name: count for name, count in counts.items() if count}


def _told(project: Project, attempt: Attempt, act: Act) -> Announcement | None:
    task = TaskRef(number=attempt.issue, title=attempt.title, url=attempt.url)
    if act.do is Do.PARK and act.until is not None:
        return announce.parked(task, attempt.role, act.until)
    if act.do is Do.ESCAPE:
        return announce.stalled(task, attempt.role, act.why)
    if act.do is Do.ANNOUNCE:
        further = f" {attempt.seat}" if attempt.seat > 1 else ""
        where = f"{project.name} {attempt.role} {attempt.tier}{further}"
        return announce.needs_help(task, attempt.role, act.why, where)
    return None
