"""Every call of a real port, failing once before and once after its effect: git, local tracker, tmux."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace

import pytest

from devclaw_py import catalogue
from devclaw_py.model.caller import HUMAN
from tests.crash.meter import Meter
from tests.real.crash.conftest import GROUP, Yard
from tests.real.crash.judge import violations
from tests.real.crash.test_kills import CASES

# Each case makes ten to thirty calls, each of which fails twice in a yard of its own; CI takes the heaviest.
CHOSEN = list(CASES) if os.environ.get("DEVCLAW_CI_FULL") else ["pickup-dev"]


def act(yard: Yard, case: str, meter: Meter) -> None:
    """Make the case's call with hands that are watched."""
    app, given = yard.app(), CASES[case]
    meter.watch("terminal", app.sessions.terminal)
    meter.watch("work", app.work)
    open_tracker = app.open_tracker
    watched = replace(app, open_tracker=lambda project: meter.watch("tracker", open_tracker(project)))
    arguments = given.arguments if given.tool == "devclaw_setup" else {"projectGroupId": GROUP, **given.arguments}
    catalogue.call(watched, given.tool, arguments, HUMAN)


@pytest.mark.parametrize("case", CHOSEN)
@pytest.mark.parametrize("after", [False, True], ids=["before-acting", "after-acting"])
def test_a_real_port_call_that_fails_leaves_nothing_half_done(
    make_yard: Callable[[], Yard], case: str, after: bool
) -> None:
    counted, meter = make_yard(), Meter()
    counted.add_project(GROUP)
    CASES[case].before(counted)
    act(counted, case, meter)
    print(f"{case}: {len(meter.calls)} port calls")

    for number, name in enumerate(meter.calls):
        yard = make_yard()
        yard.add_project(GROUP)
        CASES[case].before(yard)
        act(yard, case, Meter(fails=number, after=after))
        yard.recover()
        if CASES[case].kind == "health":
            yard.call(CASES[case].tool, **CASES[case].arguments)
        yard.idle()

        assert violations(yard) == [], f"{name}, call {number}"
        assert yard.intents() == [], f"{name}, call {number}"
        yard.kill_server()
