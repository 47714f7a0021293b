"""Signs of work of a Claude Code that says it is busy: what it wrote, what runs below it, what its screen counts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from devclaw_py.agents.claude import events
from devclaw_py.agents.claude.conversation import Conversation
from devclaw_py.rules.worker_mcp import COMMAND

USAGE = "usage.json"
# Claude Code's own helpers: they run however idle it is.
HELPERS = (COMMAND, events.HOOK, "caffeinate")
TOKENS = re.compile(r"[↑↓]\s*([\d.,]+k?)\s*tokens")
TAIL_BYTES = 64 << 10


def tools(pid: int) -> bool:
    """Say whether a tool runs below process ``pid``: a command, however long it says nothing."""
    import psutil

    with suppress(psutil.NoSuchProcess):
        return any(_is_tool(child) for child in psutil.Process(pid).children(recursive=True))
    return False


def last_sign(folder: Path, kept: Conversation) -> float:
    """Return when the session's files last told of work, in seconds since 1970; its start where none does."""
    told = events.read(folder, since=kept.started)
    signs = [kept.started, *(event.at for event in told[-1:]), *_times(folder / USAGE)]
    if kept.transcript:
        transcript = Path(kept.transcript)
        signs += _times(transcript)
        # Sub-agents write into files of their own, in a folder beside it.
        signs += [at for path in transcript.with_suffix("").rglob("*.jsonl") for at in _times(path)]
    return max(signs)


def counted(screen: str) -> tuple[str, ...]:
    """Return the token counts that a screen shows: they rise while an answer comes in."""
    return tuple(TOKENS.findall(screen))


def is_full(transcript: str) -> bool:
    """Say whether the last words in a transcript are about a context that is full: of that there may be no event."""
    with suppress(OSError), Path(transcript).open("rb") as file:
        file.seek(max(0, Path(transcript).stat().st_size - TAIL_BYTES))
        rows = file.read().decode("utf-8", errors="replace").splitlines()
        said = next((row for row in reversed(rows) if '"type":"assistant"' in row), "")
        return '"isApiErrorMessage":true' in said and ("Prompt is too long" in said or "Context limit" in said)
    return False


def _is_tool(process: object) -> bool:
    import psutil

    assert isinstance(process, psutil.Process)
    try:
        words = process.cmdline()
        ended = process.status() == psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
    return bool(words) and not ended and not any(helper in word for word in words for helper in HELPERS)


def _times(path: Path) -> Iterator[float]:
    with suppress(OSError):
        yield path.stat().st_mtime
