"""Limits against sums, days, and what tokens cost."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devclaw_py.errors import ConfigError
from devclaw_py.kernel.config import load
from devclaw_py.model.budget import Scope, Sum, Unit
from devclaw_py.model.pipeline import Tier
from devclaw_py.model.settings import BudgetSettings, Price
from devclaw_py.model.usage import TaskUsage, Tokens
from devclaw_py.rules.budget import day_of, limits, priced, reached, words

MILLION = 1_000_000


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine in Berlin."""
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


def test_without_settings_nothing_is_limited() -> None:
    assert not BudgetSettings().limited
    assert limits(BudgetSettings(), {}, Tier.SENIOR) == []


def test_a_projects_own_limit_comes_before_the_setting_and_0_takes_it_away() -> None:
    settings = BudgetSettings(task_usd=5, project_usd=20)

    found = limits(settings, {"taskUsd": 7, "projectUsd": 0}, Tier.SENIOR)

    assert [(limit.scope, limit.unit, limit.most) for limit in found] == [(Scope.TASK, Unit.USD, 7)]


def test_a_tiers_limit_is_for_that_tier_alone() -> None:
    settings = BudgetSettings(tier_usd={Tier.SENIOR: 3})

    assert limits(settings, {}, Tier.JUNIOR) == []
    assert [limit.scope for limit in limits(settings, {}, Tier.SENIOR)] == [Scope.TIER]


@pytest.mark.parametrize(("usd", "over"), [(4.99, False), (5.0, True), (9.0, True)])
def test_a_limit_is_reached_when_nothing_of_it_is_left(usd: float, over: bool) -> None:
    found = limits(BudgetSettings(task_usd=5), {}, Tier.JUNIOR)

    assert (reached(found, lambda _: Sum(usd=usd), {}) is not None) is over


def test_the_words_name_the_task_and_both_figures() -> None:
    found = limits(BudgetSettings(task_tokens=1000), {}, Tier.JUNIOR)

    over = reached(found, lambda _: Sum(tokens=1234), {Scope.TASK: "#4"})

    assert over is not None
    assert words(over) == "the budget of #4 is used up: 1,234 tokens of 1,000 tokens"


@pytest.mark.usefixtures("berlin")
@pytest.mark.parametrize(
    ("now", "begins_h", "began"),
    [
        ("2026-07-01T21:59", 0, "2026-06-30T22:00"),
        ("2026-07-01T22:01", 0, "2026-07-01T22:00"),
        ("2026-07-02T03:00", 12, "2026-07-01T10:00"),
        ("2026-03-29T10:00", 0, "2026-03-28T23:00"),
    ],
    ids=["before-midnight", "after-midnight", "a-night-is-one-day", "clocks-went-forward-in-between"],
)
def test_a_day_begins_at_the_hour_of_the_machines_own_time(now: str, begins_h: int, began: str) -> None:
    found = day_of(datetime.fromisoformat(f"{now}+00:00"), begins_h)

    assert found.astimezone(UTC) == datetime.fromisoformat(f"{began}+00:00")


def test_what_has_no_cost_is_priced_by_the_table_and_says_so() -> None:
    tokens = Tokens(input=MILLION, output=MILLION, cache_read=MILLION, cache_creation=MILLION)

    found = priced(TaskUsage(models={"claude-sonnet-4-5-20250929": tokens}), {})

    assert (found.cost_usd, found.estimated) == (3 + 15 + 0.3 + 3.75, True)


def test_a_price_in_the_settings_comes_first() -> None:
    usage = TaskUsage(models={"claude-opus-4-5-20251101": Tokens(output=MILLION)})

    assert priced(usage, {"claude-opus-4-5": Price(input=1, output=2)}).cost_usd == 2


def test_what_the_agent_tells_is_not_priced_again() -> None:
    usage = TaskUsage(models={"claude-opus-4-5": Tokens(output=MILLION)}, cost_usd=0.5)

    assert priced(usage, {}) == usage


def test_a_model_without_a_price_leaves_the_cost_unknown() -> None:
    usage = TaskUsage(models={"claude-opus-4-5": Tokens(output=1), "unheard-of": Tokens(output=1)})

    assert priced(usage, {}).cost_usd is None


def test_prices_and_tiers_are_tables_of_the_file(tmp_path: Path) -> None:
    folder = tmp_path
    text = "[budget]\ntier_usd = {senior = 20}\n\n[budget.prices.claude-x]\ninput = 2\noutput = 9\n"
    (folder / "devclaw.toml").write_text(text)

    found = load(folder, {}).settings.budget

    assert found.tier_usd == {Tier.SENIOR: 20}
    assert found.prices == {"claude-x": Price(input=2, output=9)}


def test_a_wrong_price_is_refused_with_its_line(tmp_path: Path) -> None:
    folder = tmp_path
    (folder / "devclaw.toml").write_text("[budget]\n\n[budget.prices.claude-x]\ninput = -2\noutput = 9\n")

    with pytest.raises(ConfigError, match=r"devclaw.toml:3: budget.prices"):
        load(folder, {})
