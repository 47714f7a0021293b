"""What a chat should be told, before any chat's markup is applied."""

from __future__ import annotations

from devclaw_py.model.base import Value
from devclaw_py.model.task import TaskRef


class Announcement(Value):
    """One line that people enjoy, the task it is about, and further lines.

    ``text`` stands after the emoji and may hold a task's title: other people's text. ``notes`` are warnings and
    follow-ups, one line each.
    """

    emoji: str
    text: str
    task: TaskRef | None = None
    notes: tuple[str, ...] = ()

    def noting(self, *notes: str) -> Announcement:
        """Return the announcement with further lines."""
        return self.model_copy(update={"notes": (*self.notes, *notes)})
