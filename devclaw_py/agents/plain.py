"""An agent that has no conversation: nothing of it can be full, compacted or counted."""

from __future__ import annotations

from pathlib import Path

from devclaw_py.agents.base import Compaction, Context
from devclaw_py.agents.console import Console
from devclaw_py.model.usage import Meter, TaskUsage


class WithoutConversation:
    """What the Agent port asks of conversations, for a kind that has none."""

    def context(self, folder: Path) -> Context | None:
        """Return None: there is no conversation."""
        return None

    def compact(self, console: Console, limit_s: float) -> Compaction:
        """Return that nothing was compacted."""
        return Compaction.FAILED

    def meter(self, folder: Path) -> Meter | None:
        """Return None: nothing is counted."""
        return None

    def usage(self, since: Meter, until: Meter) -> TaskUsage:
        """Return that nothing is known."""
        return TaskUsage()
