"""The crash suite must be able to fail: a wrong order of steps turns it red."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from devclaw_py.kernel.faults import FailPoints
from devclaw_py.operations import pickup, registry
from devclaw_py.operations.pickup_steps import PICKUP
from devclaw_py.operations.steps import Operation, Step
from tests.conftest import make_office
from tests.crash.cases import CASES, Killed, kill, restarted, violations


def _offer_before_the_seat() -> Operation:
    """The message goes out before the seat is taken, and only the last row counts as the commit point."""
    words = ("desk", "session", "worktree", "take", "put", "offer", "seat", "accept")
    by_word = {step.word: step for step in PICKUP.steps}
    steps = tuple(replace(by_word[word], row=row) for row, word in enumerate(words, 2))
    return replace(PICKUP, steps=steps, committed=lambda app, intent: intent.phase >= 9)


def _seat_never_freed() -> Operation:
    """The seat's row has no undo."""
    steps = tuple(replace(step, undo=None) if step.word == "seat" else step for step in PICKUP.steps)
    return replace(PICKUP, steps=steps)


def _point(operation: Operation, word: str) -> str:
    step: Step = next(step for step in operation.steps if step.word == word)
    return operation.point(step)


@pytest.mark.parametrize(
    ("broken", "word"), [(_offer_before_the_seat(), "seat"), (_seat_never_freed(), "seat")], ids=["order", "undo"]
)
def test_a_broken_operation_violates_an_invariant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: Operation, word: str
) -> None:
    monkeypatch.setattr(pickup, "PICKUP", broken)
    monkeypatch.setitem(registry._BY_KIND, "pickup", broken)
    office = make_office(tmp_path)
    CASES["pickup-dev"].before(office)

    with pytest.raises(Killed):
        CASES["pickup-dev"].act(replace(office, app=replace(office.app, faults=FailPoints(_point(broken, word), kill))))
    after = restarted(office)
    CASES["pickup-dev"].settle(after)

    assert violations(after) != []
