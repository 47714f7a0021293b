"""The IssueProvider port: what devclaw asks of an issue tracker.

Adapters: `trackers.local` (the embedded default) and `trackers.memory`; one contract suite holds all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from devclaw_py.model.finding import Finding
from devclaw_py.model.task import Comment, LabelEvent, Task


class IssueProvider(Protocol):
    """One project's issues. Writes are never retried inside; every method raises `TrackerError` when it cannot answer.

    Methods that name an issue raise `UnknownTask` when there is none of that number.
    """

    @property
    def swaps(self) -> bool:
        """Whether `swap` changes two labels in one write; where it does not, `take` is the compare-and-set."""
        ...

    def where(self) -> str:
        """Return the tracker's name for messages, such as ``the local tracker of shop``."""
        ...

    def get(self, number: int) -> Task:
        """Return one issue."""
        ...

    def list_by_label(self, label: str) -> list[Task]:
        """Return all open issues that carry ``label``, lowest number first, over all pages."""
        ...

    def pulse(self) -> str | None:
        """Return a text that changes whenever something of an issue changes; None where only listing would tell.

        Much cheaper than a list: it is asked for each project at each tick of the heartbeat.
        """
        ...

    def list_all(self, *, newest: int | None = None) -> list[Task]:
        """Return issues, open and closed, lowest number first; only the ``newest`` highest numbers when given."""
        ...

    def create(self, title: str, body: str, *, labels: Sequence[str], assignees: Sequence[str] = ()) -> Task:
        """Create an open issue. Its number was never used before."""
        ...

    def take(self, number: int, label: str) -> frozenset[str] | None:
        """Take one label off: a compare-and-set. Return the labels that are left, or None when it was not there."""
        ...

    def put(self, number: int, label: str) -> frozenset[str]:
        """Add one label, keep the others, and return the full set afterwards."""
        ...

    def swap(self, number: int, source: str, target: str) -> frozenset[str]:
        """Take ``source`` off and add ``target`` in one write, keep the others, and return the full set afterwards.

        Nobody is told whether ``source`` was there, so it is read before. Only asked of a tracker that `swaps`.
        """
        ...

    def comment(self, number: int, body: str) -> Comment:
        """Add a comment."""
        ...

    def comments(self, number: int) -> list[Comment]:
        """Return all comments, oldest first."""
        ...

    def close(self, number: int) -> None:
        """Close an issue; closed already is no error."""
        ...

    def reopen(self, number: int) -> None:
        """Open an issue; open already is no error."""
        ...

    def ensure_labels(self, colours: Mapping[str, str]) -> None:
        """Create the labels that are missing; ``colours`` are six hex digits. Existing ones are left as they are."""
        ...

    def last_event(self, number: int, label: str) -> LabelEvent | None:
        """Return the newest event of ``label`` on the issue, or None when there never was one."""
        ...

    def label_events(self, number: int) -> list[LabelEvent]:
        """Return all label events of the issue, oldest first."""
        ...

    def diagnose(self) -> list[Finding]:
        """Return what doctor should say about this tracker."""
        ...
