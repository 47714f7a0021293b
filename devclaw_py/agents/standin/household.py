"""Private surroundings in which Claude Code talks to the stand-in: its own HOME, and address and token by a file.

The user's login, settings, proxies and tokens stay where they are.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path

from devclaw_py.agents.standin.server import StandIn
from devclaw_py.kernel import files

ENV_FILE = "claude.env"
PASSED_ON = ("PATH", "TMUX_TMPDIR", "LANG", "LC_ALL", "LC_CTYPE")


def furnish(
    standin: StandIn, *, home: Path, workspace: Path, environ: Mapping[str, str], more: str = ""
) -> dict[str, str]:
    """Make ``home`` and the workspace's ``ENV_FILE``; return the environment for the workspace's sessions.

    ``more`` are further lines of ``ENV_FILE``.

    Raises:
        ConfigError: a file cannot be written.
    """
    files.private_folder(home)
    # Its owner has been through Claude Code's first questions.
    files.write(home / ".claude.json", json.dumps({"hasCompletedOnboarding": True}).encode(), mode=0o600)
    variables = f"ANTHROPIC_BASE_URL={standin.url}\nANTHROPIC_AUTH_TOKEN={standin.token}\n{more}"
    files.write(workspace / ENV_FILE, variables.encode(), mode=0o600)
    # Claude Code leaves folders of its own in the one for temporary files.
    private = {"HOME": str(home), "TMPDIR": str(files.private_folder(home / "tmp"))}
    kept = {name: environ[name] for name in PASSED_ON if name in environ}
    return {"PATH": os.defpath, **kept, **private}
