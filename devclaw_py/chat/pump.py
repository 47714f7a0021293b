"""The outbox pump: unsent announcements, in order for each group, at least once."""

from __future__ import annotations

from datetime import timedelta

from devclaw_py.chat.base import Notifier
from devclaw_py.chat.notify import HeldNotifier, SilentNotifier
from devclaw_py.chat.text import plain
from devclaw_py.errors import Outside, ProjectBusy
from devclaw_py.kernel.clock import Clock
from devclaw_py.model.caller import RECOVERY, Caller
from devclaw_py.model.journal import AuditLine, OutboxRow
from devclaw_py.model.project import Project
from devclaw_py.state.base import Store

FIRST_WAIT_S = 30
LONGEST_WAIT_S = 15 * 60
SHOWN_CHARS = 100


def pump(
    store: Store, notifier: Notifier, clock: Clock, *, caller: Caller = RECOVERY, group_id: str | None = None
) -> list[OutboxRow]:
    """Send what waits, and return each row that was tried as it is now: with ``sent``, or with ``next_try``.

    A group stops at its first failure, because what follows would overtake it. A group that another process is
    sending for is passed over. ``caller`` is who sends, for the audit log. A notifier that leaves its rows to another
    process is asked for nothing.
    """
    if isinstance(notifier, HeldNotifier):
        return []
    groups = dict.fromkeys(row.group_id for row in store.journal.outbox(group_id))
    if not groups:
        return []

    projects = store.registry.all()
    sent = (_pump_group(store, notifier, clock, group, projects.get(group), caller) for group in groups)
    return [row for rows in sent for row in rows]


def wait_s(tries: int) -> int:
    """Return the seconds to wait after so many failures in a row: 30, doubled each time, at most 15 minutes."""
    return int(min(FIRST_WAIT_S * 2 ** min(tries - 1, 10), LONGEST_WAIT_S))


def _pump_group(
    store: Store, notifier: Notifier, clock: Clock, group: str, project: Project | None, caller: Caller
) -> list[OutboxRow]:
    tried: list[OutboxRow] = []
    try:
        with store.hold(f"outbox:{group}", wait_s=0, holder="notify"):
            # Read again: the process that held the lock until now has sent some of them.
            for row in store.journal.outbox(group):
                # Further off than any wait is a time of before the clock was set back.
                if row.next_try is not None and 0 < (row.next_try - clock.now()).total_seconds() <= LONGEST_WAIT_S:
                    break
                tried.append(_send(store, notifier, clock, row, project, caller))
                if tried[-1].sent is None:
                    break
    except ProjectBusy:
        return tried
    return tried


def _send(
    store: Store, notifier: Notifier, clock: Clock, row: OutboxRow, project: Project | None, caller: Caller
) -> OutboxRow:
    try:
        notifier.deliver(row, project)
    except Outside as error:
        tries = row.tries + 1
        later = clock.now() + timedelta(seconds=wait_s(tries))
        tried = row.model_copy(update={"tries": tries, "next_try": later})
        facts: dict[str, object] = {"ok": False, "error": error.code, "reason": str(error)[:SHOWN_CHARS]}
    else:
        tried = row.model_copy(update={"tries": row.tries + 1, "sent": clock.now(), "next_try": None})
        facts = {}

    store.journal.save_outbox(tried)
    if not isinstance(notifier, SilentNotifier):
        store.audit.append(_line(tried, clock, project, caller, facts))
    return tried


def _line(row: OutboxRow, clock: Clock, project: Project | None, caller: Caller, facts: dict[str, object]) -> AuditLine:
    task = row.announcement.task
    return AuditLine(
        ts=clock.now(),
        event="notify" if row.sent else "notify_error",
        op=row.key.partition(":")[0],
        caller=str(caller),
        project=project.name if project else None,
        group_id=row.group_id,
        issue=task.number if task else None,
        facts={"key": row.key, "tries": row.tries, "message": plain(row.announcement)[:SHOWN_CHARS], **facts},
    )
