"""What Claude Code told by hooks: one file an event in the session's ``events`` folder, written by ``hook.sh``."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from devclaw_py.agents import mailbox

HOOK = "hook.sh"
ASKED = "PermissionRequest"
# PreToolUse and PostToolUse are left out on purpose: a process for each tool call would slow the turn.
NAMES = (
    "SessionStart",
    "UserPromptSubmit",
    "PermissionRequest",
    "Notification",
    "Stop",
    "StopFailure",
    "SessionEnd",
    "PreCompact",
    "PostCompact",
)
BLOCKED = "PromptBlocked"
FILE = re.compile(rf"\d+N?-\d+-({'|'.join((*NAMES, BLOCKED))})\.json")
KEPT = 400
TIMEOUT_S = 10
# How much longer than its own limit the hook of a question may take.
GRACE_S = 60


@dataclass(frozen=True)
class Event:
    """One event. ``at`` is when its file was written, in seconds since 1970; the file is read when it is asked for."""

    name: str
    at: float
    file: str
    path: Path | None = None
    given: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def payload(self) -> Mapping[str, Any]:
        """What Claude Code told; empty where that cannot be read."""
        if self.path is None:
            return self.given
        return mailbox.read_record(self.path) or {}

    @property
    def session_id(self) -> str | None:
        """The conversation that it belongs to."""
        found = self.payload.get("session_id")
        return found if isinstance(found, str) and found else None

    def text(self, key: str) -> str:
        """Return a text of the payload; empty when there is none."""
        found = self.payload.get(key)
        return found if isinstance(found, str) else ""


def hooks(folder: Path, *, answer_s: int) -> dict[str, Any]:
    """Return what the settings say so that each event reaches the session's folder; a question waits ``answer_s``."""
    found = {name: command(folder, name) | {"timeout": TIMEOUT_S} for name in NAMES}
    found[ASKED] = command(folder, f"{ASKED} {answer_s}") | {"timeout": answer_s + GRACE_S}
    return {name: [{"matcher": "", "hooks": [hook]}] for name, hook in found.items()}


def command(folder: Path, word: str) -> dict[str, Any]:
    """Return how ``hook.sh`` of the folder is called with a word or two. Claude Code hands this to a shell."""
    return {"type": "command", "command": f"exec sh {shlex.quote(str(folder / HOOK))} {word}"}


def read(folder: Path, *, since: float = 0.0) -> list[Event]:
    """Return the session's events from a time on, oldest first; their files are not read yet."""
    found = []
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder / mailbox.EVENTS) as entries:
        for entry in entries:
            named = FILE.fullmatch(entry.name)
            with suppress(OSError):
                if named and (at := entry.stat().st_mtime) >= since:
                    found.append(Event(named[1], at, entry.name, Path(entry.path)))
    return sorted(found, key=lambda event: (event.at, event.file))


def prune(folder: Path) -> None:
    """Leave the newest events; a session that works for weeks must not be read from its first day each time."""
    files = sorted(path for path in (folder / mailbox.EVENTS).glob("*.json") if FILE.fullmatch(path.name))
    for path in files[:-KEPT]:
        path.unlink(missing_ok=True)


def newest(events: Sequence[Event], *names: str) -> Event | None:
    """Return the newest event of these names, or None."""
    return next((event for event in reversed(events) if event.name in names), None)


def shown(event: Event, *, limit: int = 200) -> str:
    """Return an event on one line, for evidence."""
    told = {key: value for key, value in event.payload.items() if key not in ("transcript_path", "cwd", "session_id")}
    line = json.dumps(told, ensure_ascii=False)
    return f"{event.name} {line if len(line) <= limit else line[:limit] + '…'}"
