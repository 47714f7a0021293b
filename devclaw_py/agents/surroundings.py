"""What a session is given from the machine: a clean environment, and room for one more."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

PROGRAM = "devclaw"
MOST_SESSIONS = 12
BYTES_A_SESSION = 200_000_000
# TMUX_TMPDIR decides where tmux looks for its sockets: without it a worker's own devclaw would not find the server.
PASSED_ON = (
    *("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TERM", "TMPDIR", "TMUX_TMPDIR", "TZ"),
    # Where the user keeps login and settings of Claude Code.
    "CLAUDE_CONFIG_DIR",
)


def base_environment(environ: Mapping[str, str], workspace: Path) -> dict[str, str]:
    """Return what every agent gets of ``environ``: who and where the user is, the locale, and PATH.

    PATH begins with the folder of the devclaw that runs now. Nothing else is handed on, so no secret is.
    """
    kept = {name: value for name, value in environ.items() if name in PASSED_ON or name.startswith("LC_")}
    path = os.pathsep.join([str(own_folder(environ)), environ.get("PATH", os.defpath)])
    return {**kept, "PATH": path, "DEVCLAW_WORKSPACE": str(workspace)}


def own_folder(environ: Mapping[str, str]) -> Path:
    """Return where the program devclaw is; a user's installation does not have it beside Python."""
    started, python = Path(sys.argv[0]), Path(sys.executable).parent
    if started.name == PROGRAM and started.is_file():
        return started.absolute().parent
    if (python / PROGRAM).is_file():
        return python
    found = shutil.which(PROGRAM, path=environ.get("PATH", os.defpath))
    return Path(found).absolute().parent if found else python


def session_limit(configured: int, *, alive: int) -> int:
    """Return how many sessions may live; ``configured`` 0 leaves it to the machine.

    Sessions that live already have their memory, so what is free now is for further ones.
    """
    if configured:
        return configured
    import psutil

    further = psutil.virtual_memory().available // BYTES_A_SESSION
    return max(1, min(MOST_SESSIONS, alive + further))
