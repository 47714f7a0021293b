"""What a task cost: tokens by model, money, and the marks between which they are counted."""

from __future__ import annotations

from devclaw_py.model.base import Stored


class Meter(Stored):
    """Where an agent's own record of its usage stood at a moment.

    ``file`` is the record of ``conversation`` and ``size`` how many bytes of it there were at ``at``, in seconds since
    1970. ``last`` is the newest message that was counted. ``cost_usd`` is what the agent's process has spent since it
    began at ``process``; None where it does not say.
    """

    conversation: str
    file: str
    size: int
    at: float
    last: str = ""
    process: float = 0.0
    cost_usd: float | None = None


class Tokens(Stored):
    """Tokens as the API counts them: the four do not overlap."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_creation: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        """Return both together."""
        return Tokens(**{name: getattr(self, name) + getattr(other, name) for name in Tokens.model_fields})


class TaskUsage(Stored):
    """What an attempt used. ``models`` and ``cost_usd`` are None where that could not be read.

    ``estimated`` says that the cost is tokens by the table of prices, not what the agent told.
    ``until`` is how far the record was counted; the next task of the session begins there.
    """

    models: dict[str, Tokens] | None = None
    cost_usd: float | None = None
    estimated: bool = False
    until: Meter | None = None

    @property
    def total(self) -> Tokens | None:
        """The tokens of all models together."""
        return None if self.models is None else sum(self.models.values(), Tokens())


class Spending(Stored):
    """Sums over attempts that ended in a span of time.

    ``cost_usd`` adds up what is known: ``unpriced`` attempts have no cost, ``uncounted`` ones no tokens.
    """

    attempts: int = 0
    tokens: Tokens = Tokens()
    cost_usd: float = 0.0
    uncounted: int = 0
    unpriced: int = 0
