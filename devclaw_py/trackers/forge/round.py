"""One poll for several questions: the queues are asked for label by label, and the forge need hear of it once."""

from __future__ import annotations

import hashlib

from devclaw_py.model.task import Task
from devclaw_py.rules.labels import carries
from devclaw_py.trackers.forge.poll import Poll

# What of an issue the heartbeat looks at: a comment changes none of it.
TOLD = {"number", "title", "body", "labels", "closed"}


class Round:
    """What the last poll said, until something else is asked or written, or a label is asked for again."""

    def __init__(self, poll: Poll) -> None:
        self._poll = poll
        self._tasks: list[Task] | None = None
        self._asked: set[str] = set()

    def end(self) -> None:
        """Ask the forge the next time."""
        self._tasks = None

    def carrying(self, label: str) -> list[Task]:
        """Return the open issues that carry the label, lowest number first."""
        folded = label.casefold()
        if self._tasks is None or folded in self._asked:
            self._begin()
        self._asked.add(folded)
        return [task for task in self._tasks or () if not task.closed and carries(task.labels, label)]

    def pulse(self) -> str:
        """Return a sum over what a new poll says; what is asked for next is of the same poll."""
        self._begin()
        told = "".join(task.model_dump_json(include=TOLD) for task in self._tasks or ())
        return hashlib.sha256(told.encode()).hexdigest()

    def _begin(self) -> None:
        self._tasks, self._asked = self._poll.tasks(), set()
