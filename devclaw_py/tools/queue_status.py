"""queue_status."""

from __future__ import annotations

from typing import Any

from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.errors import DevClawError
from devclaw_py.kernel.clock import timestamp
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.journal import Intent
from devclaw_py.model.pipeline import Mode, Role, State
from devclaw_py.model.project import Project, Seat
from devclaw_py.operations.asking import open_questions
from devclaw_py.operations.steps import Call
from devclaw_py.rules import announce, workflow
from devclaw_py.tools.base import Answer, Group, GroupArgs, Tool

FIELDS = {State.TO_IMPROVE: "toImprove", State.TO_TEST: "toTest", State.TO_DO: "toDo"}


class Args(GroupArgs):
    """Arguments of queue_status."""


def queue_status(app: App, call: Call, args: Args) -> Answer:
    """Show what waits in each queue and for a person, and what each worker holds, in one project or in all.

    A tracker that does not answer is an error of its project, never an empty queue; the sums are null then.
    """
    if args.project_group_id is not None:
        projects = {args.project_group_id: app.store.registry.get(args.project_group_id)}
    else:
        projects = app.store.registry.all()
    shown = [_project(app, project) for project in projects.values()]
    return {
        "success": True,
        "projects": shown,
        "counts": {name: _count(shown, name) for name in FIELDS.values()},
        "announcement": "\n".join(plain(_told(entry)) for entry in shown) or "📊 No projects are registered.",
    }


def _count(shown: list[dict[str, Any]], name: str) -> int | None:
    """Return how many issues wait in a queue of all projects; None when one of them could not be asked."""
    queues = [entry["queue"] for entry in shown]
    return None if None in queues else sum(len(queue[name]) for queue in queues)


def _project(app: App, project: Project) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": project.name,
        "groupId": project.group_id,
        "autoChain": project.auto_chain,
        "roleExecution": project.role_execution.value,
        "mode": project.mode.value,
        **_seats(project),
        "queue": None,
        "refining": None,
        "parked": [_parked(intent) for intent in app.store.journal.intents(project.group_id) if intent.next_try],
        "wishes": [
            {"issueId": wish.issue, "role": wish.role.value} for wish in app.store.journal.wishes(project.group_id)
        ],
        "questions": open_questions(app, project),
    }
    try:
        tracker = app.open_tracker(project)
        entry["queue"] = {
            FIELDS[state]: [
                {"id": task.number, "title": task.title, "priority": len(workflow.QUEUES) - place, "url": task.url}
                for task in tracker.list_by_label(state)
            ]
            for place, state in enumerate(workflow.QUEUES)
        }
        entry["refining"] = [
            {"id": task.number, "title": task.title, "url": task.url} for task in tracker.list_by_label(State.REFINING)
        ]
    except DevClawError as error:
        entry["error"] = {"code": error.code, "message": str(error)}
    return entry


def _seats(project: Project) -> dict[str, Any]:
    """Return the first seat of each role under the role's name, and lists of further ones where there are any."""
    shown: dict[str, Any] = {}
    for (role, number), seat in project.seats().items():
        if number == 1:
            shown[role.value] = _seat(seat)
        else:
            shown.setdefault(f"{role}Workers", []).append(_seat(seat))
    return shown


def _seat(seat: Seat) -> dict[str, Any]:
    return {
        "active": seat.active,
        "issueId": seat.issue if seat.active else None,
        "model": seat.model,
        "startTime": seat.start_time.isoformat() if seat.start_time else None,
        "attempt": seat.attempt,
        "sessions": seat.sessions,
    }


def _parked(intent: Intent) -> dict[str, Any]:
    return {
        "tool": intent.tool,
        "issueId": intent.issue,
        "operation": intent.named,
        "reason": intent.payload.get("waits"),
        "nextTry": timestamp(intent.next_try) if intent.next_try else None,
    }


def _told(entry: dict[str, Any]) -> Announcement:
    queue, refining = entry["queue"], entry["refining"]
    waiting = None
    if queue is not None and refining is not None:
        # A worker that is blocked waits for a person, who would not look for it in a queue.
        waiting = {state: len(queue[FIELDS[state]]) for state in workflow.QUEUES} | {State.REFINING: len(refining)}
    trouble = [entry["error"]["message"]] if "error" in entry else []
    if held := announce.held_back(Mode(entry["mode"])):
        trouble.append(f"It {held}")
    trouble += [f"{parked['operation']} waits: {parked['reason']}" for parked in entry["parked"]]
    trouble += [f"{asked['session']} asks [{asked['id']}]: {asked['brief']}" for asked in entry["questions"]]
    busy = {role.value: entry[role]["issueId"] for role in Role}
    for role in Role:
        busy |= {f"{role}-{number}": seat["issueId"] for number, seat in enumerate(entry.get(f"{role}Workers", ()), 2)}
    return announce.queue(entry["name"], waiting, busy, trouble)


TOOL = Tool("queue_status", Args, queue_status, group=Group.OPTIONAL, writes=False)
