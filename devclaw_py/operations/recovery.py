"""Settling what an earlier process left open, before anything new is done in a project."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta

from devclaw_py.app import App
from devclaw_py.errors import DevClawError, IssueClaimed
from devclaw_py.model.journal import Intent
from devclaw_py.model.project import Project
from devclaw_py.operations.completion_steps import COMPLETE
from devclaw_py.operations.ending import waiting
from devclaw_py.operations.registry import operation_of
from devclaw_py.operations.runner import LACKS, LONGEST_WAIT_S, drive
from devclaw_py.operations.steps import Answered, Call
from devclaw_py.state.flush import flush_lines
from devclaw_py.terminals.processes import alive


@contextmanager
def project_held(
    app: App, group_id: str, call: Call, *, wait_s: float | None = None, reporting: bool = False
) -> Iterator[Project]:
    """Hold the project, settle what was left open in it, and yield it as it is then.

    Raises:
        UnknownProject: before anything is locked.
        ConfigError: the workspace's settings are broken; nothing can be carried out.
        ProjectBusy: another operation holds it.
        Answered: the call's request id was answered meanwhile; not when ``reporting``, whose own end answers it.
    """
    if app.unusable is not None:
        raise app.unusable
    app.store.registry.get(group_id)
    wait_s = app.settings.timeouts.lock_s if wait_s is None else wait_s
    with app.store.hold(f"project:{group_id}", wait_s=wait_s, holder=f"{call.tool} {call.op}"):
        call.settled += settle(app, group_id, own=call.op, request_id=call.request_id)
        with suppress(DevClawError):  # lines that cannot be written now stay queued
            flush_lines(app.store)
        if not reporting:
            check_unanswered(app, group_id, call)
            _check_not_begun(app, group_id, call)
        yield app.store.registry.get(group_id)


def check_unanswered(app: App, group_id: str, call: Call) -> None:
    """Refuse to do a call again whose request id has an answer.

    Raises:
        Answered: with the first outcome.
    """
    if call.request_id is None:
        return
    journal = app.store.journal
    answer = journal.answer(group_id, whole(call.request_id)) or journal.answer(group_id, call.request_id)
    if answer is not None:
        raise Answered(answer)


def whole(request_id: str) -> str:
    """Return the key of an answer together with what followed it; no caller's request id has a newline.

    Under the id itself stands what the operation's own end kept, which a crash cannot part from it.
    """
    return f"{request_id}\n"


def _check_not_begun(app: App, group_id: str, call: Call) -> None:
    """Refuse to do a call again that was begun under the same request id and waits.

    Raises:
        Answered: it can only go forward: pending, as the first call was told or would have been.
        IssueClaimed: it is still being undone.
    """
    for intent in app.store.journal.intents(group_id):
        if call.request_id is not None and _asked_by(intent) == call.request_id:
            reason = str(intent.payload.get("waits", "unfinished"))
            if intent.undoing:
                raise IssueClaimed(f"the first call under this requestId is still being undone: {reason}")
            raise Answered(waiting(app, intent.op, intent.tool, reason))


def _asked_by(intent: Intent) -> str | None:
    """Return the request id of the call that began the operation."""
    asked: str | None = intent.payload.get("requestId")
    return asked


def settle(
    app: App, group_id: str, *, own: str | None = None, request_id: str | None = None, force: bool = False
) -> list[str]:
    """Settle the project's open intents, oldest first, and say in words what became of each.

    The caller holds the project, so none of them has a living owner but a report that waits for this very lock.
    Parked ones are left until their time unless ``force``, or begun under this call's ``request_id``. ``own`` is not
    counted as something that was left.
    """
    told = []
    for intent in app.store.journal.intents(group_id):
        asked_again = request_id is not None and _asked_by(intent) == request_id
        if not due(intent, app.clock.now()) and not force and intent.op != own and not asked_again:
            continue
        words = _settle_one(app, intent, own=intent.op == own)
        if intent.op != own:
            told.append(words)
    return told


def due(intent: Intent, now: datetime) -> bool:
    """Say whether a parked intent is to be tried; a time further off than any wait is of a clock that was set back.

    One that lacks credentials is tried by every call: the next one may have them, and asking costs nothing.
    """
    if intent.payload.get(LACKS):
        return True
    wait = intent.next_try - now if intent.next_try is not None else timedelta()
    return not timedelta() < wait <= timedelta(seconds=LONGEST_WAIT_S)


def _only_waits(intent: Intent) -> bool:
    """Say whether it is a report whose living caller waits for the project: nothing has crashed."""
    begun = intent.phase > 1 or intent.next_try is not None
    return intent.kind == COMPLETE.kind and not begun and alive(intent.owner)


def _settle_one(app: App, intent: Intent, *, own: bool) -> str:
    what = intent.named
    if not own and not _only_waits(intent):
        intent = intent.knowing(recovering=True)
        app.store.journal.mark(intent)
    try:
        drive(app, operation_of(intent.kind), intent, asking=True)
    except DevClawError as error:
        return f"{what} still waits: {error}"
    left = app.store.journal.intent(intent.op)
    if left is not None:
        return f"{what} still waits: {left.payload.get('waits')}"
    return f"{what} was settled"
