"""The Agent port: one kind of program that lives in a worker's terminal.

An offer is one file, ``offers/<issue>.<attempt>``, in the session's folder. The agent's side accepts it by renaming
it to ``accepted/<issue>.<attempt>``; devclaw voids it by renaming it to ``void/<issue>.<attempt>``. One rename wins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol

from devclaw_py.agents.console import Console
from devclaw_py.model.base import Value
from devclaw_py.model.finding import Finding
from devclaw_py.model.following import Ended
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.question import Asked
from devclaw_py.model.usage import Meter, TaskUsage
from devclaw_py.terminals.base import TerminalSession


class AgentState(StrEnum):
    """What an agent says of itself."""

    STARTING = "starting"
    IDLE = "idle"
    WORKING = "working"
    UNKNOWN = "unknown"


class Condition(Value):
    """How an agent is. ``detail`` says why in words, where a person should know: what it waits for, what it asks."""

    state: AgentState
    detail: str = ""


class Context(Value):
    """How much of its context the session's conversation uses.

    ``used`` is a share of 1, or None when that is not known. ``current`` is False while a turn has ended that the
    figure may not have in it. ``former`` are the conversations, oldest first, in whose place devclaw began this one.
    """

    conversation: str
    used: float | None = None
    current: bool = True
    former: tuple[str, ...] = ()


class Compaction(StrEnum):
    """What became of an attempt to compact a conversation."""

    DONE = "done"
    FAILED = "failed"
    ENDLESS = "endless"


class Workplace(Value):
    """Everything an agent needs to know of its session; all paths are absolute.

    ``permission_mode`` and ``allow`` are the project's own, over the settings of the agent; ``test_command`` may be run
    whatever they say.
    """

    session: str
    workspace: Path
    group_id: str
    project: str
    role: Role
    seat: int = 1
    tier: Tier
    model: str
    worktree: Path
    folder: Path
    permission_mode: str | None = None
    allow: tuple[str, ...] | None = None
    test_command: str | None = None

    @property
    def attach(self) -> str:
        """The command that shows a person the session and lets them type into it."""
        words = [self.project, self.role, self.tier, *([str(self.seat)] if self.seat > 1 else [])]
        return f"devclaw attach {' '.join(words)} --write"

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

    def lost(self, place: Workplace) -> bool:
        """Say whether a resume that failed did so because the agent does not know the conversation."""
        ...

    def state(self, folder: Path, session: TerminalSession, screen: Callable[[], str]) -> Condition:
        """Return how the agent in a live session is, by the session's folder and the terminal's facts.

        ``screen`` reads the session's screen; it is called only for what no other source can say. Unknown with a
        detail means that a person must look at it.
        """
        ...

    def ended(self, folder: Path, session: TerminalSession, offer: str) -> Ended | None:
        """Return how the newest turn since ``offer`` was accepted ended, or None when that is not known.

        For a session that is idle. Whether the worker reported first is the journal's to know.
        """
        ...

    def quiet_since(self, folder: Path, session: TerminalSession) -> datetime | None:
        """Return since when a session at work shows no sign of it; None while it does, or waits for a person."""
        ...

    def line(self, offer: str, task_file: Path) -> str:
        """Return the line that is typed to put a task to it."""
        ...

    def notice(self, text: str) -> str:
        """Return the line that tells it something that is not a task."""
        ...

    def words(self, text: str) -> str:
        """Return how a person's message is typed: nothing in it can be taken for a command."""
        ...

    def post(self, console: Console, line: str, about_to: Callable[[], None]) -> None:
        """Type a message's line into an idle session; ``about_to`` is called right before it is submitted.

        Raises as `submit`.
        """
        ...

    def heard(self, folder: Path, line: str, since: float) -> bool:
        """Say whether the agent took the line at or after a time in seconds since 1970."""
        ...

    def submit(self, console: Console, line: str) -> None:
        """Type ``line`` into an idle session, once.

        Raises:
            SessionFailed: it could not be typed.
            DeliveryUnconfirmed: it was not typed, because somebody else's text or a dialog stands in the way.
        """
        ...

    def nudge(self, console: Console, line: str) -> None:
        """Help a submitted line that is not accepted yet, without typing it again.

        Raises:
            SessionFailed: the terminal could not be used.
        """
        ...

    def say(self, console: Console, line: str) -> None:
        """Type a line that is no task; the agent may be at work. Raises as `submit`."""
        ...

    def interrupt(self, console: Console, about_to: Callable[[], None]) -> bool:
        """End the turn of a session that shows no sign of work; ``about_to`` is called right before.

        False when it does show one, or when this kind cannot be interrupted.

        Raises:
            SessionFailed: the terminal could not be used.
        """
        ...

    def tidy(self, console: Console) -> None:
        """Remove a line of devclaw's that was left in the input; a session that is gone is no error."""
        ...

    def asked(self, payload: Mapping[str, Any]) -> Asked | None:
        """Return what the agent's side wrote into a question's file, for people; None when it asks nothing."""
        ...

    def still_asks(self, folder: Path, record: Mapping[str, Any]) -> bool:
        """Say whether the agent still waits for the answer to a question's file; True when that is not known."""
        ...

    def reply(self, payload: Mapping[str, Any], answers: Sequence[str], *, caller: str, message: str) -> str:
        """Return the line that tells the agent's side the answers, one for each part of what it asked.

        ``message`` is what ``caller`` says to a denial.
        """
        ...

    def context(self, folder: Path) -> Context | None:
        """Return how full the session's conversation is; None for a kind that has none, or before it began."""
        ...

    def compact(self, console: Console, limit_s: float) -> Compaction:
        """Have the conversation of an idle session made shorter, and wait up to ``limit_s`` for it to be idle again.

        ``FAILED`` leaves an idle session with its conversation as it was; of an ``ENDLESS`` one nothing is known.
        Raises as `submit`; the session may also have ended meanwhile.
        """
        ...

    def meter(self, folder: Path) -> Meter | None:
        """Return where the session's record of usage stands now; None where there is none."""
        ...

    def usage(self, since: Meter, until: Meter) -> TaskUsage:
        """Count what was used between two marks of one session; what cannot be read is None in it."""
        ...

    def diagnose(self) -> list[Finding]:
        """Return what doctor should say about this agent."""
        ...
