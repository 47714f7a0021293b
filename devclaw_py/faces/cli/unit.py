"""``devclaw heartbeat-install``: the heartbeat as a systemd user unit, shown before it is written."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Annotated

import typer

from devclaw_py.errors import ConfigError
from devclaw_py.faces.cli.options import Command, Workspace
from devclaw_py.faces.cli.output import hint, say
from devclaw_py.faces.opening import open_workspace, require_person
from devclaw_py.kernel import files, proc

UNIT = """[Unit]
Description=DevClaw heartbeat of {workspace}
After=network-online.target

[Service]
ExecStart={program} --workspace {workspace} heartbeat
Environment=PATH={path}
Restart=on-failure
RestartSec=10
# Workers live in tmux and outlive the heartbeat.
KillMode=process

[Install]
WantedBy=default.target
"""
SYSTEMCTL_S = 15


def add_to(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("heartbeat-install", cls=Command)(install)


def install(
    start: Annotated[bool, typer.Option("--start", help="Enable and start it as well.")] = False,
    workspace: Workspace = None,
) -> None:
    """Write the heartbeat of this workspace as a systemd user unit; its path and what starts it are printed."""
    app = open_workspace(workspace, os.environ)
    require_person(app, os.environ, "install the heartbeat")
    name = f"devclaw-{hashlib.sha256(str(app.workspace).encode()).hexdigest()[:8]}.service"
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    path = Path(base) / "systemd" / "user" / name
    text = unit(app.workspace, program=_program(), path=os.environ.get("PATH", os.defpath))
    files.folder(path.parent)
    files.write(path, text.encode(), mode=files.PUBLIC)
    say(str(path))
    if start:
        _systemctl("daemon-reload")
        _systemctl("enable", "--now", name)
        say(f"{name} is enabled and runs; systemctl --user status {name} shows it")
    else:
        hint(f"systemctl --user daemon-reload && systemctl --user enable --now {name}")
    hint("loginctl enable-linger lets it run while you are logged out")


def unit(workspace: Path, *, program: str, path: str) -> str:
    """Return the unit's text.

    Raises:
        ConfigError: a path has a sign that systemd would read as its own.
    """
    for word in (str(workspace), program, path):
        if any(sign in word for sign in "\n\"'%$\\ "):
            raise ConfigError(
                f"{word} cannot stand in a systemd unit", hint="use a path without blanks, quotes, % or $"
            )
    return UNIT.format(workspace=workspace, program=program, path=path)


def _program() -> str:
    found = shutil.which(sys.argv[0]) or shutil.which("devclaw")
    if found is None:
        raise ConfigError("the program devclaw is not on PATH", hint="run it by its path, or activate its environment")
    return str(Path(found).absolute())


def _systemctl(*words: str) -> None:
    if shutil.which("systemctl") is None:
        raise ConfigError("systemctl is not there, so nothing was started", hint="run devclaw heartbeat in a terminal")
    done = proc.run(["systemctl", "--user", *words], timeout_s=SYSTEMCTL_S)
    if done.code != 0:
        raise ConfigError(f"systemctl --user {words[0]} failed: {done.err.strip()[:200]}")
