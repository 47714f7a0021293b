"""What Claude Code asks through its PermissionRequest hook, and how that hook answers.

Measured on 2.1.197 and 2.1.332: ``answers`` in the arguments of AskUserQuestion are taken as a person's, and the dialog
goes; the choices of one question are joined by a comma and a space.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from devclaw_py.agents import questions
from devclaw_py.agents.claude import conversation, presence
from devclaw_py.agents.claude.states import Reading
from devclaw_py.model.question import Asked, Option, Part, QuestionKind
from devclaw_py.rules.answering import ALLOW, DENY
from devclaw_py.rules.cleaning import one_line
from devclaw_py.terminals import processes

TOOL = "AskUserQuestion"
# The source of a state that says which question is open.
SOURCE = "question"
SHOWN_CHARS = 300
# The state file says a moment after a question's file that the session waits.
YOUNG_S = 5.0
# Which argument of a tool says what it does.
SHOWN = {"Bash": "command", "Write": "file_path", "Edit": "file_path", "NotebookEdit": "notebook_path"}


def asked(payload: Mapping[str, Any]) -> Asked:
    """Return what the hook was told, for people."""
    tool, given = str(payload.get("tool_name") or "a tool"), payload.get("tool_input")
    given = given if isinstance(given, dict) else {}
    parts = _parts(given.get("questions")) if tool == TOOL else ()
    if parts:
        return Asked(kind=QuestionKind.QUESTION, tool=tool, parts=parts)
    what = given.get(SHOWN.get(tool, ""))
    text = what if isinstance(what, str) and what else json.dumps(given, ensure_ascii=False)
    options = (Option(label=ALLOW, about="this once"), Option(label=DENY))
    return Asked(
        kind=QuestionKind.PERMISSION, tool=tool, parts=(Part(text=f"May it use {tool}? {text}", options=options),)
    )


def reply(payload: Mapping[str, Any], answers: Sequence[str], *, caller: str, message: str) -> str:
    """Return what the hook prints, on one line."""
    decision: dict[str, Any]
    if asked(payload).kind is QuestionKind.QUESTION:
        given = payload["tool_input"]
        texts = [one["question"] for one in given["questions"]]
        decision = {"behavior": "allow", "updatedInput": {**given, "answers": dict(zip(texts, answers, strict=True))}}
    elif tuple(answers) == (ALLOW,):
        decision = {"behavior": "allow"}
    else:
        then = message or "Find another way, or report blocked with what you need."
        decision = {"behavior": DENY, "message": f"devclaw: {caller} did not allow this. {then}"}
    return questions.dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})


def still_asks(folder: Path, record: Mapping[str, Any], *, now: float) -> bool:
    """Say whether the process of the hook says that it waits; answered in the terminal, it leaves its hook running."""
    kept, parent = conversation.begun(folder), record.get("parent")
    if isinstance(parent, int) and not processes.alive(parent):
        return False
    if kept is None or not isinstance(parent, int) or now - record["at"] < YOUNG_S:
        return True
    found = presence.read(Path(kept.config), parent)
    return found is None or found.status == "waiting"


def named(folder: Path, reading: Reading, now: float, *, waiting_since: float) -> Reading:
    """Add which question the session waits for; without one only a person at its terminal can answer."""
    for record in questions.records(folder):
        if questions.waits(folder, record, now=now):
            text = one_line(" / ".join(part.text for part in asked(record["asked"]).parts), limit=SHOWN_CHARS)
            detail = f"asks {record['id']}: {text}"
            return reading.model_copy(update={"source": SOURCE, "detail": detail})
    if now - waiting_since < YOUNG_S or questions.lately_decided(folder, now=now):
        # The hook is about to write its question, or has yet to read the answer.
        return reading.model_copy(update={"source": SOURCE})
    return reading


def _parts(listed: object) -> tuple[Part, ...]:
    """Return the questions; none where they are not of the form that is known."""
    try:
        return tuple(_part(one) for one in listed) if isinstance(listed, list) else ()
    except (ValidationError, KeyError, TypeError, AttributeError):
        return ()


def _part(one: Mapping[str, Any]) -> Part:
    options = tuple(Option(label=each["label"], about=each.get("description") or "") for each in one.get("options", []))
    return Part(text=one["question"], options=options, several=one.get("multiSelect") is True, free=True)
