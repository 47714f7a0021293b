"""The demo's board, read from the project as it stands."""

from __future__ import annotations

from devclaw_py.agents.look import LookStatus
from devclaw_py.demo import board
from tests.conftest import Office


def test_workers_are_unknown_when_the_terminal_does_not_answer(office: Office) -> None:
    office.doing()
    office.flaky_terminal().fail(1, after_acting=False)

    workers = board.look(office.app).workers

    assert [worker.status for worker in workers] == [LookStatus.UNKNOWN]
