"""Older forms of a registry entry."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.rules.migrations import empty, migrate, migrate_entry, outdated

PRESENT: dict[str, Any] = {"name": "a", "repo": "/a", "autoChain": True, "dev": empty("dev"), "qa": empty("qa")}


def with_dev(**seat: Any) -> dict[str, Any]:
    return {**PRESENT, "dev": seat}


OLDER = [
    {key: value for key, value in PRESENT.items() if key != "autoChain"},
    {key: value for key, value in PRESENT.items() if key != "qa"},
    with_dev(active=False, issueId=None),
    with_dev(active=False, sessionId="k", model="opus"),
    with_dev(active=False, sessions={"haiku": "k"}),
    with_dev(active=False, sessions={}, model="sonnet"),
    {"name": "a", "repo": "/a", "workers": {"developer": {"levels": {"mid": ["?", {"sessionKey": "k"}]}}}},
]


@pytest.mark.parametrize("entry", OLDER)
def test_a_migrated_entry_is_no_longer_outdated(entry: dict[str, Any]) -> None:
    assert outdated(entry)
    assert not outdated(migrate_entry(entry))


def test_the_present_form_is_left_alone() -> None:
    projects = {"-1": PRESENT}
    assert migrate(projects)["-1"] is PRESENT


@pytest.mark.parametrize("workers", [{"dev": "three"}, {"dev": 2, "boss": "x"}, {"dev": 1.5}])
def test_a_wrong_number_of_workers_is_left_for_the_registry_to_refuse(workers: dict[str, Any]) -> None:
    entry = {**PRESENT, "workers": workers}
    assert migrate({"-1": entry})["-1"]["workers"] == workers


@pytest.mark.parametrize(
    ("alias", "tier"), [("haiku", "junior"), ("sonnet", "medior"), ("opus", "senior"), ("grok", "qa")]
)
def test_aliases_become_tiers_in_model_and_sessions(alias: str, tier: str) -> None:
    seat = migrate_entry(with_dev(model=alias, sessions={alias: "k"}))["dev"]
    assert (seat["model"], seat["sessions"][tier]) == (tier, "k")
    assert alias not in seat["sessions"]


def test_an_alias_does_not_displace_the_tiers_own_session() -> None:
    sessions = migrate_entry(with_dev(sessions={"medior": "new", "sonnet": None}))["dev"]["sessions"]
    assert sessions["medior"] == "new"


@pytest.mark.parametrize(("model", "tier"), [("opus", "senior"), (None, "medior")])
def test_a_lone_session_goes_to_its_tier(model: str | None, tier: str) -> None:
    assert migrate_entry(with_dev(sessionId="k", model=model))["dev"]["sessions"][tier] == "k"


def test_further_busy_slots_become_further_seats() -> None:
    slots = [{"active": True, "issueId": str(number), "sessionKey": f"k{number}"} for number in (1, 2)]
    entry = migrate_entry({"name": "a", "repo": "/a", "workers": {"developer": {"levels": {"junior": slots}}}})
    assert (entry["dev"]["issueId"], [seat["issueId"] for seat in entry["devWorkers"]]) == ("1", ["2"])


def test_two_projects_of_one_channel_both_stay() -> None:
    entry = {"name": "a", "repo": "/a", "workers": {}, "channels": [{"groupId": -5}]}
    assert list(migrate({"a": entry, "b": entry})) == ["-5", "b"]
