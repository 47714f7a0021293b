"""session_send: a person's words to a worker, now or when it is idle."""

from __future__ import annotations

from typing import Any

from devclaw_py.agents.speaking import Message, Outcome
from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.errors import InvalidArguments, NotActive, RoleMismatch
from devclaw_py.model.journal import AuditLine, OutboxRow
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.project import Project
from devclaw_py.operations.steps import Call
from devclaw_py.operations.wishes import new_op
from devclaw_py.rules import announce
from devclaw_py.rules.cleaning import one_line
from devclaw_py.rules.speech import harmless, names_a_task, rows

SHOWN_CHARS = 100
# What of a terminal's rows an input box leaves to the rest.
OTHER_ROWS = 15
MOST_CHARS = 4000


def send(app: App, call: Call, *, group_id: str, role: Role, tier: Tier | None, text: str) -> dict[str, Any]:
    """Have the message typed into the worker's session, or keep it there until the session is idle.

    Raises:
        InvalidArguments: it does not fit into an input box, has a task's line in it, or no tier is known.
        RoleMismatch: the tier is of the other role.
        NotActive: the worker has no session.
        SessionFailed: it was not heard; it will not be typed again.
    """
    project = app.store.registry.get(group_id)
    name, chosen = _session(project, role, tier)
    _check_fits(app, text)
    message = Message(op=call.op, group_id=group_id, caller=str(call.caller), text=text)
    accepted = app.sessions.speak(name, message)
    return {
        "success": True,
        "project": project.name,
        "groupId": group_id,
        "role": role.value,
        "tier": chosen.value,
        "session": name,
        "accepted": accepted,
        "waits": not accepted,
        "textPreview": _preview(text),
        "announcement": plain(announce.told(name, _preview(text), waits=not accepted)),
    }


def speak_on(app: App, group_id: str) -> list[dict[str, Any]]:
    """Have what waits for the sessions of a project typed where they are idle now; a loss is told to the group."""
    sessions = [name for name, groups in app.sessions.waiting().items() if group_id in groups]
    return [_note(app, outcome) for name in sorted(sessions) for outcome in app.sessions.speak_on(name)]


def groups_waited_for(app: App) -> set[str]:
    """Return the groups whose workers have messages to be told."""
    return {group for groups in app.sessions.waiting().values() for group in groups}


def _session(project: Project, role: Role, tier: Tier | None) -> tuple[str, Tier]:
    seat = project.seat(role)
    chosen = tier or seat.tier or (Tier.QA if role is Role.QA else None)
    if chosen is None:
        raise InvalidArguments(f"the {role} of {project.name} has had no task yet", hint="name the tier")
    if chosen.role is not role:
        raise RoleMismatch(f"{chosen} is no tier of {role}")
    name = seat.session(chosen)
    if name is None:
        raise NotActive(
            f"{project.name} has no session of {role} {chosen}", hint="task_pickup starts one; task_comment stays"
        )
    return name, chosen


def _check_fits(app: App, text: str) -> None:
    """Refuse what an input box would scroll: whether all of it stands there could not be seen before Enter."""
    if names_a_task(text):
        raise InvalidArguments("the text has the line of a task in it; a worker gets tasks from task_pickup alone")
    terminal, words = app.settings.terminal, harmless(text)
    most = max(terminal.height - OTHER_ROWS, 1)
    needed = rows(words, terminal.width)
    if len(words) > MOST_CHARS or needed > most:
        raise InvalidArguments(
            f"the text has {len(words)} characters and needs {needed} rows; at most {MOST_CHARS} characters and {most} "
            "rows can be typed into a session",
            hint="put it on the issue with task_comment and send a line that says so",
        )


def _note(app: App, outcome: Outcome) -> dict[str, Any]:
    message, project = outcome.message, app.store.registry.all().get(outcome.message.group_id)
    shown, now = _preview(message.text), app.clock.now()
    facts: dict[str, Any] = {"ok": outcome.lost is None, "session": outcome.session, "textPreview": shown}
    if outcome.lost is not None:
        facts["reason"] = outcome.lost[:SHOWN_CHARS]
        told = announce.not_told(outcome.session, shown, outcome.lost)
        row = OutboxRow(key=f"{message.op}:lost", group_id=message.group_id, announcement=told, at=now)
        app.store.journal.queue(row)
    line = AuditLine(
        ts=now,
        event="session_send",
        op=new_op(),
        caller=message.caller,
        project=project.name if project else None,
        group_id=message.group_id,
        facts={**facts, "cause": message.op},
    )
    app.store.audit.append_once(line)
    return {"session": outcome.session, "accepted": outcome.lost is None, "textPreview": shown}


def _preview(text: str) -> str:
    return one_line(text, limit=SHOWN_CHARS)
