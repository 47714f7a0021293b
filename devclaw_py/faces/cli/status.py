"""``devclaw status`` and ``devclaw watch``: projects, queues, workers and their ages."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from devclaw_py.app import App
from devclaw_py.faces.cli.options import AsJson, Command, ProjectFilter, Workspace, find_project
from devclaw_py.faces.cli.output import cell, console, show
from devclaw_py.faces.cli.standing import standing
from devclaw_py.faces.cli.words import json_line
from devclaw_py.faces.opening import open_to_look
from devclaw_py.model.pipeline import Mode
from devclaw_py.rules import announce

TITLE_CHARS = 60
REFINING_SHOWN = 3
# A seat's worker that stands so does not work on what the seat holds.
AT_REST = frozenset({"idle", "dead", "absent"})
QUEUES = {"toImprove": "To Improve", "toTest": "To Test", "toDo": "To Do"}
STYLES = {"idle": "green", "working": "green", "starting": "yellow", "dead": "red", "absent": "red"}


def add_to(cli: typer.Typer) -> None:
    """Add the commands."""
    cli.command("status", cls=Command)(status)
    cli.command("watch", cls=Command)(watch)


def status(project: ProjectFilter = None, as_json: AsJson = False, workspace: Workspace = None) -> None:
    """Show every project: what waits, who works on what, since when, and what is stuck."""
    look = _looker(workspace, project)
    found = look()
    if as_json:
        print(json_line(found))
    else:
        show(picture(found))


def watch(
    project: ProjectFilter = None,
    interval: Annotated[float, typer.Option("--interval", min=0.1, metavar="SECONDS", help="Between looks.")] = 1.0,
    frames: Annotated[int, typer.Option("--frames", min=0, help="End after so many looks; 0: when stopped.")] = 0,
    workspace: Workspace = None,
) -> None:
    """Show the same, refreshed, until Ctrl-C."""
    app = open_to_look(workspace, os.environ)
    look = _looking(app, project)
    try:
        if console().is_terminal:
            _live(app, look, interval_s=interval, frames=frames)
        else:
            for found in _looks(app, look, interval_s=interval, frames=frames):
                show(picture(found))
    except KeyboardInterrupt:
        return


def picture(found: Mapping[str, Any]) -> RenderableType:
    """Return the tables for one look. Titles and errors are other people's text: never markup."""
    if not found["projects"]:
        return cell(f"No projects are registered in {found['workspace']}; begin with: devclaw project-register --help")
    table = _table()
    for entry in found["projects"]:
        for place, seat in enumerate(entry["seats"]):
            table.add_row(*(_head(entry) if place == 0 else [Text()] * 4), *_seat(seat))
        table.add_section()
    troubles = [line for entry in found["projects"] for line in _troubles(entry)]
    if "terminal" in found:
        troubles.append(cell(f"⚠ {found['terminal']['message']}", "yellow"))
    at = cell(f"{found['at']}  {found['workspace']}", "dim")
    return Group(table, *troubles, at)


