"""What devclaw allows itself at GitHub, over all processes of a workspace; time is the test's."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from devclaw_py.errors import RateLimited, TrackerAuth
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.trackers.forge.budget import Budget, Pace, Spend

KEY = "0123456789abcdef"
MINE = "aaaaaaaa"


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def budget(tmp_path: Path, clock: VirtualClock) -> Budget:
    return make(tmp_path, clock)


def make(folder: Path, clock: VirtualClock, *, key: str = KEY) -> Budget:
    return Budget(folder, key, where="GitHub", clock=clock, pace=Pace())


def spend(budget: Budget, count: int, kind: Spend = Spend.BEGIN) -> None:
    for _ in range(count):
        budget.admit(kind, MINE)


def test_sixty_writes_fit_into_a_minute_and_the_next_is_told_when(budget: Budget, clock: VirtualClock) -> None:
    spend(budget, 60, Spend.FINISH)

    with pytest.raises(RateLimited) as raised:
        budget.admit(Spend.FINISH, MINE)

    assert raised.value.retry_at == clock.now() + timedelta(minutes=1)


def test_what_is_begun_leaves_room_for_its_end(budget: Budget) -> None:
    spend(budget, 50)

    with pytest.raises(RateLimited):
        budget.admit(Spend.BEGIN, MINE)
    spend(budget, 10, Spend.FINISH)


def test_a_minute_later_there_is_room_again(budget: Budget, clock: VirtualClock) -> None:
    spend(budget, 50)
    clock.sleep(61)

    spend(budget, 50)


def test_450_writes_fit_into_an_hour(budget: Budget, clock: VirtualClock) -> None:
    for _ in range(9):
        spend(budget, 50, Spend.FINISH)
        clock.sleep(61)

    with pytest.raises(RateLimited, match="60 min"):
        budget.admit(Spend.FINISH, MINE)
    assert budget.left() == (60, 0)


def test_reads_cost_nothing_of_it(budget: Budget) -> None:
    spend(budget, 50)

    spend(budget, 100, Spend.READ)


def test_processes_share_the_budget_of_an_account(tmp_path: Path, clock: VirtualClock) -> None:
    spend(make(tmp_path, clock), 60, Spend.FINISH)

    with pytest.raises(RateLimited):
        make(tmp_path, clock).admit(Spend.FINISH, MINE)
    make(tmp_path, clock, key="fedcba9876543210").admit(Spend.FINISH, MINE)


def test_a_pause_holds_for_every_process_and_for_reads(tmp_path: Path, clock: VirtualClock) -> None:
    until = clock.now() + timedelta(minutes=50)
    make(tmp_path, clock).pause(until, "API rate limit exceeded")

    with pytest.raises(RateLimited, match="API rate limit exceeded") as raised:
        make(tmp_path, clock).admit(Spend.READ, MINE)

    assert raised.value.retry_at == until


def test_a_pause_ends(budget: Budget, clock: VirtualClock) -> None:
    budget.pause(clock.now() + timedelta(minutes=1), "later")
    clock.sleep(61)

    budget.admit(Spend.READ, MINE)


def test_pauses_without_a_time_double_up_to_a_quarter_of_an_hour(budget: Budget, clock: VirtualClock) -> None:
    lengths = []
    for _ in range(7):
        lengths.append(budget.next_pause_s())
        budget.pause(clock.now() + timedelta(seconds=lengths[-1]), "secondary rate limit")
        clock.sleep(lengths[-1] + 1)

    assert lengths == [60, 120, 240, 480, 960, 960, 960]


def test_after_a_quiet_time_a_pause_is_short_again(budget: Budget, clock: VirtualClock) -> None:
    budget.pause(clock.now() + timedelta(seconds=480), "secondary rate limit")
    clock.sleep(480 + 16 * 60)

    assert budget.next_pause_s() == 60


def test_a_refused_token_is_not_shown_for_ten_minutes(budget: Budget, clock: VirtualClock) -> None:
    budget.refuse(MINE)

    with pytest.raises(TrackerAuth, match=MINE):
        budget.admit(Spend.READ, MINE)
    budget.admit(Spend.READ, "bbbbbbbb")
    clock.sleep(601)
    budget.admit(Spend.READ, MINE)


def test_a_torn_file_is_an_empty_budget(budget: Budget, tmp_path: Path) -> None:
    spend(budget, 60, Spend.FINISH)
    (tmp_path / f"budget-{KEY}.json").write_text('{"writes": ["2026')

    spend(budget, 60, Spend.FINISH)


def test_an_hour_carries_at_least_thirty_tasks(budget: Budget, clock: VirtualClock) -> None:
    begin, finish = Spend.BEGIN, Spend.FINISH
    pickup, done = [begin, finish], [begin, begin, finish, finish]
    task = [*pickup, *done, *pickup, begin, finish, finish, finish, finish]
    began, ended = clock.now(), []
    while clock.now() < began + timedelta(hours=2):
        for kind in task:
            spend_in_time(budget, clock, kind)
        ended.append(clock.now())

    assert len(task) == 13
    assert 400 // 13 <= sum(at >= began + timedelta(hours=1) for at in ended) <= 450 // 13


def spend_in_time(budget: Budget, clock: VirtualClock, kind: Spend) -> None:
    """Spend one as soon as there is room."""
    while True:
        try:
            return spend(budget, 1, kind)
        except RateLimited as limited:
            clock.sleep(max((limited.retry_at - clock.now()).total_seconds(), 0.001))
