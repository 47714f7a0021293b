"""How a worker's turn ended, and what was done so far about a worker that has not reported."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from pydantic import ConfigDict

from devclaw_py.model.base import Value


class End(StrEnum):
    """How a turn ended that was to end with a report."""

    PROGRAM = "program"
    """A program ended: there is nobody who could be told anything."""
    QUIET = "quiet"
    """By itself, without a report."""
    BROKEN_OFF = "broken-off"
    """Without an event: a person pressed Escape, or devclaw did."""
    RESTARTED = "restarted"
    """Its process ended, and the session was started again."""
    CLEARED = "cleared"
    """A person cleared the conversation: the worker knows nothing of its task any more."""
    FAILED = "failed"
    """With an error of the API that passes."""
    LIMITED = "limited"
    """With a usage limit that has a known end."""
    REFUSED = "refused"
    """With an error that a person must mend: credit, login, an account on hold."""
    FULL = "full"
    """The conversation does not fit into the model's context any more."""


class Ended(Value):
    """The newest turn of an idle session, which a task began.

    ``key`` names this very end: the same end has the same key, another one never. ``until`` is when a limit ends.
    ``by_person`` says that somebody's own words began the turn, so somebody is at the keyboard.
    """

    how: End
    key: str
    at: datetime
    words: str
    until: datetime | None = None
    by_person: bool = False


class Followed(Value):
    """What was done about one attempt. Of two processes only one writes the next ``number``.

    ``at`` is when it was done last, ``key`` what the worker was told about: a turn's end or the time of a stall.
    ``reminders`` count silence, ``restarts`` lost turns and ``stalls`` over the whole attempt, ``retries`` errors in a
    row. ``escaped`` says that devclaw has just ended a turn, ``announced`` what the group was told of last.
    """

    model_config = ConfigDict(extra="ignore")

    number: int = 0
    at: datetime | None = None
    key: str = ""
    reminders: int = 0
    restarts: int = 0
    retries: int = 0
    stalls: int = 0
    escaped: bool = False
    announced: str = ""


class Parked(Value):
    """An account whose usage limit is reached: its workers rest until then. ``words`` is what it said."""

    model_config = ConfigDict(extra="ignore")

    until: datetime
    words: str = ""
    account: str = ""
