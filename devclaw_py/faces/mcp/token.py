"""The bearer token of the HTTP server: one file for each caller, so that a group's token opens no other group."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from devclaw_py.errors import ConfigError
from devclaw_py.kernel import files
from devclaw_py.kernel.secrets import new_token

FOLDER = Path("memory", "mcp")
PRIVATE = 0o600
SHORTEST = 32
CURE = "delete it; the next start makes a new one"


def token_file(workspace: Path, group_id: str | None) -> Path:
    """Return where the token of a group's orchestrator stands, or that of all groups."""
    name = "all-groups" if group_id is None else f"group-{hashlib.sha256(group_id.encode()).hexdigest()[:12]}"
    return workspace / FOLDER / f"{name}.token"


def token_of(path: Path) -> str:
    """Return the token in a file, made at first use.

    Raises:
        ConfigError: others may read the file, or what it holds could be guessed.
    """
    files.private_folder(path.parent)
    if files.read(path) is None:
        with suppress(FileExistsError):  # another server of the same caller was faster
            files.create(path, new_token().encode() + b"\n", mode=PRIVATE)
    with files.writing(path, "read"):
        mode = path.stat().st_mode
        token = path.read_text(encoding="ascii", errors="replace").strip()
    if mode & 0o077:
        raise ConfigError(f"{path} may be read by others, so its token may be known", hint=CURE)
    if len(token) < SHORTEST:
        raise ConfigError(f"{path} holds fewer than {SHORTEST} characters", hint=CURE)
    return token
