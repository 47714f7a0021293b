"""What a group is told of its workers' questions."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from devclaw_py.model.announcement import Announcement
from devclaw_py.model.question import Decision, Part, Question

ASKED_CHARS = 600
ASKED_LINES = 40
BRIEF_CHARS = 300


def asks(question: Question, where: str, *, now: datetime) -> Announcement:
    """Tell what a worker asks, what can be answered, how, and until when."""
    minutes = max(1, round((question.expires - now).total_seconds() / 60))
    parts = question.asked.parts
    lines = [line for number, part in enumerate(parts, 1) for line in _part(part, number if len(parts) > 1 else None)]
    how = "--answer ..." if len(parts) == 1 else " ".join("--answers ..." for _ in parts)
    how = f"Answer within {minutes} min: devclaw session-answer --question-id {question.id} {how}"
    text = f"{where} asks [{question.id}]: {_cut(parts[0].text) if len(parts) == 1 else f'{len(parts)} questions'}"
    return Announcement(emoji="❓", text=text, notes=(*lines[:ASKED_LINES], how))


def answered(question_id: str, session: str, said: str) -> Announcement:
    """Tell that a worker has its answer."""
    return Announcement(emoji="💬", text=f"Answered {session} [{question_id}]: {_brief(said)}")


def unanswered(question_id: str, decision: Decision) -> Announcement:
    """Tell that a question ended without an answer."""
    text = f"{decision.session} [{question_id}] “{_brief(decision.brief)}”: {decision.said}."
    return Announcement(emoji="⌛", text=text)


def stuck(session: str, detail: str, screen: str, attach: str) -> Announcement:
    """Tell that a session asks a person something in its terminal, which nobody answers unseen."""
    text = f"{session} needs a person at its terminal: {detail}"
    return Announcement(
        emoji="🖐️", text=text, notes=(f"Its screen: {screen[-ASKED_CHARS:]}", f"Answer it with: {attach}")
    )


def _part(part: Part, number: int | None) -> Iterator[str]:
    several = " (several can be chosen: 1,2)" if part.several else ""
    if number is not None:
        yield f"{number}) {_cut(part.text)}{several}"
    elif several:
        yield several.strip()
    for place, option in enumerate(part.options, 1):
        yield f"{place}. {_brief(option.label)}{f' — {_brief(option.about)}' if option.about else ''}"
    if part.free:
        yield "or words of your own"


def _cut(text: str) -> str:
    """Return the text, and say so where it is cut: a command's end may be what matters."""
    line = " ".join(text.split())
    if len(line) <= ASKED_CHARS:
        return line
    return f"{line[:ASKED_CHARS]} … ({len(line) - ASKED_CHARS} more characters: devclaw attach shows them)"


def _brief(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= BRIEF_CHARS else line[: BRIEF_CHARS - 1].rstrip() + "…"