def _table() -> Table:
    """Return the empty table: narrow enough for 80 columns, and only titles are cut."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("project", no_wrap=True, overflow="ellipsis")
    for name in QUEUES.values():
        table.add_column(name.replace(" ", "\n"), justify="right", no_wrap=True)
    table.add_column("seat", no_wrap=True)
    # The only one that may wrap, so the only one that gives way.
    table.add_column("task", overflow="fold")
    for name in ("tier", "age", "session", "attempt"):
        table.add_column(name, no_wrap=True)
    return table


def age(seconds: int | None) -> str:
    """Return an age in two units at most.

    >>> age(59), age(150), age(7500), age(200000)
    ('59s', '2m', '2h05', '2d07h')
    """
    if seconds is None:
        return ""
    if seconds < 60:
        return f"{seconds}s"
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if hours < 1:
        return f"{minutes}m"
    return f"{hours}h{minutes % 60:02d}" if days < 1 else f"{days}d{hours % 24:02d}h"


def _looker(workspace: str | None, project: str | None) -> Callable[[], dict[str, Any]]:
    return _looking(open_to_look(workspace, os.environ), project)


def _looking(app: App, project: str | None) -> Callable[[], dict[str, Any]]:
    """Return a function that looks once; the registry is read each time, because projects come and go."""

    def look() -> dict[str, Any]:
        known = app.store.registry.all()
        if project is not None:
            found = find_project(app.store.registry, project)
            known = {found.group_id: found}
        return standing(app, known)

    return look


def _looks(app: App, look: Callable[[], dict[str, Any]], *, interval_s: float, frames: int) -> Iterator[dict[str, Any]]:
    seen = 0
    while True:
        yield look()
        seen += 1
        if seen == frames:
            return
        app.clock.sleep(interval_s)


def _live(app: App, look: Callable[[], dict[str, Any]], *, interval_s: float, frames: int) -> None:
    with Live(console=console(), auto_refresh=False, vertical_overflow="crop") as live:
        for found in _looks(app, look, interval_s=interval_s, frames=frames):
            live.update(picture(found), refresh=True)


def _head(entry: Mapping[str, Any]) -> list[Text]:
    queue = entry["queue"]
    counts = [cell("?" if queue is None else len(queue[name])) for name in QUEUES]
    return [cell(entry["name"], "bold"), *counts]


def _seat(seat: Mapping[str, Any]) -> list[Text]:
    if not seat["active"]:
        task = cell("idle", "dim")
    else:
        task = cell(f"#{seat['issueId']} {seat['title'] or ''}")
        task.truncate(TITLE_CHARS, overflow="ellipsis")
    session = seat["sessionStatus"]
    return [
        cell(seat["seat"]),
        task,
        cell(seat["model"] if seat["active"] else None),
        cell(age(seat["ageS"])),
        cell(session, STYLES.get(session or "", "yellow")),
        cell(seat["attempt"]),
    ]


def _troubles(entry: Mapping[str, Any]) -> Iterator[Text]:
    """Yield one line for each thing of a project that does not go on by itself."""
    name = entry["name"]
    if "error" in entry:
        yield cell(f"✖ {name}: {entry['error']['message']}", "red")
    if held := announce.held_back(Mode(entry.get("mode", Mode.RUNNING))):
        yield cell(f"⏸ {name} {held} (devclaw resume {name})", "yellow")
    for parked in entry.get("parked", ()):
        yield cell(f"⏸ {name}: {parked['operation']} waits: {parked['reason']}; next try {parked['nextTry']}", "yellow")
    for asked in entry.get("questions", ()):
        how = f"devclaw session-answer --question-id {asked['id']}"
        yield cell(f"❓ {name}: {asked['session']} asks [{asked['id']}]: {asked['brief']}  ({how})", "yellow")
    yield from _left_to_people(entry)
    yield from _fullness(entry)
    for begun in entry["open"]:
        yield cell(f"… {name}: {begun['operation']} is under way or was interrupted", "yellow")
    for wish in entry.get("wishes", ()):
        yield cell(f"⏭ {name}: #{wish['issueId']} waits for {wish['role']}", "cyan")
    if entry["unsent"]:
        yield cell(f"✉ {name}: announcements that wait to be sent: {entry['unsent']}", "yellow")


def _fullness(entry: Mapping[str, Any]) -> Iterator[Text]:
    """Yield how full the workers' conversations are, where they have one that says so."""
    for seat in entry["seats"]:
        if seat["contextUsed"] is not None:
            where = f"{entry['name']}: {seat['seat']} ({seat['model']})"
            yield cell(f"◔ {where} uses {round(seat['contextUsed'] * 100)} % of context", "dim")


def _left_to_people(entry: Mapping[str, Any]) -> Iterator[Text]:
    name, refining = entry["name"], entry.get("refining") or []
    for task in refining[:REFINING_SHOWN]:
        yield cell(f"✋ {name}: #{task['id']} waits for a person in Refining: {task['title']}", "yellow")
    if len(refining) > REFINING_SHOWN:
        yield cell(f"✋ {name}: {len(refining) - REFINING_SHOWN} more wait for a person in Refining", "yellow")
    # Their operations say themselves what they wait for.
    busy = {operation["issueId"] for operation in (*entry["open"], *entry.get("parked", ()))}
    for seat in entry["seats"]:
        if seat["active"] and seat["sessionStatus"] in AT_REST and seat["issueId"] not in busy:
            yield cell(
                f"⚠ {name}: {seat['seat']} holds #{seat['issueId']}, and its session is {seat['sessionStatus']}: "
                "devclaw session-health says why, with --auto-fix it mends it",
                "yellow",
            )
