"""``devclaw doctor``: what is wrong, and how to mend it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

import typer
from rich.text import Text

from devclaw_py.faces.cli.checks import examine
from devclaw_py.faces.cli.options import AsJson, Workspace
from devclaw_py.faces.cli.output import cell, show, working
from devclaw_py.faces.cli.words import json_line
from devclaw_py.faces.opening import locate
from devclaw_py.model.finding import Finding, Severity

SIGNS: Mapping[Severity, tuple[str, str]] = {
    Severity.OK: ("✔", "green"),
    Severity.WARNING: ("⚠", "yellow"),
    Severity.CRITICAL: ("✖", "red"),
    Severity.UNKNOWN: ("?", "yellow"),
}
CRITICAL_EXIT = 4


def add_to(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("doctor")(doctor)


def doctor(as_json: AsJson = False, workspace: Workspace = None) -> None:
    """Check tmux, git, the workspace, its projects, permissions, settings and locale; say how to mend each."""
    folder = locate(workspace, os.environ)
    with working("looking …"):
        findings = examine(folder, os.environ)
    critical = any(finding.severity is Severity.CRITICAL for finding in findings)
    if as_json:
        listed = [finding.model_dump(mode="json", by_alias=True, exclude_none=True) for finding in findings]
        print(json_line({"success": True, "healthy": not critical, "workspace": str(folder), "findings": listed}))
    else:
        for line in _lines(findings):
            show(line)
    raise typer.Exit(CRITICAL_EXIT if critical else 0)


def _lines(findings: Iterable[Finding]) -> Iterable[Text]:
    for finding in findings:
        sign, style = SIGNS[finding.severity]
        about = f"{finding.project}: " if finding.project and finding.project not in finding.message else ""
        yield Text.assemble((f"{sign} ", style), cell(f"{about}{finding.message}"))
        if finding.mend and finding.severity is not Severity.OK:
            yield Text.assemble("  → ", cell(finding.mend, "bold"))
