"""Every call of a port, failing once before and once after its effect, over fakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import Office, make_office
from tests.crash.cases import CASES, restarted, violations
from tests.crash.meter import Meter

# A tracker that swaps differs in the moves alone.
SWAPPED = ("pickup-dev", "pass", "fail", "update")


def watched(office: Office, meter: Meter) -> Meter:
    for port, adapter in office.ports().items():
        meter.watch(port, adapter)
    return meter


@pytest.mark.parametrize(("case", "swaps"), [*((case, False) for case in CASES), *((case, True) for case in SWAPPED)])
@pytest.mark.parametrize("after", [False, True], ids=["before-acting", "after-acting"])
def test_a_port_call_that_fails_leaves_nothing_half_done(tmp_path: Path, case: str, after: bool, swaps: bool) -> None:
    counted = make_office(tmp_path / "counted", swaps=swaps)
    CASES[case].before(counted)
    meter = watched(counted, Meter())
    CASES[case].act(counted)

    for number, name in enumerate(meter.calls):
        office = make_office(tmp_path / str(number), swaps=swaps)
        CASES[case].before(office)
        watched(office, Meter(fails=number, after=after))
        CASES[case].act(office)
        settled = restarted(office)
        CASES[case].settle(settled)

        assert violations(settled) == [], f"{name}, call {number}"
        assert settled.app.store.journal.intents() == [], f"{name}, call {number}"
