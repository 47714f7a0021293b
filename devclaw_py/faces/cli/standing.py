"""What ``devclaw status`` knows: gathered without writing anything and without a line in the audit log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from devclaw_py.agents.look import Look
from devclaw_py.app import App
from devclaw_py.errors import DevClawError, SessionFailed
from devclaw_py.kernel.clock import timestamp
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.project import Project, Seat
from devclaw_py.operations.ending import failure
from devclaw_py.operations.steps import Call
from devclaw_py.tools.queue_status import Args, queue_status


def standing(app: App, projects: Mapping[str, Project]) -> dict[str, Any]:
    """Return how the projects stand: queues, seats, sessions, and what waits.

    What could not be asked is an ``error`` of its project or of the terminal, never an empty answer.

    Raises:
        StateCorrupt: the journal cannot be read.
    """
    looks: dict[str, Look] | None = None
    trouble: dict[str, Any] = {}
    try:
        # Without a session there is no server to ask, and tmux need not be installed.
        looks = app.sessions.looks() if any(_session(seat) for seat in _seats(projects)) else {}
    except SessionFailed as error:
        trouble = {"terminal": failure(error)["error"]}
    return {
        "success": True,
        "at": timestamp(app.clock.now()),
        "workspace": str(app.workspace),
        "projects": [_project(app, project, looks) for project in projects.values()],
    } | trouble


def _seats(projects: Mapping[str, Project]) -> Iterator[Seat]:
    return (seat for project in projects.values() for seat in project.seats().values())


def _session(seat: Seat) -> str | None:
    return seat.session(seat.tier) if seat.tier is not None else None


def _project(app: App, project: Project, looks: Mapping[str, Look] | None) -> dict[str, Any]:
    call = Call(op="", tool="queue_status", caller=HUMAN, at=app.clock.now())
    entry: dict[str, Any] = {"name": project.name, "groupId": project.group_id, "queue": None}
    try:
        answer = queue_status(app, call, Args.model_validate({"projectGroupId": project.group_id}))
        entry = answer["projects"][0]
    except DevClawError as error:
        entry["error"] = failure(error)["error"]
    entry["unsent"] = len(app.store.journal.outbox(project.group_id))
    entry["open"] = [
        {"tool": intent.tool, "issueId": intent.issue, "operation": intent.named}
        for intent in app.store.journal.intents(project.group_id)
        if intent.next_try is None
    ]
    entry["seats"] = [
        {"seat": str(key), "role": key.role.value, **_seat(app, project, seat, looks)}
        for key, seat in project.seats().items()
    ]
    return entry


def _seat(app: App, project: Project, seat: Seat, looks: Mapping[str, Look] | None) -> dict[str, Any]:
    name = _session(seat)
    found: dict[str, Any] = {
        "active": seat.active,
        "issueId": seat.issue if seat.active else None,
        "title": _title(app, project, seat.issue) if seat.active and seat.issue is not None else None,
        "model": seat.model,
        "attempt": seat.attempt,
        "startTime": timestamp(seat.start_time) if seat.start_time else None,
        "ageS": _age_s(app.clock.now(), seat.start_time),
        "session": name,
        "sessionStatus": None,
        "contextUsed": None,
    }
    if name is not None:
        found["contextUsed"] = _context_used(app, name)
        found["sessionStatus"] = "unknown" if looks is None else _status(looks.get(name))
    return found


def _status(look: Look | None) -> str:
    return "absent" if look is None else look.status.value


def _context_used(app: App, name: str) -> float | None:
    """Return the share of its context that a session's conversation uses; None when that is not known."""
    try:
        found = app.sessions.agent.context(app.sessions.folder(name))
    except (SessionFailed, OSError):
        return None
    return found.used if found else None


def _title(app: App, project: Project, issue: int) -> str | None:
    try:
        return app.open_tracker(project).get(issue).title
    except DevClawError:
        # The project's own error says why; a missing title is no second one.
        return None


def _age_s(now: datetime, start: datetime | None) -> int | None:
    if start is None or start.tzinfo is None:
        return None
    return max(0, int((now - start).total_seconds()))
