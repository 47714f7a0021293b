"""One tick: settle what is due, mend what stands wrong, follow up workers, hand out, tell the groups.

No model is asked. Each project is on its own: one that fails, or that another operation holds, costs no other anything.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from devclaw_py.app import App
from devclaw_py.chat.pump import pump
from devclaw_py.errors import DevClawError, ProjectBusy, SessionError
from devclaw_py.model.caller import HEARTBEAT, RECOVERY, Caller
from devclaw_py.model.finding import Severity
from devclaw_py.night.dispatch import Known, hand_out
from devclaw_py.operations.asking import ask_on, groups_asking, tell_stuck
from devclaw_py.operations.ending import failure
from devclaw_py.operations.following import follow, followed_groups
from devclaw_py.operations.health import mend
from devclaw_py.operations.health_look import Panes
from devclaw_py.operations.recovery import settle
from devclaw_py.operations.sending import groups_waited_for, speak_on
from devclaw_py.operations.steps import NO_GROUP, Call
from devclaw_py.operations.wishes import carry_out, new_op
from devclaw_py.rules.schedule import Plan
from devclaw_py.state.flush import flush_lines
from devclaw_py.state.looks import Looks

# The operations of no group are held under this name.
SETUP_LOCK = "setup"
# Held by the one heartbeat of a workspace; the kernel frees it when its process ends, however it ends.
LEASE = "heartbeat"


@dataclass
class Visit:
    """What was done for one project.

    ``error`` is the failure that ended the visit; others went on. ``busy`` says that another operation holds the
    project: what it began is its own, and the next tick comes back. ``waiting`` are the operations whose time is yet
    to come.
    """

    group_id: str
    project: str
    settled: list[str] = field(default_factory=list)
    mended: list[str] = field(default_factory=list)
    spoken: list[dict[str, Any]] = field(default_factory=list)
    urged: list[dict[str, Any]] = field(default_factory=list)
    followed: list[dict[str, Any]] = field(default_factory=list)
    given: list[dict[str, Any]] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    sent: int = 0
    unsent: int = 0
    busy: str | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    error: dict[str, Any] | None = None

    @property
    def eventful(self) -> bool:
        """Whether there is anything to say of it."""
        done = (self.settled, self.mended, self.spoken, self.asked, self.urged, self.followed, self.given, self.sent)
        return any((*done, self.waiting, self.unsent, self.busy, self.error))


@dataclass(frozen=True)
class Tick:
    """What one tick did. ``plan`` is what was handed out, and what waits for what.

    ``trouble`` is what ended it: then nothing is known of what it did.
    """

    visits: list[Visit]
    plan: Plan = field(default_factory=Plan)
    trouble: DevClawError | None = None


def tick(app: App, *, dry_run: bool = False, known: Known | None = None) -> Tick:
    """Do one tick, unless another heartbeat of the workspace is under way; ``dry_run`` plans and does nothing.

    Raises:
        ProjectBusy: one is.
        StateCorrupt: the registry or the journal cannot be read.
    """
    if dry_run:
        projects = app.store.registry.all().values()
        return Tick([], hand_out(app, projects, room=app.sessions.room(), dry_run=True).plan)
    with app.store.hold(LEASE, wait_s=0, holder="heartbeat"):
        return beat(app, known)


def beat(app: App, known: Known | None = None) -> Tick:
    """Do one tick; the lease is held. ``known`` is what the tick before saw: an idle project costs next to nothing.

    Raises:
        StateCorrupt: the registry or the journal cannot be read.
    """
    known = known if known is not None else Known()
    visits = visit_all(app, force=False, caller=HEARTBEAT, known=known)
    if not app.settings.heartbeat.dispatch:
        return Tick(visits)
    well = {visit.group_id: visit for visit in visits if visit.busy is None and visit.error is None}
    projects = app.store.registry.all().values()
    mine, others = ([each for each in projects if (each.group_id in well) is well_now] for well_now in (True, False))
    try:
        room = app.sessions.room()
    except SessionError as trouble:
        # A terminal that does not answer for a moment must not end the heartbeat.
        for visit in well.values():
            visit.error = failure(trouble)["error"]
        return Tick(visits)
    handed = hand_out(app, mine, room=room, known=known, beside=others)
    for answer in handed.answers:
        well[answer["groupId"]].given.append(answer)
    for group, error in handed.troubles.items():
        well[group].error = failure(error)["error"]
    return Tick(visits, handed.plan)


def visit_all(
    app: App,
    *,
    force: bool,
    caller: Caller = RECOVERY,
    groups: Sequence[str] | None = None,
    known: Known | None = None,
) -> list[Visit]:
    """Visit the projects, ``groups`` None: all. ``force`` settles also what waits for a time to come.

    Where nothing is open, wished or unsent at the beginning there is nothing to do; what comes up meanwhile is the
    next visit's. ``caller`` is who picks up what follows. With ``known`` what stands wrong is mended as well.
    """
    flush_lines(app.store)
    names = {group: project.name for group, project in app.store.registry.all().items()}
    if groups is None:
        # An interrupted registration or set-up belongs to no project yet.
        groups = list(dict.fromkeys([*names, *(intent.group_id for intent in app.store.journal.intents())]))
    tell_stuck(app)
    stirring, panes = _stirring(app), Panes(app)
    visits = [Visit(group, names.get(group, "(no project)")) for group in groups]
    looks = Looks(app.workspace)
    for visit in visits:
        # Somebody says that it has changed: then also what waits for a time to come is tried at once.
        early = visit.group_id in stirring and looks.take(visit.group_id)
        if known is not None and visit.group_id in names:
            _mend(app, visit, known, panes, stirs=visit.group_id in stirring, early=early)
        if visit.group_id in stirring or visit.mended:
            _visit(app, visit, force=force, early=early, caller=caller)
        if early and (visit.busy or visit.error):
            looks.want(visit.group_id)
    return visits


def _mend(app: App, visit: Visit, known: Known, panes: Panes, *, stirs: bool, early: bool) -> None:
    """Mend what session_health finds, where something is going on or the tracker has changed since the last tick."""
    with _failures_of(visit, force=False):
        project = app.store.registry.get(visit.group_id)
        if not stirs and known.is_quiet(app, project):
            return
        call = Call(op=new_op(), tool="session_health", caller=HEARTBEAT, at=app.clock.now())
        findings = mend(app, call, project, panes, force=early, wait_s=0)
        visit.settled += call.settled
        visit.mended = [f.message for f in findings if f.fixed and f.type != "open_intent"]
        if all(f.fixed is not False and f.severity is not Severity.UNKNOWN for f in findings):
            return
    # What was not asked or not mended is looked at again, although nothing changes in the tracker.
    known.forget(visit.group_id)


def _stirring(app: App) -> set[str]:
    """Return the groups with anything to do: asked once, not a thousand times for a no."""
    journal = app.store.journal
    groups = [intent.group_id for intent in journal.intents()]
    groups += [wish.group_id for wish in journal.wishes()]
    groups += groups_waited_for(app)
    groups += groups_asking(app)
    groups += Looks(app.workspace).wanted()
    groups += followed_groups(app)
    return {*groups, *(row.group_id for row in journal.outbox())}


def _visit(app: App, visit: Visit, *, force: bool, early: bool, caller: Caller) -> None:
    if visit.busy or visit.error:
        return
    with _failures_of(visit, force=force):
        _settle(app, visit, force=force, early=early)
        visit.spoken = speak_on(app, visit.group_id)
        visit.asked = ask_on(app, visit.group_id)
        visit.urged = follow(app, visit.group_id, caller=caller)
        visit.followed = carry_out(app, visit.group_id, caller=caller)
        for row in pump(app.store, app.notifier, app.clock, caller=caller, group_id=visit.group_id):
            visit.sent += row.sent is not None
        visit.unsent = len(app.store.journal.outbox(visit.group_id))
        visit.waiting = [
            f"{intent.named} waits: {intent.payload.get('waits', 'no reason was kept')}"
            for intent in app.store.journal.intents(visit.group_id)
            if intent.next_try is not None
        ]


@contextmanager
def _failures_of(visit: Visit, *, force: bool) -> Iterator[None]:
    """Keep a project's failure to the project."""
    try:
        yield
    except DevClawError as error:
        if isinstance(error, ProjectBusy) and not force:
            visit.busy = str(error)
        else:
            visit.error = failure(error)["error"]
    except Exception as error:  # noqa: BLE001 - a bug that one project meets must not keep the others waiting all night
        traceback.print_exc(file=sys.stderr)
        visit.error = failure(DevClawError(f"a bug: {type(error).__name__}: {error}; its trace is on stderr"))["error"]


def _settle(app: App, visit: Visit, *, force: bool, early: bool) -> None:
    if not app.store.journal.intents(visit.group_id):
        return
    name = SETUP_LOCK if visit.group_id == NO_GROUP else f"project:{visit.group_id}"
    wait_s = app.settings.timeouts.lock_s if force else 0
    with app.store.hold(name, wait_s=wait_s, holder=f"recovery {new_op()}"):
        visit.settled += settle(app, visit.group_id, force=force or early)
    flush_lines(app.store)
