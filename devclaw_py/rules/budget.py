"""Whether there is money left: limits against sums, and what tokens cost."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, time, timedelta

from devclaw_py.model.budget import Limit, Reached, Scope, Sum, Unit
from devclaw_py.model.pipeline import Tier
from devclaw_py.model.settings import BudgetSettings, Price
from devclaw_py.model.usage import Spending, TaskUsage, Tokens

# US dollars for a million tokens, by the beginning of the model's name. [budget.prices] comes before these.
PRICES = {
    "claude-haiku-4-5": Price(input=1, output=5),
    "claude-sonnet-4": Price(input=3, output=15),
    "claude-opus-4-5": Price(input=5, output=25),
    "claude-opus-4": Price(input=15, output=75),
}
MILLION = 1_000_000


def limits(settings: BudgetSettings, overrides: Mapping[str, float], tier: Tier) -> list[Limit]:
    """Return the limits that a worker of ``tier`` works under; ``overrides`` are the project's, 0 is no limit."""
    found = []
    for scope in (Scope.TASK, Scope.PROJECT, Scope.TIER, Scope.DAY):
        for unit in Unit:
            most = _most(settings, overrides, scope, unit, tier)
            if most > 0:
                found.append(Limit(scope=scope, unit=unit, most=most))
    return found


def _most(settings: BudgetSettings, overrides: Mapping[str, float], scope: Scope, unit: Unit, tier: Tier) -> float:
    if scope is Scope.TIER:
        by_tier = settings.tier_tokens if unit is Unit.TOKENS else settings.tier_usd
        return by_tier.get(tier, 0)
    set_to: float = getattr(settings, f"{scope}_{unit}")
    return overrides.get(f"{scope}{unit.capitalize()}", set_to)


def reached(found: Iterable[Limit], spent: Callable[[Scope], Sum], about: Mapping[Scope, str]) -> Reached | None:
    """Return the first limit of which nothing is left; ``spent`` is asked only for what has a limit."""
    for limit in found:
        so_far = spent(limit.scope).of(limit.unit)
        if so_far >= limit.most:
            return Reached(limit=limit, spent=so_far, about=about.get(limit.scope, ""))
    return None


def words(found: Reached) -> str:
    """Return what was spent of what, for people.

    >>> words(Reached(limit=Limit(scope=Scope.TASK, unit=Unit.USD, most=5), spent=5.123, about="#4"))
    'the budget of #4 is used up: $5.12 of $5.00'
    """
    whose = {
        Scope.TASK: found.about,
        Scope.PROJECT: "the project for this day",
        Scope.TIER: f"{found.about} workers for this day",
        Scope.DAY: "all projects for this day",
    }[found.limit.scope]
    return f"the budget of {whose} is used up: {amount(found.spent, found.limit.unit)} of " + amount(
        found.limit.most, found.limit.unit
    )


def amount(count: float, unit: Unit) -> str:
    """Return a figure with its unit."""
    return f"${count:,.2f}" if unit is Unit.USD else f"{count:,.0f} tokens"


def to_raise(found: Reached, group_id: str) -> str:
    """Return what a person does to have more spent."""
    scope, unit = found.limit.scope, found.limit.unit
    if scope in (Scope.TASK, Scope.PROJECT):
        flag = f"{scope}{unit.capitalize()}={found.limit.most * 2:g}"
        return f"devclaw project-update --project-group-id {group_id} --budget {flag}"
    return f"[budget] {scope}_{unit} in devclaw.toml, then start the heartbeat again"


def day_of(now: datetime, begins_h: int) -> datetime:
    """Return when the day of ``now`` began, in the machine's own time zone; a day begins at ``begins_h`` o'clock."""
    local = now.astimezone()
    date = local.date() if local.hour >= begins_h else local.date() - timedelta(days=1)
    # Without a zone and then the machine's: the offset of that date counts, not today's.
    return datetime.combine(date, time(begins_h)).astimezone()


def total(tokens: Tokens) -> int:
    """Return all tokens, those read from the cache among them: nothing that is spent goes uncounted."""
    return tokens.input + tokens.output + tokens.cache_read + tokens.cache_creation


def of_spending(spending: Spending) -> Sum:
    """Return the sums of attempts that have ended."""
    return Sum(tokens=total(spending.tokens), usd=spending.cost_usd)


def of_usage(usage: TaskUsage) -> Sum:
    """Return what one attempt has used."""
    return Sum(tokens=total(usage.total) if usage.total else 0, usd=usage.cost_usd or 0.0)


def priced(usage: TaskUsage, prices: Mapping[str, Price]) -> TaskUsage:
    """Return the usage with what it costs by the table of prices, where the agent tells no cost itself."""
    if usage.cost_usd is not None or usage.models is None:
        return usage
    costs = [_cost(tokens, price_of(model, prices)) for model, tokens in usage.models.items()]
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        return usage
    return usage.model_copy(update={"cost_usd": round(sum(known), 6), "estimated": True})


def price_of(model: str, prices: Mapping[str, Price]) -> Price | None:
    """Return the price under the longest name that the model's name begins with."""
    known = {**PRICES, **prices}
    name = model.rpartition("/")[2]
    return next((known[key] for key in sorted(known, key=len, reverse=True) if name.startswith(key)), None)


def _cost(tokens: Tokens, price: Price | None) -> float | None:
    if price is None:
        return None
    read = price.input / 10 if price.cache_read is None else price.cache_read
    written = price.input * 1.25 if price.cache_creation is None else price.cache_creation
    parts = (
        tokens.input * price.input,
        tokens.output * price.output,
        tokens.cache_read * read,
        tokens.cache_creation * written,
    )
    return sum(parts) / MILLION
