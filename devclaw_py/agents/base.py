"""The Agent port: one kind of program that lives in a worker's terminal.

An offer is one file, ``offers/<issue>.<attempt>``, in the session's folder. The agent's side accepts it by renaming
it to ``accepted/<issue>.<attempt>``; devclaw voids it by renaming it to ``void/<issue>.<attempt>``. One rename wins.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from devclaw_py.model.base import Value
from devclaw_py.model.finding import Finding
from devclaw_py.model.pipeline import Role, Tier


class AgentState(StrEnum):
    """What an agent says of itself."""

    STARTING = "starting"
    IDLE = "idle"
    WORKING = "working"
    UNKNOWN = "unknown"


class Workplace(Value):
    """Everything an agent needs to know of its session; all paths are absolute."""

    session: str
    workspace: Path
    group_id: str
    project: str
    role: Role
    tier: Tier
    model: str
    worktree: Path
    folder: Path

    @property
    def token_file(self) -> Path:
        """The file that holds the session's token."""
        return self.folder / "token"


class Launch(Value):
    """How to start the agent: an argument list and its whole environment, neither with a secret in it."""

    argv: tuple[str, ...]
    env: dict[str, str]


class Agent(Protocol):
    """One kind of agent."""

    @property
    def kind(self) -> str:
        """The name in ``[agent] kind``."""
        ...

    def launch(self, place: Workplace, *, resume: bool, base_env: Mapping[str, str]) -> Launch:
        """Say how to start it; ``resume`` continues the session's conversation where the kind has one.

        ``base_env`` is the clean environment (PATH, HOME, locale, DEVCLAW_* without a secret) to build on.

        Raises:
            ConfigError: the settings do not allow it.
        """
        ...

    def can_resume(self, place: Workplace) -> bool:
        """Say whether a dead session's conversation can be continued."""
        ...

    def state(self, folder: Path) -> AgentState:
        """Return what the agent last said of itself in the session's folder."""
        ...

    def silent(self, folder: Path, offer: str) -> str | None:
        """Return how the agent's turn for ``offer`` ended without a report, or None when that is not known."""
        ...

    def line(self, offer: str, task_file: Path) -> str:
        """Return the line that is typed to put a task to it."""
        ...

    def notice(self, text: str) -> str:
        """Return the line that tells it something that is not a task."""
        ...

    def diagnose(self) -> list[Finding]:
        """Return what doctor should say about this agent."""
        ...
