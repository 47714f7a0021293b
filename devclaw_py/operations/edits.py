"""A person edits an issue whose task a worker has: the worker is told, once for each edit."""

from __future__ import annotations

from collections.abc import Iterator

from devclaw_py.app import App
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.journal import Attempt, AttemptChange, AuditLine
from devclaw_py.model.task import Task
from devclaw_py.operations.steps import Call
from devclaw_py.operations.wishes import new_op
from devclaw_py.rules import prompts, workflow
from devclaw_py.rules.diagnosis import Pulse, Snapshot, diagnosis
from devclaw_py.rules.labels import states_in

LIVING = (Pulse.IDLE, Pulse.BUSY)


def tell_of_edits(app: App, call: Call, snapshot: Snapshot) -> list[Finding]:
    """Tell each worker whose task has another title or description than it was last told. The project's lock is held.

    A worker that cannot be told now is told by the next look. One that is killed between the two is told again.
    """
    findings = []
    for attempt, task in edited(snapshot):
        words = f"the text of #{task.number} was changed while {attempt.key} holds it"
        told = app.sessions.tell(attempt.session, prompts.edited(task.number))
        if told:
            change = AttemptChange(
                group_id=attempt.group_id, issue=attempt.issue, number=attempt.number, text=task.digest
            )
            app.store.journal.change_attempt(change)
            app.store.audit.append_once(_line(app, call, snapshot, attempt))
        found = diagnosis(
            snapshot,
            "task_edited",
            words,
            severity=Severity.WARNING,
            role=attempt.role,
            issue=task.number,
            mend="its worker is told",
        ).finding
        findings.append(found.model_copy(update={"fixed": told}))
    return findings


def edited(snapshot: Snapshot) -> Iterator[tuple[Attempt, Task]]:
    """Yield the attempts at work whose task reads otherwise than it was told, each with the task as it reads now."""
    for key, seat in snapshot.project.seats().items():
        issue = (snapshot.issues or {}).get(seat.issue) if seat.active and seat.issue is not None else None
        worker = (snapshot.workers or {}).get(key)
        if issue is None or issue.task is None or issue.task.number in snapshot.claimed:
            continue
        if worker is None or worker.pulse not in LIVING or states_in(issue.task.labels) != (workflow.ACTIVE[key.role],):
            continue
        for attempt in snapshot.tries(issue.task.number):
            mine = attempt.number == seat.attempt and attempt.key == key
            waits = attempt.ended is None and attempt.report is None
            if mine and waits and attempt.text not in (None, issue.task.digest):
                yield attempt, issue.task


def _line(app: App, call: Call, snapshot: Snapshot, attempt: Attempt) -> AuditLine:
    return AuditLine(
        ts=app.clock.now(),
        event="worker_told_of_edit",
        op=new_op(),
        caller=str(call.caller),
        project=snapshot.project.name,
        group_id=snapshot.project.group_id,
        issue=attempt.issue,
        facts={"ok": True, "role": attempt.role.value, "attempt": attempt.number, "session": attempt.session},
    )
