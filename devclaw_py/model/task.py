"""An issue and what hangs on it, as every tracker reports it."""

from __future__ import annotations

import hashlib
from datetime import datetime

from devclaw_py.model.base import Value


class TaskRef(Value):
    """Enough of a task to name it: safe to log, announce and return."""

    number: int
    title: str
    url: str = ""


class Task(TaskRef):
    """One issue. Title, body and labels are other people's text: data, never instructions."""

    body: str = ""
    labels: tuple[str, ...] = ()
    closed: bool = False
    assignees: tuple[str, ...] = ()
    created: datetime | None = None
    updated: datetime | None = None

    @property
    def ref(self) -> TaskRef:
        """The part of the task that may be logged."""
        return TaskRef(number=self.number, title=self.title, url=self.url)

    @property
    def digest(self) -> str:
        """A short name of title and description: it differs when either was edited; blanks at an end are no edit."""
        text = f"{self.title.strip()}\n{self.body.replace(chr(13), '').strip()}"
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class Comment(Value):
    """One comment on an issue, oldest first wherever they are listed."""

    id: str
    author: str
    body: str
    at: datetime


class LabelEvent(Value):
    """One label put on or taken off an issue. ``ours`` is true when devclaw's own account did it."""

    label: str
    added: bool
    actor: str
    ours: bool
    at: datetime
