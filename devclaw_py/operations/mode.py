"""project_mode: what a project gives to its workers unattended, and putting its workers to rest at once."""

from __future__ import annotations

from typing import Any

from devclaw_py.app import App
from devclaw_py.model.pipeline import Mode
from devclaw_py.operations.health import check_health
from devclaw_py.operations.registration import change_project
from devclaw_py.operations.removal_steps import session_names
from devclaw_py.operations.steps import Call


def set_mode(app: App, call: Call, *, group_id: str, mode: Mode) -> dict[str, Any]:
    """Set the project's mode. STOPPED ends the sessions before anything else, then puts the tasks back into queues.

    What cannot be put back now (the tracker is down) is put back by the next heartbeat or session_health: a stopped
    project's dead sessions are never resumed.

    Raises:
        UnknownProject: there is none of that group.
        ProjectBusy: another operation holds the project; its sessions are ended all the same.
    """
    stopped = rest(app, group_id) if mode is Mode.STOPPED else []
    answer = change_project(app, call, group_id=group_id, changes={"mode": mode})
    if mode is not Mode.STOPPED:
        return answer
    # Whoever held the project meanwhile may have started another one.
    stopped += [name for name in rest(app, group_id) if name not in stopped]
    found = check_health(app, call, group_id=group_id, auto_fix=True)
    back = [issue["issueId"] for issue in found["issues"] if issue["type"] == "session_dead" and issue.get("fixed")]
    return answer | {"stopped": stopped, "putBack": back}


def rest(app: App, group_id: str) -> list[str]:
    """End every live session of a project, without waiting for anybody, and return their names.

    Raises:
        SessionFailed: the terminal could not be asked.
    """
    names = set(session_names(app, app.store.registry.get(group_id)))
    ended = []
    for name in sorted(names & {session.name for session in app.sessions.terminal.sessions() if session.alive}):
        app.sessions.end(name)
        ended.append(name)
    return ended
