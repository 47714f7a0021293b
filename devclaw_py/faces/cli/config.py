"""``devclaw config``: each setting and where it came from."""

from __future__ import annotations

import os

import typer
from rich.table import Table

from devclaw_py.faces.cli.options import AsJson, Workspace
from devclaw_py.faces.cli.output import cell, hint, show
from devclaw_py.faces.cli.words import json_line
from devclaw_py.faces.opening import settings_of


def add_to(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("config")(config)


def config(as_json: AsJson = False, workspace: Workspace = None) -> None:
    """Show every setting, its value and where it came from."""
    folder, loaded = settings_of(workspace, os.environ)
    values = {
        f"{section}.{key}": value
        for section, keys in loaded.settings.model_dump(mode="json").items()
        for key, value in keys.items()
    }
    if as_json:
        entries = {key: {"value": value, "origin": loaded.origin[key]} for key, value in values.items()}
        print(json_line({"success": True, "workspace": str(folder), "settings": entries}))
        return
    hint(f"workspace {folder}")
    table = Table("setting", "value", "from")
    for key, value in values.items():
        origin = loaded.origin[key]
        table.add_row(cell(key), cell(json_line(value)), cell(origin, "dim" if origin == "default" else "bold"))
    show(table)
