"""``devclaw audit``: the audit log, filtered and followed."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.text import Text

from devclaw_py.errors import InvalidArguments, UnknownProject
from devclaw_py.faces.cli.options import AsJson, Command, ProjectFilter, Workspace, find_project, open_store
from devclaw_py.faces.cli.output import cell, console
from devclaw_py.faces.cli.tail import Entry, Tail
from devclaw_py.faces.cli.words import json_line
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.state.base import Registry
from devclaw_py.state.lines import moment

UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
NAMED = ("ts", "event", "op", "caller", "project", "groupId", "issue", "ok")
TIME_HELP = "ISO time (UTC unless it says otherwise), or an age such as 2h or 3d."


@dataclass(frozen=True)
class Filter:
    """What a line must be to be shown; None lets every line pass. ``names`` are a project's group id and name."""

    names: frozenset[str] | None = None
    issue: int | None = None
    event: str | None = None
    op: str | None = None
    since: datetime | None = None
    until: datetime | None = None

    def passes(self, entry: Entry) -> bool:
        """Say whether the line is to be shown."""
        if self.names is not None and self.names.isdisjoint({str(entry.get("project")), str(entry.get("groupId"))}):
            return False
        wanted = {"issue": self.issue, "event": self.event, "op": self.op}
        if any(value is not None and entry.get(name) != value for name, value in wanted.items()):
            return False
        return self._in_time(moment(entry.get("ts")))

    def _in_time(self, at: datetime | None) -> bool:
        if self.since is None and self.until is None:
            return True
        return at is not None and (self.since is None or at >= self.since) and (self.until is None or at <= self.until)


def add_to(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("audit", cls=Command)(audit)


def audit(
    project: ProjectFilter = None,
    issue: Annotated[str | None, typer.Option("--issue", help="Issue number.")] = None,
    event: Annotated[str | None, typer.Option("--event", help="Event, such as task_pickup.")] = None,
    op: Annotated[str | None, typer.Option("--op", help="Operation id.")] = None,
    since: Annotated[str | None, typer.Option("--since", help=TIME_HELP)] = None,
    until: Annotated[str | None, typer.Option("--until", help=TIME_HELP)] = None,
    lines: Annotated[int, typer.Option("--lines", "-n", min=0, help="The last so many lines.")] = 50,
    everything: Annotated[bool, typer.Option("--all", help="All lines instead of the last ones.")] = False,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with lines as they come.")] = False,
    as_json: AsJson = False,
    workspace: Workspace = None,
) -> None:
    """Show the audit log's last lines; with -f, go on as lines are appended."""
    folder, store = open_store(workspace)
    now = SystemClock().now()
    wanted = Filter(
        names=_names(store.registry, project) if project is not None else None,
        issue=_number(issue) if issue is not None else None,
        event=event,
        op=op,
        since=_time(since, now, "--since") if since is not None else None,
        until=_time(until, now, "--until") if until is not None else None,
    )
    with Tail(folder / "memory" / "audit.log") as tail:
        passed = (entry for entry in tail.past() if wanted.passes(entry))
        _print(deque(passed, None if everything else lines), as_json=as_json)
        if follow:
            _follow(tail, wanted, as_json=as_json)


def _follow(tail: Tail, wanted: Filter, *, as_json: bool) -> None:
    """Print lines as they come; Ctrl-C is how a person ends it, and no failure."""
    try:
        for entry in tail.follow(SystemClock()):
            if wanted.passes(entry):
                _print([entry], as_json=as_json)
    except KeyboardInterrupt:
        return


def _names(registry: Registry, named: str) -> frozenset[str]:
    try:
        project = find_project(registry, named)
    except UnknownProject:
        # Lines of a project that was removed are still there to be read.
        return frozenset({named})
    return frozenset({project.group_id, project.name})


def _number(text: str) -> int:
    digits = text.strip().removeprefix("#")
    if not (digits.isascii() and digits.isdecimal()):
        raise InvalidArguments(f"--issue {text}: write a number, such as 42")
    return int(digits)


def _time(text: str, now: datetime, option: str) -> datetime:
    """Return the moment that is meant: an ISO time, or so long before now."""
    if found := re.fullmatch(r"(\d{1,6})([smhdw])", text.strip()):
        return now - timedelta(seconds=int(found[1]) * UNITS_S[found[2]])
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidArguments(
            f"{option} {text}: no time that is understood", hint="write 2h, 3d or 2026-02-08T10:30"
        ) from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _print(entries: Iterable[Entry], *, as_json: bool) -> None:
    out = console()
    for entry in entries:
        if as_json:
            print(json_line(entry), flush=True)
        else:
            out.print(_line(entry), soft_wrap=True)


def _line(entry: Entry) -> Text:
    """Return one line for people: when, what, whom about, by whom, then the facts."""
    failed = entry.get("ok") is False
    parts = [cell(entry.get("ts"), "dim"), cell(entry.get("event"), "red bold" if failed else "bold")]
    parts += [cell(entry.get("project") or entry.get("groupId"), "cyan")]
    if entry.get("issue") is not None:
        parts.append(cell(f"#{entry['issue']}"))
    parts.append(cell(f"by {entry.get('caller')}", "dim"))
    parts += [cell(f"{name}={_fact(value)}") for name, value in entry.items() if name not in NAMED]
    parts.append(cell(f"op={entry.get('op')}", "dim"))
    return Text(" ").join(part for part in parts if part.plain)


def _fact(value: object) -> str:
    return value if isinstance(value, str) else json_line(value)
