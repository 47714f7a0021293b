"""Every call of a port, failing once before and once after its effect."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.errors import DevClawError, RepositoryError, SessionFailed, TrackerUnavailable
from tests.conftest import Office, make_office
from tests.crash.cases import CASES, recover, restarted, violations

ERRORS: dict[str, Callable[[str], DevClawError]] = {
    "tracker": TrackerUnavailable,
    "terminal": SessionFailed,
    "work": RepositoryError,
}


class Meter:
    """Counts the calls of an office's ports, and fails the ``fails``-th."""

    def __init__(self, office: Office, *, fails: int | None = None, after: bool = False) -> None:
        self.calls: list[str] = []
        self._fails, self._after = fails, after
        for port in ERRORS:
            target = getattr(office, port)
            for name in dir(type(target)):
                method = getattr(target, name)
                if not name.startswith("_") and callable(method) and _is_port_method(port, name):
                    setattr(target, name, self._metered(port, name, method))

    def _metered(self, port: str, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            number = len(self.calls)
            self.calls.append(f"{port}.{name}")
            fails = number == self._fails
            if fails and not self._after:
                raise ERRORS[port](f"{port}.{name} was cut off before it acted")
            result = method(*args, **kwargs)
            if fails:
                raise ERRORS[port](f"{port}.{name} was cut off after it acted")
            return result

        return call


def _is_port_method(port: str, name: str) -> bool:
    from devclaw_py.terminals.base import Terminal
    from devclaw_py.trackers.base import IssueProvider
    from devclaw_py.work.base import Work

    return name in dir({"tracker": IssueProvider, "terminal": Terminal, "work": Work}[port])


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("after", [False, True], ids=["before-acting", "after-acting"])
def test_a_port_call_that_fails_leaves_nothing_half_done(tmp_path: Path, case: str, after: bool) -> None:
    counted = make_office(tmp_path / "counted")
    CASES[case].before(counted)
    meter = Meter(counted)
    CASES[case].act(counted)

    for number, name in enumerate(meter.calls):
        office = make_office(tmp_path / str(number))
        CASES[case].before(office)
        Meter(office, fails=number, after=after)
        CASES[case].act(office)
        settled = restarted(office)
        recover(settled)

        assert violations(settled) == [], f"{name}, call {number}"
        assert settled.app.store.journal.intents() == [], f"{name}, call {number}"
