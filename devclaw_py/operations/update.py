"""task_update: any state to any other but the active ones, with the seat and the worker following."""

from __future__ import annotations

from typing import Any

from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.errors import WrongState
from devclaw_py.model.journal import Intent
from devclaw_py.model.pipeline import Role, SeatKey, State, StateKind
from devclaw_py.model.project import Project, Seat
from devclaw_py.model.task import Task
from devclaw_py.operations.pickup import check_unclaimed
from devclaw_py.operations.recovery import project_held
from devclaw_py.operations.runner import perform
from devclaw_py.operations.steps import Call, begun
from devclaw_py.operations.update_steps import UPDATE
from devclaw_py.rules import announce, workflow
from devclaw_py.rules.labels import states_in


def move_issue(app: App, call: Call, *, group_id: str, issue: int, state: State, reason: str = "") -> dict[str, Any]:
    """Move an issue to ``state``; mends issues with no or several state labels.

    Raises:
        WrongState: the state is entered by task_pickup alone.
        Conflict: somebody moved the issue meanwhile.
    """
    with project_held(app, group_id, call) as project:
        task = app.open_tracker(project).get(issue)
        check_unclaimed(app, project, issue)
        found, holder = states_in(task.labels), _holder(project, issue)
        _check_target(task, state, project, found)
        if _stands(task, state, found) and (holder is None or workflow.ACTIVE[holder[0].role] is state):
            return _unchanged(project, task, state)
        intent = _intent(app, call, project, task, state, holder, reason)
        return perform(app, UPDATE, intent)


def _holder(project: Project, issue: int) -> tuple[SeatKey, Seat] | None:
    return next(((key, seat) for key, seat in project.seats().items() if seat.holds(issue, None)), None)


def _check_target(task: Task, state: State, project: Project, found: tuple[State, ...]) -> None:
    if workflow.KIND[state] is not StateKind.ACTIVE:
        return
    role = workflow.ROLE[state]
    if not any(seat.holds(task.number, None) for seat in project.seats(role).values()):
        was = " and ".join(found) or "no state"
        raise WrongState(
            f"issue #{task.number} was to move from {was} to {state}, but only a pickup enters {state}",
            hint=_how_to_enter(role, found),
        )


def _how_to_enter(role: Role, found: tuple[State, ...]) -> str:
    if len(found) == 1 and found[0] in workflow.queues_of(role):
        return f"call task_pickup with role {role}"
    queue = workflow.queues_of(role)[-1]
    return f"move it to {queue} with task_update, then call task_pickup with role {role}"


def _stands(task: Task, state: State, found: tuple[State, ...]) -> bool:
    return found == (state,) and task.closed is (state is State.DONE)


def _unchanged(project: Project, task: Task, state: State) -> dict[str, Any]:
    return {
        "success": True,
        "changed": False,
        "project": project.name,
        "groupId": project.group_id,
        "issueId": task.number,
        "issueTitle": task.title,
        "state": state.value,
        "announcement": plain(announce.unchanged(task.ref, state)),
    }


def _intent(
    app: App, call: Call, project: Project, task: Task, state: State, holder: tuple[SeatKey, Seat] | None, reason: str
) -> Intent:
    found = states_in(task.labels)
    source = next((known for known in found if known is not state), found[0] if found else None)
    keeps = holder is not None and workflow.ACTIVE[holder[0].role] is state
    key, seat = (None, None) if holder is None or keeps else holder
    role = key.role if key else None
    stands = _stands(task, state, found)
    if stands and role is not None:
        told = announce.released(task.ref, role, f"the issue is in {state} already")
    else:
        told = announce.updated(task.ref, source, state, reason)
    transition = f"{source or 'no state'} → {state}"
    return begun(
        app,
        call,
        UPDATE,
        project.group_id,
        {
            "project": project.name,
            "takes": [known.value for known in found if known is not state],
            "stood": state in found,
            "closed": True if state is State.DONE else (False if task.closed else None),
            "notice": f"Task #{task.number} was moved to {state} by {call.caller.kind}: stop working on it.",
            "reason": "moved",
            "told": told.model_dump(mode="json"),
            "audit": {"fromState": source, "toState": state, "reason": reason, "released": role},
            "answer": {
                "issueTitle": task.title,
                "state": state.value,
                "changed": not stands,
                "labelTransition": transition,
                "released": role.value if role else None,
            },
        },
        issue=task.number,
        role=role,
        seat=key.number if key else 1,
        tier=seat.tier if seat else None,
        session=seat.session(seat.tier) if seat and seat.tier else None,
        attempt=seat.attempt if seat else None,
        source=source,
        target=state,
    )
