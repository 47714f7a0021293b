"""What a worker asks of people, and what became of it."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import Field

from devclaw_py.model.base import Value

PREFIX_CHARS = 120


class QuestionKind(StrEnum):
    """What is asked for."""

    PERMISSION = "permission"
    QUESTION = "question"


class Option(Value):
    """One answer to choose."""

    label: str
    about: str = ""


class Part(Value):
    """One thing that is asked. ``several``: more than one option may be chosen; ``free``: other words will do too."""

    text: str
    options: tuple[Option, ...] = ()
    several: bool = False
    free: bool = False


class Asked(Value):
    """What an agent asks, in its order. ``tool`` is what it wants to use, or how it asks."""

    kind: QuestionKind
    tool: str
    parts: tuple[Part, ...] = Field(min_length=1)


class Question(Value):
    """A question that is asked in a session of a group."""

    id: str
    session: str
    group_id: str
    at: datetime
    expires: datetime
    asked: Asked

    @property
    def brief(self) -> str:
        """The beginning of what is asked, on one line."""
        line = " ".join(" / ".join(part.text for part in self.asked.parts).split())
        return line if len(line) <= PREFIX_CHARS else line[: PREFIX_CHARS - 1] + "…"

    def ends(self, end: QuestionEnd, at: datetime, **answered: object) -> Decision:
        """Return a decision of the question; ``answered`` are fields of an answer."""
        known = {"session": self.session, "group_id": self.group_id, "brief": self.brief}
        return Decision.model_validate({"end": end, "at": at, **known, **answered})


class QuestionEnd(StrEnum):
    """How a question ended."""

    ANSWERED = "answered"
    EXPIRED = "expired"
    WITHDRAWN = "withdrawn"


class Decision(Value):
    """What became of a question. ``op`` and ``caller`` are those of the call that answered it.

    ``answers`` are one for each part. ``brief`` and the session are the question's: it outlives its own file.
    """

    end: QuestionEnd
    at: datetime
    session: str
    group_id: str
    brief: str
    op: str = ""
    caller: str = ""
    answers: tuple[str, ...] = ()
    message: str = ""

    @property
    def said(self) -> str:
        """What was decided, and by whom, in words."""
        if self.end is QuestionEnd.EXPIRED:
            return "nobody answered it in time, and the worker was told so"
        if self.end is QuestionEnd.WITHDRAWN:
            return "it no longer waits: it was answered in the terminal, or its session ended"
        return f"{self.caller} answered {' / '.join(self.answers)!r}"
