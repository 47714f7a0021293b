"""How the demo starts devclaw's own programs: those of the devclaw that runs, installed or from a checkout."""

from __future__ import annotations

import shutil
import sys
import sysconfig
from pathlib import Path

import devclaw_py


def module(name: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs a module of this devclaw, from any folder."""
    root = Path(devclaw_py.__file__).resolve().parent.parent
    # -P: a module of the folder it is run in must not be taken for one of Python's.
    run = (sys.executable, "-P", "-m", name, *arguments)
    return run if _installed(root) else ("env", f"PYTHONPATH={root}", *run)


def devclaw() -> tuple[str, ...]:
    """Return the command that is ``devclaw``: by its name where it is installed, since it comes first on PATH."""
    root = Path(devclaw_py.__file__).resolve().parent.parent
    if _installed(root) and Path(sys.executable).with_name("devclaw").is_file():
        return ("devclaw",)
    return module("devclaw_py")


def typed() -> str:
    """Return the word with which a person starts devclaw: its name where PATH has it, else as this one was started."""
    started = sys.argv[0]
    return "devclaw" if shutil.which("devclaw") or Path(started).name != "devclaw" else started


def _installed(root: Path) -> bool:
    return root == Path(sysconfig.get_path("purelib")).resolve()
