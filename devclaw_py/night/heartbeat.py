"""One tick: settle what is due, carry out what should follow, tell the groups. No model is asked."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from devclaw_py.app import App
from devclaw_py.chat.pump import pump
from devclaw_py.errors import DevClawError, ProjectBusy
from devclaw_py.model.caller import HEARTBEAT, RECOVERY, Caller
from devclaw_py.operations.asking import ask_on, groups_asking, tell_stuck
from devclaw_py.operations.ending import failure
from devclaw_py.operations.following import follow, followed_groups
from devclaw_py.operations.recovery import settle
from devclaw_py.operations.sending import groups_waited_for, speak_on
from devclaw_py.operations.steps import NO_GROUP
from devclaw_py.operations.wishes import carry_out, new_op
from devclaw_py.state.flush import flush_lines
from devclaw_py.state.looks import Looks

# The operations of no group are held under this name.
SETUP_LOCK = "setup"


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
    spoken: list[dict[str, Any]] = field(default_factory=list)
    urged: list[dict[str, Any]] = field(default_factory=list)
    followed: list[dict[str, Any]] = field(default_factory=list)
    waiting: list[str] = field(default_factory=list)
    sent: int = 0
    unsent: int = 0
    busy: str | None = None
    asked: list[dict[str, Any]] = field(default_factory=list)
    error: dict[str, Any] | None = None

    @property
    def eventful(self) -> bool:
        """Whether there is anything to say of it."""
        done = (self.settled, self.spoken, self.urged, self.followed, self.sent, self.asked)
        return any((*done, self.waiting, self.unsent, self.busy, self.error))


def tick(app: App) -> list[Visit]:
    """Visit every project once, unless another heartbeat of the workspace is under way.

    Raises:
        ProjectBusy: one is.
        StateCorrupt: the registry or the journal cannot be read.
    """
    with app.store.hold("heartbeat", wait_s=0, holder="heartbeat"):
        return visit_all(app, force=False, caller=HEARTBEAT)


def visit_all(app: App, *, force: bool, caller: Caller = RECOVERY, groups: Sequence[str] | None = None) -> list[Visit]:
    """Visit the projects, ``groups`` None: all. ``force`` settles also what waits for a time to come.

    Where nothing is open, wished or unsent at the beginning there is nothing to do; what comes up meanwhile is the
    next visit's. ``caller`` is who picks up what follows.
    """
    flush_lines(app.store)
    names = {group: project.name for group, project in app.store.registry.all().items()}
    if groups is None:
        # An interrupted registration or set-up belongs to no project yet.
        groups = list(dict.fromkeys([*names, *(intent.group_id for intent in app.store.journal.intents())]))
    tell_stuck(app)
    stirring = _stirring(app)
    visits = [Visit(group, names.get(group, "(no project)")) for group in groups]
    return [_visit(app, visit, force=force, caller=caller) if visit.group_id in stirring else visit for visit in visits]


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


def _visit(app: App, visit: Visit, *, force: bool, caller: Caller) -> Visit:
    looked = Looks(app.workspace).take(visit.group_id)
    try:
        _settle(app, visit, force=force, early=looked)
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
    except DevClawError as error:
        if looked:
            Looks(app.workspace).want(visit.group_id)
        if isinstance(error, ProjectBusy) and not force:
            visit.busy = str(error)
        else:
            visit.error = failure(error)["error"]
    except Exception as error:  # noqa: BLE001 - a bug that one project meets must not keep the others waiting all night
        traceback.print_exc(file=sys.stderr)
        visit.error = failure(DevClawError(f"a bug: {type(error).__name__}: {error}; its trace is on stderr"))["error"]
    return visit


def _settle(app: App, visit: Visit, *, force: bool, early: bool) -> None:
    """Settle what is open; ``early`` also what waits for a time to come, because somebody says that it has changed."""
    if not app.store.journal.intents(visit.group_id):
        return
    name = SETUP_LOCK if visit.group_id == NO_GROUP else f"project:{visit.group_id}"
    wait_s = app.settings.timeouts.lock_s if force else 0
    with app.store.hold(name, wait_s=wait_s, holder=f"recovery {new_op()}"):
        visit.settled = settle(app, visit.group_id, force=force or early)
    flush_lines(app.store)
