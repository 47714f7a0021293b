"""Tokens of a stretch of a transcript, and money, counted between two marks.

A message stands in the transcript once for each block of its content, each time with the message's whole usage; its
id makes it count once. Sub-agents have transcripts of their own beside the conversation's. What Claude Code asks the
model for itself, such as the summary of a compaction, is in no transcript; its cost is in the status line's.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO

from devclaw_py.agents.claude import conversation, fullness
from devclaw_py.model.usage import Meter, TaskUsage, Tokens

FIELDS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_creation": "cache_creation_input_tokens",
}
# What Claude Code writes in the model's name, such as the text of an API error.
NOBODY = "<synthetic>"
BLOCK = 1 << 16
# A report waits for this to be read: about a second for the densest transcript.
MOST_BYTES = 256 << 20


class Unreadable(Exception):
    """A transcript that is not there, or more of it than is read."""


def meter(folder: Path, *, at: float) -> Meter | None:
    """Return where the session's transcript ends now; None before the conversation's first event."""
    kept = conversation.load(folder)
    if kept is None or not kept.transcript:
        return None
    cost = fullness.cost_usd(fullness.of(folder, kept.id))
    size = _size(Path(kept.transcript))
    return Meter(conversation=kept.id, file=kept.transcript, size=size, at=at, process=kept.started, cost_usd=cost)


def usage(since: Meter, until: Meter) -> TaskUsage:
    """Count from one mark to the other; the second may be of a later conversation of the session."""
    found: dict[str, tuple[str, Tokens]] = {}
    try:
        for file, start, end in _stretches(since, until):
            found |= _messages(file, start, end)
        for line in _of_subagents(since, until):
            found |= _message(line)
    except (OSError, Unreadable):
        return TaskUsage(cost_usd=_cost(since, until), until=until)
    last = next(reversed(found), since.last)
    found.pop(since.last, None)
    models: dict[str, Tokens] = {}
    for model, tokens in found.values():
        models[model] = models.get(model, Tokens()) + tokens
    return TaskUsage(models=models, cost_usd=_cost(since, until), until=until.model_copy(update={"last": last}))


def _stretches(since: Meter, until: Meter) -> Iterator[tuple[Path, int, int | None]]:
    if since.file == until.file:
        yield Path(since.file), since.size, until.size
    else:
        yield Path(since.file), since.size, None
        yield Path(until.file), 0, until.size


def _messages(file: Path, start: int, end: int | None) -> dict[str, tuple[str, Tokens]]:
    found: dict[str, tuple[str, Tokens]] = {}
    for line in _lines(file, start, _size(file) if end is None else end):
        found |= _message(line)
    return found


def _lines(file: Path, start: int, end: int) -> Iterator[bytes]:
    """Yield the whole lines that end in the stretch; one that was half written at its end belongs to the next."""
    if end <= start:
        return
    if end - start > MOST_BYTES:
        raise Unreadable
    with file.open("rb") as opened:
        opened.seek(_line_start(opened, start))
        while opened.tell() < end and (line := opened.readline()):
            if line.endswith(b"\n") and opened.tell() <= end and b'"assistant"' in line:
                yield line


def _line_start(opened: BinaryIO, at: int) -> int:
    """Return where the line begins that goes on at a place."""
    while at > 0:
        block = min(BLOCK, at)
        opened.seek(at - block)
        newline = opened.read(block).rfind(b"\n")
        if newline >= 0:
            return int(at - block + newline + 1)
        at -= block
    return 0


def _of_subagents(since: Meter, until: Meter) -> Iterator[bytes]:
    for name in dict.fromkeys((since.file, until.file)):
        for file in sorted((Path(name).with_suffix("") / "subagents").glob("agent-*.jsonl")):
            if file.stat().st_mtime < since.at:
                continue
            for line in _lines(file, 0, _size(file)):
                if since.at <= _time(line) < until.at:
                    yield line


def _time(line: bytes) -> float:
    try:
        return datetime.fromisoformat(str(json.loads(line)["timestamp"])).timestamp()
    except (ValueError, KeyError, TypeError):
        return 0.0


def _message(line: bytes) -> dict[str, tuple[str, Tokens]]:
    try:
        row = json.loads(line)
    except ValueError:
        return {}
    message = row.get("message") if isinstance(row, dict) and row.get("type") == "assistant" else None
    if not isinstance(message, dict) or not isinstance(message.get("usage"), dict):
        return {}
    model, name = message.get("model"), message.get("id")
    if not isinstance(model, str) or not isinstance(name, str) or model == NOBODY:
        return {}
    return {name: (model, _tokens(message["usage"]))}


def _tokens(usage: Mapping[str, Any]) -> Tokens:
    counts = {name: usage.get(key) for name, key in FIELDS.items()}
    return Tokens(**{name: count for name, count in counts.items() if isinstance(count, int) and count >= 0})


def _cost(since: Meter, until: Meter) -> float | None:
    """Return what was spent in between; a process counts its own from 0 on, and an earlier one's end is not known."""
    same = (since.conversation, since.process) == (until.conversation, until.process)
    if not same or since.cost_usd is None or until.cost_usd is None or until.cost_usd < since.cost_usd:
        return None
    return round(until.cost_usd - since.cost_usd, 6)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0
