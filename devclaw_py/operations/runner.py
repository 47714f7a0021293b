"""One driver for tools and recovery: forward from the journal's phase, or back to where nothing had happened."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from devclaw_py.app import App
from devclaw_py.errors import DevClawError, NoCredentials
from devclaw_py.model.journal import Attempt, Closing, Intent
from devclaw_py.operations.metering import with_usage
from devclaw_py.operations.steps import Operation, Waits, line
from devclaw_py.state.flush import flush_lines

FIRST_WAIT_S, LONGEST_WAIT_S = 30, 600

# In the payload of a parked intent: it waits for a call that has credentials, and for no time.
LACKS = "lacksCredentials"


def perform(app: App, operation: Operation, intent: Intent, attempt: Attempt | None = None) -> dict[str, Any]:
    """Write the intent, make every step, close it, and return the answer. The caller holds the project.

    Raises:
        Waits: past the commit point and parked.
        DevClawError: undone, or parked on the way back; the error that stopped it.
    """
    # Row 1 is this very writing: from here on row 2 may have happened, and is undone.
    intent = intent.model_copy(update={"phase": 1})
    app.store.journal.begin(intent, attempt)
    app.faults.hit(operation.points[0])
    return drive(app, operation, intent, asking=False)


def drive(app: App, operation: Operation, intent: Intent, *, asking: bool) -> dict[str, Any]:
    """Carry an open intent to its end; ``asking`` when another process may have been stopped in the next row."""
    try:
        if asking and (intent.undoing or not operation.committed(app, intent)):
            return _back(app, operation, intent)
        return _forward(app, operation, intent, asking=asking)
    except Exception as error:
        # A bug must not leave an operation half done either: it is undone or parked like a failure, and raised.
        _stop(app, operation, intent.op, error)
        raise


def _forward(app: App, operation: Operation, intent: Intent, *, asking: bool) -> dict[str, Any]:
    for step in operation.steps:
        if step.row <= intent.phase:
            continue
        known = step.ask(app, intent) if asking else None
        asking = False  # rows after the first open one cannot have happened
        intent = known or step.do(app, intent)
        app.faults.hit(operation.point(step))
        intent = _mark(app, intent, phase=step.row)
    return close(app, operation, intent, operation.finish(app, intent))


def _stop(app: App, operation: Operation, op: str, error: Exception) -> None:
    """Park what can only go forward, or what cannot be asked about; undo the rest.

    Raises:
        Waits: the operation is past its commit point and parked.
    """
    intent = app.store.journal.intent(op)
    if intent is None:
        return
    try:
        onward = not intent.undoing and operation.committed(app, intent)
    except DevClawError as unknown:
        _park(app, operation, intent, unknown)
        return
    if onward or intent.undoing:
        _park(app, operation, intent, error)
    else:
        code = error.code if isinstance(error, DevClawError) else "internal"
        _back(app, operation, intent.knowing(error=code))
    if onward and isinstance(error, DevClawError):
        raise Waits(str(error), hint=error.hint) from error


def _back(app: App, operation: Operation, intent: Intent) -> dict[str, Any]:
    """Undo from the last row that may have happened; parked when the outside cannot be reached."""
    intent = _mark(app, intent.knowing(error=intent.payload.get("error", "interrupted")), undoing=True)
    for step in reversed(operation.steps):
        if step.row > intent.phase + 1:
            continue
        if step.undo is not None:
            try:
                step.undo(app, intent)
            except DevClawError as error:
                _park(app, operation, intent, error)
                return {}
        intent = _mark(app, intent, phase=step.row - 1)
    return close(app, operation, intent, operation.undone(app, intent))


def _park(app: App, operation: Operation, intent: Intent, error: Exception) -> None:
    reason = str(error) if isinstance(error, DevClawError) else f"{type(error).__name__} inside devclaw"
    wait_s = min(FIRST_WAIT_S * 2**intent.tries, LONGEST_WAIT_S)
    parked = intent.model_copy(
        update={
            "next_try": app.clock.now() + timedelta(seconds=wait_s),
            "tries": intent.tries + 1,
            "payload": {**intent.payload, "waits": reason, LACKS: isinstance(error, NoCredentials)},
        }
    )
    app.store.journal.mark(parked)
    if not intent.undoing:
        operation.parked(app, parked, reason)


def _mark(app: App, intent: Intent, *, phase: int | None = None, undoing: bool | None = None) -> Intent:
    changes = {"phase": phase, "undoing": undoing}
    intent = intent.model_copy(update={name: value for name, value in changes.items() if value is not None})
    app.store.journal.mark(intent)
    return intent


def close(app: App, operation: Operation, intent: Intent, closing: Closing) -> dict[str, Any]:
    """End the intent in one transaction, then write the audit lines that it queued."""
    closing = with_usage(app, intent, closing)
    answer = closing.answer or {}
    facts: dict[str, Any] = {"ok": not intent.undoing and answer.get("success", True) is not False}
    if intent.undoing:
        facts |= {"error": intent.payload.get("error", "interrupted")}
    if intent.payload.get("recovering"):
        facts |= {"recovered": True}
    event = "operation_settled" if app.store.journal.lined(intent.op) else intent.tool
    own = line(app, intent, event, **facts, **closing.facts)
    app.store.journal.close(
        intent.op, closing.model_copy(update={"lines": (own, *closing.lines), "request_id": _request(intent)})
    )
    app.faults.hit(operation.points[-1])
    try:
        flush_lines(app.store)
    except DevClawError as error:
        # What was done stands and is answered; the lines are queued and written by a later call.
        return {**answer, "warning": f"the audit lines of this call wait: {error}"}
    return answer


def _request(intent: Intent) -> str | None:
    return None if intent.undoing else intent.payload.get("requestId")
