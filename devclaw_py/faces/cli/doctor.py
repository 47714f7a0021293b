"""``devclaw doctor``: what is wrong, and how to mend it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from devclaw_py.faces.cli.checks import examine
from devclaw_py.faces.cli.options import AsJson, Workspace
from devclaw_py.faces.cli.output import cell, show, working
from devclaw_py.faces.cli.words import json_line
from devclaw_py.faces.opening import locate
from devclaw_py.kernel.config import load
from devclaw_py.model.finding import Finding, Severity

SIGNS: Mapping[Severity, tuple[str, str]] = {
    Severity.OK: ("✔", "green"),
    Severity.WARNING: ("⚠", "yellow"),
    Severity.CRITICAL: ("✖", "red"),
    Severity.UNKNOWN: ("?", "yellow"),
}
CRITICAL_EXIT = 4


class Selftest(StrEnum):
    """What can be tried out."""

    CLAUDE = "claude"


def add_to(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("doctor")(doctor)


def doctor(
    as_json: AsJson = False,
    workspace: Workspace = None,
    selftest: Annotated[
        Selftest | None,
        typer.Option(
            help="Instead: take a task to its report and a resume with the installed agent, in about ten seconds. "
            "Its API is devclaw's own stand-in, so no token is spent."
        ),
    ] = None,
    openclaw: Annotated[
        bool, typer.Option("--openclaw", help="Look at the gateway, its plugin, group policy and tools as well.")
    ] = False,
) -> None:
    """Check tmux, git, the workspace, its projects, permissions, settings and locale; say how to mend each."""
    folder = locate(workspace, os.environ)
    if selftest is not None:
        raise typer.Exit(_tried(folder, as_json=as_json))
    with working("looking …"):
        findings = examine(folder, os.environ)
        if openclaw:
            findings += _gateway(folder)
    critical = any(finding.severity is Severity.CRITICAL for finding in findings)
    if as_json:
        listed = [finding.model_dump(mode="json", by_alias=True, exclude_none=True) for finding in findings]
        print(json_line({"success": True, "healthy": not critical, "workspace": str(folder), "findings": listed}))
    else:
        for line in _lines(findings):
            show(line)
    raise typer.Exit(CRITICAL_EXIT if critical else 0)


def _gateway(workspace: Path) -> list[Finding]:
    # Here, because nobody else needs the catalogue's manifest.
    from devclaw_py.faces.openclaw.checks import examine_gateway

    return examine_gateway(os.environ, workspace)


def _tried(workspace: Path, *, as_json: bool) -> int:
    """Try the agent out, and show each step when it is taken; return the exit code."""
    # Here, because only a self-test needs a server and an agent's inside.
    from devclaw_py.night.selftest import selftest

    taken = []
    for step in selftest(load(workspace, os.environ).settings.agent, os.environ):
        taken.append(step)
        if not as_json:
            sign, style = SIGNS[step.severity]
            seconds = "" if step.seconds is None else f"{step.seconds:.2f} s"
            show(Text.assemble((f"{sign} ", style), f"{step.name:<11} {seconds:>7}  ", cell(step.seen)))
    critical = any(step.severity is Severity.CRITICAL for step in taken)
    if as_json:
        listed = [step.model_dump(mode="json", by_alias=True, exclude_none=True) for step in taken]
        print(json_line({"success": True, "healthy": not critical, "steps": listed}))
    return CRITICAL_EXIT if critical else 0


def _lines(findings: Iterable[Finding]) -> Iterable[Text]:
    for finding in findings:
        sign, style = SIGNS[finding.severity]
        about = f"{finding.project}: " if finding.project and finding.project not in finding.message else ""
        yield Text.assemble((f"{sign} ", style), cell(f"{about}{finding.message}"))
        if finding.mend and finding.severity is not Severity.OK:
            yield Text.assemble("  → ", cell(finding.mend, "bold"))
