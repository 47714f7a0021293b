"""The form of one line of audit.log, and how a line is looked for."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from devclaw_py.kernel.clock import timestamp
from devclaw_py.model.journal import AuditLine

# Other people's texts: what is longer is cut here whatever the caller hands in.
SHORT_KEYS = frozenset({"body", "bodyPreview", "comment", "description", "reason", "summary"})
SHORT_CHARS = 100
LONG_CHARS = 2000

# A line may wait for the lock, and clocks step back a little.
MARGIN = timedelta(seconds=60)


def encode(line: AuditLine, *, now: datetime) -> bytes:
    """Return the line as JSON without its newline.

    A line that is written much later than it was made says so in ``written``: a search from the end needs to know
    when it may stop.
    """
    named = {"project": line.project, "groupId": line.group_id, "issue": line.issue}
    entry: dict[str, Any] = {"ts": timestamp(line.ts), "event": line.event, "op": line.op, "caller": line.caller}
    entry.update((key, value) for key, value in named.items() if value is not None)
    for key, value in line.facts.items():
        entry.setdefault(key, _cut(key, value))
    if now - line.ts > MARGIN:
        entry.setdefault("written", timestamp(now))
    text = json.dumps(entry, ensure_ascii=False, separators=(",", ":"), default=_plain)
    return text.encode("utf-8", "backslashreplace")


def decode(line: bytes) -> dict[str, object] | None:
    """Return a line as an object, or None when it is not one."""
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return entry if isinstance(entry, dict) else None


def stands(line: AuditLine, newest_first: Iterable[bytes]) -> bool:
    """Say whether a line of the same op and event is among those written since ``line.ts``."""
    oldest = line.ts - MARGIN
    for candidate in newest_first:
        entry = decode(candidate)
        if entry is None:
            continue
        if entry.get("op") == line.op and entry.get("event") == line.event:
            return True
        at = moment(entry.get("written") or entry.get("ts"))
        if at is not None and at < oldest:
            return False
    return False


def moment(value: object) -> datetime | None:
    """Return a line's time, or None when it has none that can be read."""
    if not isinstance(value, str):
        return None
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _cut(key: str, value: object) -> object:
    if isinstance(value, str):
        limit = SHORT_CHARS if key in SHORT_KEYS else LONG_CHARS
        return value if len(value) <= limit else value[: limit - 1] + "…"
    if isinstance(value, dict):
        return {str(inner): _cut(str(inner), part) for inner, part in value.items()}
    if isinstance(value, list | tuple):
        return [_cut(key, part) for part in value]
    return value


def _plain(value: object) -> str:
    return timestamp(value) if isinstance(value, datetime) else str(value)
