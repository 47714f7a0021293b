"""``devclaw simulate``: a night played in seconds, with the settings that you think of using."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from devclaw_py.faces.cli.output import working
from devclaw_py.faces.cli.words import json_line
from devclaw_py.night.simulation import script
from devclaw_py.night.simulation.report import Report, lines
from devclaw_py.night.simulation.run import simulate as play
from devclaw_py.night.simulation.script import Script
from devclaw_py.rules.cleaning import clean

EXAMPLE = "night.toml"


def add_to(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("simulate")(simulate)


def simulate(
    night: Annotated[
        Path | None,
        typer.Argument(metavar="NIGHT.TOML", help="The night; left out: the example's.", show_default=False),
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Another seed than the file's.", show_default=False)
    ] = None,
    nights: Annotated[int, typer.Option("--nights", min=1, help="So many nights, each with the next seed.")] = 1,
    example: Annotated[bool, typer.Option("--example", help="Print an example of a night, and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text for people.")] = False,
) -> None:
    """Play a night on pretended trackers and workers: what it brings, what waits, what it costs. No token is spent."""
    text = files("devclaw_py.night.simulation").joinpath(EXAMPLE)
    if example:
        print(text.read_text(encoding="utf-8"), end="")
        return
    asked = script.read(night) if night is not None else script.read(Path(str(text)))
    first = seed if seed is not None else asked.night.seed
    reports = []
    for number in range(first, first + nights):
        with working(f"the night of seed {number} …"):
            reports.append(play(_with_seed(asked, number)))
        if not as_json:
            _show(reports[-1], apart=number > first)
    if as_json:
        print(json_line(_document(reports)))
    raise typer.Exit(0 if all(report.ok for report in reports) else 1)


def _show(report: Report, *, apart: bool) -> None:
    if apart:
        print()
    for line in lines(report):
        print(clean(line))


def _with_seed(asked: Script, seed: int) -> Script:
    return asked.model_copy(update={"night": asked.night.model_copy(update={"seed": seed})})


def _document(reports: list[Report]) -> dict[str, object]:
    played = [report.model_dump(mode="json") for report in reports]
    return {"success": all(report.ok for report in reports), "nights": played}
