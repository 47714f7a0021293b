"""The Notifier port: how an announcement leaves devclaw."""

from __future__ import annotations

from typing import Protocol

from devclaw_py.model.journal import OutboxRow
from devclaw_py.model.project import Project


class Notifier(Protocol):
    """One way of telling a group something."""

    def deliver(self, row: OutboxRow, project: Project | None) -> None:
        """Deliver one announcement, or raise `Outside`; a return means that it was delivered."""
        ...
