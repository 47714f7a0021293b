"""Counts the calls of the outside's ports and lets one of them fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from devclaw_py.errors import DevClawError, RepositoryError, SessionFailed, TrackerUnavailable
from devclaw_py.terminals.base import Terminal
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.requests import RequestProvider
from devclaw_py.work.base import Work

PORTS: dict[str, tuple[type, Callable[[str], DevClawError]]] = {
    "tracker": (IssueProvider, TrackerUnavailable),
    "terminal": (Terminal, SessionFailed),
    "work": (Work, RepositoryError),
    "requests": (RequestProvider, TrackerUnavailable),
}


class Meter:
    """Wraps the methods of adapters in place; the ``fails``-th call of all fails, before or after it has acted."""

    def __init__(self, *, fails: int | None = None, after: bool = False) -> None:
        self.calls: list[str] = []
        self._fails, self._after = fails, after

    def watch(self, port: str, adapter: object) -> Any:
        """Count an adapter's calls from now on, and return it."""
        for name in dir(PORTS[port][0]):
            if not name.startswith("_") and callable(getattr(adapter, name)):
                setattr(adapter, name, self._metered(port, name, getattr(adapter, name)))
        return adapter

    def _metered(self, port: str, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            number = len(self.calls)
            self.calls.append(f"{port}.{name}")
            fails, error = number == self._fails, PORTS[port][1]
            if fails and not self._after:
                raise error(f"{port}.{name} was cut off before it acted")
            result = method(*args, **kwargs)
            if fails:
                raise error(f"{port}.{name} was cut off after it acted")
            return result

        return call
