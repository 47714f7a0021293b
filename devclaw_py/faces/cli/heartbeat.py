"""``devclaw heartbeat`` and ``devclaw recover``: what goes on without a call."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from devclaw_py.app import App
from devclaw_py.faces.cli.call import exit_code
from devclaw_py.faces.cli.options import AsJson, Command, ProjectFilter, Workspace, find_project
from devclaw_py.faces.cli.output import hint, say, working
from devclaw_py.faces.cli.words import json_line
from devclaw_py.faces.opening import open_workspace, require_person
from devclaw_py.night.heartbeat import Tick, Visit, tick, visit_all
from devclaw_py.night.loop import run, stopped_by_signals
from devclaw_py.rules.schedule import Plan


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
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be handed out, and do nothing.")] = False,
    as_json: AsJson = False,
    workspace: Workspace = None,
) -> None:
    """Work off the queues: mend, follow up, hand out and tell, in every project, until it is stopped."""
    app = open_workspace(workspace, os.environ)
    require_person(app, os.environ, "run the heartbeat")
    if dry_run:
        raise typer.Exit(_planned(app, tick(app, dry_run=True).plan, as_json=as_json))
    if once:
        with working("heartbeat …"):
            done = tick(app)
        raise typer.Exit(_report(done.visits, as_json=as_json))
    hint(f"heartbeat of {app.workspace}: every {app.settings.heartbeat.every_s:g} s and when something happens")
    with stopped_by_signals() as stopping:
        run(app, told=lambda done: _tell(done, as_json=as_json), stopping=stopping)
    hint("stopped; workers go on with what they have")


def _tell(done: Tick, *, as_json: bool) -> None:
    """Print what an eventful tick did, or what ended it; a quiet one says nothing."""
    if any(visit.eventful for visit in done.visits):
        _report(done.visits, as_json=as_json)
        sys.stdout.flush()
    if done.trouble is not None:
        hint(f"✖ a tick failed, and the next one comes: {done.trouble}")


def _planned(app: App, found: Plan, *, as_json: bool) -> int:
    if as_json:
        print(json_line({"success": True, "plan": found.model_dump(mode="json", by_alias=True)}))
        return 0
    names = {group: project.name for group, project in app.store.registry.all().items()}
    lines = [f"{names[each.group_id]}: #{each.issue} to {each.role} ({each.tier})" for each in found.pickups]
    lines += [f"{names[each.group_id]}: #{each.issue} is left to people" for each in found.given_up]
    lines += [f"{names[each.group_id]}: #{each.issue} waits: {each.why}" for each in found.held]
    say("\n".join(lines) or "Nothing waits in a queue.")
    return 0


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
    news = [*visit.settled, *(f"mended: {words}" for words in visit.mended), *map(_given, visit.given)]
    lines = [f"{visit.project}: {words}" for words in news]
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


def _given(answer: Mapping[str, Any]) -> str:
    if not answer["success"]:
        return f"#{answer['issueId']} could not be handed out: {answer['error']['message']}"
    if "role" not in answer:
        return f"#{answer['issueId']} is left to people: it keeps coming back"
    return f"#{answer['issueId']} went to {answer['role']} ({answer['model']}), attempt {answer['attempt']}"


def _announcements(count: int) -> str:
    return f"{count} {'announcement' if count == 1 else 'announcements'}"
