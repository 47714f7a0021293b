"""The RequestProvider port: pull and merge requests of one project's repository on a forge.

The local tracker has none; there git itself merges.
"""

from __future__ import annotations

from typing import Protocol

from devclaw_py.errors import Conflict
from devclaw_py.model.request import Request


class NotMerged(Conflict):
    """The forge refused to merge: the head moved, a rule is not met, or a draft. The request stays as it is."""


class RequestProvider(Protocol):
    """Writes are never retried inside; every method raises `TrackerError` when it cannot answer."""

    def find(self, branch: str) -> Request | None:
        """Return the newest request from exactly ``branch`` of this repository, an open one before others.

        Checks, reviews and whether it can be merged are read as well.
        """
        ...

    def open(self, *, branch: str, base: str, title: str, body: str) -> Request:
        """Open a request.

        Raises:
            TrackerDenied: there is nothing to merge, or the forge refuses it.
        """
        ...

    def merge(self, number: int, *, head: str) -> Request:
        """Merge it if its head commit is ``head`` still, and return it as it stands afterwards.

        Raises:
            NotMerged: the head is another one, or the forge does not merge it now.
        """
        ...
