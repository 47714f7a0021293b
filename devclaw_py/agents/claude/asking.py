"""What Claude Code asks through its PermissionRequest hook, and how that hook answers.

Measured on 2.1.197 and 2.1.332: ``answers`` in the arguments of AskUserQuestion are taken as a person's, and the dialog
goes; the choices of one question are joined by a comma and a space.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from devclaw_py.agents.questions import dumps
from devclaw_py.model.question import Asked, Option, Part, QuestionKind
from devclaw_py.rules.answering import ALLOW, DENY

TOOL = "AskUserQuestion"
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
    return dumps({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}})


def _parts(questions: object) -> tuple[Part, ...]:
    """Return the questions; none where they are not of the form that is known."""
    try:
        return tuple(_part(one) for one in questions) if isinstance(questions, list) else ()
    except (ValidationError, KeyError, TypeError, AttributeError):
        return ()


def _part(one: Mapping[str, Any]) -> Part:
    options = tuple(Option(label=each["label"], about=each.get("description") or "") for each in one.get("options", []))
    return Part(text=one["question"], options=options, several=one.get("multiSelect") is True, free=True)
