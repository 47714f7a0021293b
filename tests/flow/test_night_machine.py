"""Tools, heartbeat, faults and people in any order: what must hold does, after every step and at dawn.

`derandomize` makes the examples of every run the same; one further run begins at a fresh seed, which is printed.
"""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from devclaw_py.model.pipeline import State
from devclaw_py.night.simulation import script
from devclaw_py.night.simulation.script import FaultKind
from devclaw_py.night.simulation.trouble import Trouble
from devclaw_py.night.simulation.world import World

FULL = bool(os.environ.get("DEVCLAW_CI_FULL"))
EXAMPLES, STEPS = (150, 50) if FULL else (12, 30)
LIMIT_S = 3600 if FULL else 300
GROUPS = ("-1001", "-1002")
TIERS = ("junior", "medior", "senior", "qa")
# Workers of whom many do not do what they should, quickly.
RESTLESS = {
    "silent": 0.15,
    "errors": 0.05,
    "stalls": 0.05,
    "dies": 0.1,
    "deaf": 0.1,
    "blocked": 0.05,
    "repeats": 0.4,
    "resumes": 0.5,
    "minutes": [1, 6],
}
PEOPLE = (FaultKind.HUMAN_MOVES, FaultKind.HUMAN_CLOSES, FaultKind.HUMAN_REOPENS, FaultKind.HUMAN_MUDDLES)
DEATHS = (FaultKind.WORKER_DIES, FaultKind.ALL_WORKERS_DIE, FaultKind.DEVCLAW_KILLED)
OUTAGES = (FaultKind.TRACKER_DOWN, FaultKind.TERMINAL_DOWN, FaultKind.NOTIFIER_DOWN, FaultKind.HUMAN_PAUSES)

groups = st.sampled_from(GROUPS)
issues = st.integers(1, 4)
roles = st.sampled_from(["dev", "qa"])


class Night(RuleBasedStateMachine):
    """Two projects; every step is somebody's deed, and time passes when a step says so."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="devclaw-machine-")

    @initialize(
        number=st.integers(0, 9999),
        workers=st.integers(1, 2),
        chains=st.booleans(),
        sequential=st.booleans(),
        swaps=st.booleans(),
        tracker_s=st.sampled_from([0.0, 1.0, 6.0]),
    )
    def begin(self, number: int, workers: int, chains: bool, sequential: bool, swaps: bool, tracker_s: float) -> None:
        night = {"seed": number, "hours": 100, "tracker_s": tracker_s}
        shape = {"issues": 2, "workers": {"dev": workers, "qa": 1}, "auto_chain": chains, "swaps": swaps}
        how = {"role_execution": "sequential" if sequential else "parallel"}
        tables = {
            "night": night,
            "workers": dict.fromkeys(TIERS, RESTLESS),
            "settings": {"limits": {"attempts": 2, "sessions": 3}, "timeouts": {"stall_min": 5}},
            "projects": [{"name": "shop", **shape, **how}, {"name": "till", **shape}],
        }
        self.world = World(script.parse(tables, "the machine"), Path(self.folder).resolve())
        self.trouble = Trouble(self.world)

    @rule(minutes=st.sampled_from([0.2, 1, 5, 20]))
    def time_passes(self, minutes: float) -> None:
        self.world.clock.run_until(self.world.clock.now() + timedelta(minutes=minutes))

    @rule(kind=st.sampled_from(PEOPLE), group=groups)
    def somebody_touches_an_issue(self, kind: FaultKind, group: str) -> None:
        self.trouble.do(kind, group)

    @rule(kind=st.sampled_from(DEATHS), group=groups)
    def something_dies(self, kind: FaultKind, group: str) -> None:
        self.trouble.do(kind, group)

    @rule(kind=st.sampled_from(OUTAGES), group=groups)
    def an_outage_begins(self, kind: FaultKind, group: str) -> None:
        self.trouble.do(kind, group)

    @rule(kind=st.sampled_from(OUTAGES), group=groups)
    def an_outage_ends(self, kind: FaultKind, group: str) -> None:
        self.trouble.undo(kind, group)

    @rule(group=groups)
    def somebody_writes_an_issue(self, group: str) -> None:
        self.call("task_create", group, title="Another", description="x", label="To Do")

    @rule(group=groups, issue=issues, role=roles)
    def somebody_picks_up(self, group: str, issue: int, role: str) -> None:
        self.world.ledger.by_hand[group, issue] += 1
        self.call("task_pickup", group, issueId=issue, role=role)

    @rule(group=groups, issue=issues, state=st.sampled_from(State))
    def somebody_moves_by_the_tool(self, group: str, issue: int, state: State) -> None:
        self.call("task_update", group, issueId=issue, state=state.value)

    @rule(group=groups, issue=issues)
    def somebody_comments(self, group: str, issue: int) -> None:
        self.call("task_comment", group, issueId=issue, body="Mind the gap.")

    @rule(group=groups, role=roles)
    def somebody_tells_a_worker_something(self, group: str, role: str) -> None:
        self.call("session_send", group, role=role, text="Well done.")

    @rule(group=groups)
    def somebody_asks_for_health(self, group: str) -> None:
        self.call("session_health", group, autoFix=True)

    @invariant()
    def everything_holds(self) -> None:
        if hasattr(self, "world"):
            self.world.watch.after("step")
            assert self.world.ledger.broken == []

    def call(self, tool: str, group: str, **arguments: Any) -> None:
        self.world.process("a person", lambda: self.world.call(tool, {"projectGroupId": group, **arguments}))

    def teardown(self) -> None:
        try:
            if hasattr(self, "world"):
                self.trouble.over()
                self.world.clock.run_until(self.world.clock.now() + timedelta(minutes=30))
                self.world.watch.dawn()
                assert self.world.ledger.broken == []
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)


SHAPE = settings(
    max_examples=EXAMPLES,
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    print_blob=True,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.timeout(LIMIT_S)
def test_what_must_hold_does_whoever_does_what() -> None:
    run_state_machine_as_test(Night, settings=settings(SHAPE, derandomize=True))


@pytest.mark.timeout(LIMIT_S)
def test_what_must_hold_does_from_a_fresh_seed_on(capsys: pytest.CaptureFixture[str]) -> None:
    number = random.SystemRandom().randrange(2**32)
    with capsys.disabled():
        print(f"\nnight machine: seed {number}")
    run_state_machine_as_test(seed(number)(Night), settings=SHAPE)
