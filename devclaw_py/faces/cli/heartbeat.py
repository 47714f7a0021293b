"""``devclaw heartbeat`` and ``devclaw recover``: what goes on without a call."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

import typer

from devclaw_py.errors import InvalidArguments
from devclaw_py.faces.cli.call import exit_code
from devclaw_py.faces.cli.options import AsJson, Command, ProjectFilter, Workspace, find_project
from devclaw_py.faces.cli.output import hint, say, working
from devclaw_py.faces.cli.words import json_line
from devclaw_py.faces.opening import open_workspace, require_person
from devclaw_py.night.heartbeat import Visit, tick, visit_all


def add_to(cli: typer.Typer) -> None:
    """Add the commands."""
    cli.command("recover", cls=Command)(recover)
    cli.command("heartbeat", cls=Command)(heartbeat)


def recover(project: ProjectFilter = None, as_json: AsJson = False, workspace: Workspace = None) -> None:
    """Settle everything that was left open, also what waits for its time; then carry out what follows."""
    app = open_workspace(workspace, os.environ)
    require_person(app, os.environ, "recover")
    groups = None if project is None else [find_project(app.store.registry, project).group_id]
    with working("settling what was left open …"):
        visits = visit_all(app, force=True, groups=groups)
    raise typer.Exit(_report(visits, as_json=as_json))


def heartbeat(
    once: Annotated[bool, typer.Option("--once", help="One tick, then end: for cron or a timer.")] = False,
    as_json: AsJson = False,
    workspace: Workspace = None,
) -> None:
    """Settle what is due, carry out waiting pickups and send announcements, in every project."""
    if not once:
        raise InvalidArguments("this version has single ticks only", hint="devclaw heartbeat --once, from cron")
    app = open_workspace(workspace, os.environ)
    require_person(app, os.environ, "run the heartbeat")
    with working("heartbeat …"):
        visits = tick(app)
    raise typer.Exit(_report(visits, as_json=as_json))


def _report(visits: Sequence[Visit], *, as_json: bool) -> int:
    """Print what became of each project, and return the exit code of the first failure."""
    errors = [visit.error for visit in visits if visit.error]
    if as_json:
        print(json_line({"success": not errors, "projects": [_entry(visit) for visit in visits]}))
    else:
        say(
            "\n".join(line for visit in visits if visit.eventful for line in lines_of(visit))
            or "Nothing was left open."
        )
        for visit in visits:
            if visit.error:
                hint(f"✖ {visit.project}: {visit.error['message']}")
    return next((exit_code({"success": False, "error": error}) for error in errors), 0)


def _entry(visit: Visit) -> dict[str, object]:
    entry = asdict(visit)
    return {"groupId": entry.pop("group_id")} | {name: value for name, value in entry.items() if value is not None}


def lines_of(visit: Visit) -> list[str]:
    """Return what became of a project, in words."""
    lines = [f"{visit.project}: {words}" for words in visit.settled]
    for told in visit.spoken:
        how = "told" if told["accepted"] else "may not have got"
        lines.append(f"{visit.project}: {told['session']} {how}: {told['textPreview']}")
    lines += [f"{visit.project}: {asked['session']} [{asked['id']}] {asked['what']}" for asked in visit.asked]
    for done in visit.urged:
        what = done["did"].removeprefix("worker_").replace("_", " ")
        lines.append(f"{visit.project}: {done['role']} on #{done['issueId']} was {what}: {done['why']}")
    for outcome in visit.followed:
        what = f"{visit.project}: pickup of #{outcome['issueId']} by {outcome['role']}"
        if outcome["dispatched"]:
            lines.append(f"{what} was dispatched")
        else:
            lines.append(f"{what} {'waits' if outcome['waiting'] else 'was dropped'}: {outcome['reason']}")
    lines += [f"{visit.project}: {words}" for words in visit.waiting]
    if visit.sent:
        lines.append(f"{visit.project}: {_announcements(visit.sent)} sent")
    if visit.busy:
        lines.append(f"{visit.project}: another operation is under way; the next heartbeat comes back")
    if visit.unsent:
        lines.append(f"{visit.project}: {_announcements(visit.unsent)} still to be sent")
    return lines


def _announcements(count: int) -> str:
    return f"{count} {'announcement' if count == 1 else 'announcements'}"
