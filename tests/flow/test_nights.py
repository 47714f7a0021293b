"""Whole nights of five projects with every kind of trouble: whatever happens, what must hold does.

CI plays 20 nights on fixed seeds and 10 on fresh ones, which are printed; DEVCLAW_CI_FULL=1 plays 1,000. A night that
broke is played again with `PYTHONPATH=. python -m tests.flow.test_nights SEED`.
"""

from __future__ import annotations

import os
import random
import sys
from typing import Any

import pytest

from devclaw_py.night.simulation.report import lines
from devclaw_py.night.simulation.run import simulate
from devclaw_py.night.simulation.script import FaultKind, Script, parse

FULL = bool(os.environ.get("DEVCLAW_CI_FULL"))
FIXED, FRESH = (900, 100) if FULL else (20, 10)
BATCH = 5


def night(seed: int) -> Script:
    """Return a night whose every setting is drawn from the seed."""
    drawn = random.Random(f"night {seed}")
    restless = {
        "silent": 0.1,
        "errors": 0.05,
        "stalls": 0.05,
        "dies": 0.08,
        "deaf": 0.08,
        "blocked": 0.04,
        "repeats": 0.3,
        "resumes": 0.5,
        "minutes": [1, 7],
    }
    tables: dict[str, Any] = {
        "night": {
            "seed": seed,
            "hours": 0.75,
            "tracker_s": drawn.choice([0.0, 0.5, 3, 8]),
            "heartbeat": drawn.choice(["lasting", "lasting", "timer"]),
            "chances": {kind: drawn.choice([0, 0, 2, 5]) for kind in FaultKind if kind is not FaultKind.USAGE_LIMIT},
            "chance_minutes": [1, 12],
        },
        "workers": {tier: restless for tier in ("junior", "medior", "senior", "qa")},
        "settings": {
            "limits": {"attempts": drawn.choice([2, 4]), "sessions": drawn.choice([3, 6, 12])},
            "timeouts": {"stall_min": 5},
        },
        "projects": [
            {
                "name": f"p{number}",
                "issues": drawn.randint(1, 2),
                "arrivals_per_hour": 0.5,
                "workers": {"dev": drawn.choice([1, 2, 3]), "qa": drawn.choice([1, 2])},
                "auto_chain": drawn.random() < 0.5,
                "role_execution": drawn.choice(["parallel", "parallel", "sequential"]),
                "swaps": drawn.random() < 0.3,
            }
            for number in range(5)
        ],
    }
    return parse(tables, f"night {seed}")


@pytest.mark.parametrize("first", range(0, FIXED, BATCH))
def test_what_must_hold_does_all_night(first: int) -> None:
    broken = {seed: simulate(night(seed)).broken for seed in range(first, first + BATCH)}

    assert {seed: found for seed, found in broken.items() if found} == {}


@pytest.mark.timeout(1800 if FULL else 300)
def test_what_must_hold_does_in_nights_nobody_has_seen(capsys: pytest.CaptureFixture[str]) -> None:
    first = random.SystemRandom().randrange(10**6, 10**9)
    with capsys.disabled():
        print(f"\nnights: from {first} on")

    broken = {seed: simulate(night(seed)).broken for seed in range(first, first + FRESH)}

    assert {seed: found for seed, found in broken.items() if found} == {}


if __name__ == "__main__":
    print("\n".join(lines(simulate(night(int(sys.argv[1]))))))
