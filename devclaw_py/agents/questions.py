"""The files of a question: one in ``questions`` while it is not settled, one in ``answers`` once it is decided.

The agent's side writes ``questions/<id>.json`` and waits. Whoever links ``answers/<id>`` first has decided: its first
line is what the agent reads, the second is the `Decision`. An agent that waited in vain links the question itself.
"""

from __future__ import annotations

import json
import os
import re
import uuid
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from devclaw_py.agents import mailbox, tokens
from devclaw_py.model.question import Decision
from devclaw_py.terminals import processes

ID = re.compile(r"[0-9a-f]{8}")
TOLD = ".told"
KEPT = 200
# After its own limit the agent's side may still be about to say so.
GRACE_S = 10.0
# It looks for an answer twice a second.
READ_S = 5.0


def records(folder: Path) -> Iterator[Mapping[str, Any]]:
    """Yield what stands in the session's questions that are not settled, oldest first."""
    found = [record for path in (folder / mailbox.QUESTIONS).glob("[0-9a-f]*.json") if (record := read(path))]
    yield from sorted(found, key=lambda record: (record["at"], record["id"]))


def read(path: Path) -> Mapping[str, Any] | None:
    """Return a question's file; None when it is gone, or not of that form."""
    record = mailbox.read_record(path) or {}
    numbers = all(isinstance(record.get(key), int) and 0 < record[key] < 2**35 for key in ("at", "expires"))
    named = ID.fullmatch(str(record.get("id"))) is not None
    return record if numbers and named and isinstance(record.get("asked"), dict) else None


def waits(folder: Path, record: Mapping[str, Any], *, now: float) -> bool:
    """Say whether somebody would read an answer: it is not decided, not too late, and its process lives."""
    if answer(folder, record["id"]).exists() or now > record["expires"] + GRACE_S:
        return False
    pid = record.get("pid")
    if not isinstance(pid, int):
        return True
    # A number that was given to another process since belongs to no process of this session.
    ours = processes.initial_environment(pid).get(tokens.VARIABLE, "") in ("", str(folder / tokens.TOKEN))
    return processes.alive(pid) and ours


def answer(folder: Path, name: str) -> Path:
    """Return where a question's answer is."""
    return folder / mailbox.ANSWERS / name


def question(folder: Path, name: str) -> Path:
    """Return where a question is."""
    return folder / mailbox.QUESTIONS / f"{name}.json"


def decide(folder: Path, name: str, decision: Decision, line: str) -> bool:
    """Decide a question, and say whether this decision was the first; ``line`` is what the agent reads."""
    aside = folder / mailbox.ANSWERS / f".{name}.{uuid.uuid4().hex}"
    try:
        mailbox.put(aside, f"{line}\n{decision.model_dump_json(by_alias=True)}\n")
        os.link(aside, answer(folder, name))
    except FileExistsError:
        return False
    finally:
        with suppress(OSError):
            aside.unlink()
    return True


def decided(folder: Path, name: str) -> Decision | Mapping[str, Any] | None:
    """Return the decision; the question's own record when the agent waited in vain; None when it is undecided."""
    try:
        text = answer(folder, name).read_text(encoding="utf-8")
    except OSError:
        return None
    if (record := read(answer(folder, name))) is not None:
        return record
    with suppress(ValidationError):
        return Decision.model_validate_json(text.partition("\n")[2])
    return None


def settle(folder: Path, name: str) -> None:
    """Forget a question that is decided and told; the newest answers are kept for those who come late."""
    for path in (question(folder, name), question(folder, name).with_suffix(TOLD)):
        path.unlink(missing_ok=True)
    kept = sorted((folder / mailbox.ANSWERS).glob("[0-9a-f]*"), key=lambda path: path.stat().st_mtime)
    for path in kept[:-KEPT]:
        path.unlink(missing_ok=True)


def lately_decided(folder: Path, *, now: float) -> bool:
    """Say whether an answer is so new that the agent's side may not have read it; a link has its own time of change."""
    for path in (folder / mailbox.ANSWERS).glob("[0-9a-f]*"):
        with suppress(OSError):
            if now - path.stat().st_ctime < READ_S:
                return True
    return False


def at(seconds: float) -> datetime:
    """Return a time in seconds since 1970 as the rest of devclaw has it."""
    return datetime.fromtimestamp(seconds, UTC)


def told(folder: Path, name: str) -> bool:
    """Say whether it is noted that people know of the question."""
    return question(folder, name).with_suffix(TOLD).exists()


def set_told(folder: Path, name: str) -> None:
    """Note that people know of the question; without room for the note they are told the same once more."""
    with suppress(OSError):
        question(folder, name).with_suffix(TOLD).touch(mode=0o600)


def dumps(value: object) -> str:
    """Return JSON on one line, in letters that every program reads."""
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))
