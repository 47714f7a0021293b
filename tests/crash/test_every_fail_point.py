"""Every fail point, killed in this process over fakes: what is left is settled by the next call.

The kill is a BaseException that nothing in devclaw catches; locks are freed as the kernel frees them. The same points
are reached by real SIGKILLs in tests/real.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from devclaw_py.kernel.faults import FailPoints
from devclaw_py.operations.registry import ALL, fail_points
from tests.conftest import make_office
from tests.crash.cases import CASES, Killed, kill, restarted, violations

POINTS = [(name, point) for name, case in CASES.items() for point in fail_points() if point.startswith(f"{case.kind}.")]


@pytest.mark.parametrize("swaps", [False, True], ids=["take-and-put", "swap"])
@pytest.mark.parametrize(("case", "point"), POINTS)
def test_a_kill_at_any_point_is_settled_by_the_next_process(tmp_path: Path, case: str, point: str, swaps: bool) -> None:
    office = make_office(tmp_path, swaps=swaps)
    CASES[case].before(office)
    armed = replace(office, app=replace(office.app, faults=FailPoints(point, kill)))

    with pytest.raises(Killed):
        CASES[case].act(armed)
    after = restarted(office)
    CASES[case].settle(after)

    assert violations(after) == []
    assert after.app.store.journal.intents() == []
    assert after.app.store.journal.queued_lines() == []


@pytest.mark.parametrize("swaps", [False, True], ids=["take-and-put", "swap"])
@pytest.mark.parametrize(("case", "point"), POINTS)
def test_an_error_at_any_point_leaves_nothing_half_done(tmp_path: Path, case: str, point: str, swaps: bool) -> None:
    office = make_office(tmp_path, swaps=swaps)
    CASES[case].before(office)

    def fail() -> None:
        raise ConnectionError("the machine had a bad moment")

    armed = replace(office, app=replace(office.app, faults=FailPoints(point, fail)))

    CASES[case].act(armed)
    after = restarted(office)
    CASES[case].settle(after)

    assert violations(after) == []
    assert after.app.store.journal.intents() == []


def test_every_operation_has_a_case() -> None:
    assert {operation.kind for operation in ALL} == {case.kind for case in CASES.values()}
