"""The simulator: one seed is one night, every kind of fault is played, and a broken devclaw is seen."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.agents.posting import Posting
from devclaw_py.errors import ConfigError
from devclaw_py.faces.cli.app import run as devclaw
from devclaw_py.kernel import proc
from devclaw_py.model.pipeline import State
from devclaw_py.night.simulation.report import Report, lines
from devclaw_py.night.simulation.run import simulate
from devclaw_py.night.simulation.script import LASTING, FaultKind, parse
from devclaw_py.night.simulation.trouble import Trouble
from devclaw_py.night.simulation.world import World
from devclaw_py.operations import health, pickup, registry
from devclaw_py.rules import schedule
from devclaw_py.state.journal import SqliteJournal

ROOT = Path(__file__).parents[2]
RELIABLE = {"success": 1, "blocked": 0, "silent": 0, "errors": 0, "stalls": 0, "dies": 0, "minutes": [3, 6]}


def tables(**more: Any) -> dict[str, Any]:
    return {
        "night": {"start": "21:00", "hours": 1.5, "seed": 3},
        "workers": {tier: RELIABLE for tier in ("junior", "medior", "senior", "qa")},
        "projects": [{"name": "shop", "issues": 6, "auto_chain": True}],
        **more,
    }


def played(**more: Any) -> Report:
    return simulate(parse(tables(**more), "a test"))


def night_with(folder: Path, *faults: dict[str, Any], **more: Any) -> World:
    """Play a night to its last moment and return what is left of it."""
    world = World(parse(tables(faults=list(faults), **more), "a test"), folder)
    Trouble(world).plan()
    world.clock.run_until(world.script.ends())
    return world


def at(clock: str) -> datetime:
    return datetime.fromisoformat(f"2026-03-01T{clock}:00+00:00")


def test_one_seed_is_one_night_to_the_byte_in_every_process(tmp_path: Path) -> None:
    night = tmp_path / "night.toml"
    night.write_text(
        '[night]\nhours = 2\n[night.chances]\nhuman_moves = 2\nworker_dies = 2\n[[projects]]\nname = "shop"\n'
    )
    argv = [sys.executable, "-m", "devclaw_py", "simulate", str(night), "--json"]
    told = [
        proc.run(
            argv, timeout_s=120, cwd=ROOT, env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONHASHSEED": seed}
        )
        for seed in ("1", "2")
    ]

    assert [done.code for done in told] == [0, 0], told[0].err
    assert told[0].out == told[1].out


def test_another_seed_is_another_night() -> None:
    first, second = (played(night={"hours": 1, "seed": seed}, workers={}) for seed in (1, 2))

    assert first.model_dump(exclude={"seed"}) != second.model_dump(exclude={"seed"})


def test_a_quiet_night_works_its_queue_off() -> None:
    report = played()

    assert (report.ok, report.done, report.attempts, report.diary) == (True, 6, 12, ())
    assert report.attempts_by_tier["qa"] == 6


def test_the_figures_of_a_report_belong_together() -> None:
    report = played(
        night={"hours": 3, "chances": {"human_moves": 2, "worker_dies": 2}},
        workers={"qa": {"usd": 0.5}},
        projects=[{"name": "shop", "arrivals_per_hour": 3}, {"name": "till", "issues": 2}],
    )

    assert report.issues == sum(line.issues for line in report.projects)
    assert report.done == sum(line.done for line in report.projects)
    assert report.attempts == sum(report.attempts_by_tier.values())
    assert report.usd > 0
    assert {wait.state for wait in report.waits} >= {State.TO_DO, State.DOING, State.TO_TEST, State.TESTING}
    assert f"{report.done} of {report.issues} issues done" in next(lines(report))


@pytest.mark.parametrize("kind", FaultKind)
def test_a_night_outlasts_every_kind_of_fault(kind: FaultKind) -> None:
    when = {"from": "21:10", "to": "21:40"} if kind in LASTING else {"at": "21:10"}
    again = {**when, "at": "21:25"} if kind not in LASTING else when
    killed = [{"kind": "devclaw_killed", "at": f"21:{minute}"} for minute in range(12, 20)]

    report = played(faults=[{"kind": kind, **when}, {"kind": kind, **again}, *killed])

    assert report.broken == ()
    assert report.done >= 3
    assert kind in (FaultKind.DEVCLAW_KILLED, FaultKind.HUMAN_REOPENS) or report.diary


@pytest.mark.parametrize("kind", ["tracker_down", "usage_limit", "human_pauses", "terminal_down", "heartbeat_dies"])
def test_nothing_is_given_out_while_it_cannot_be(tmp_path: Path, kind: str) -> None:
    chains = [{"name": "shop", "issues": 6}]
    world = night_with(tmp_path, {"kind": kind, "from": "21:12", "to": "22:00"}, projects=chains)
    given = [one.at for one in world.ledger.given]

    assert [time for time in given if at("21:20") < time < at("22:00")] == []
    assert any(time > at("22:00") for time in given)


def test_a_group_is_told_later_what_it_could_not_be_told(tmp_path: Path) -> None:
    world = night_with(tmp_path, {"kind": "notifier_down", "from": "21:02", "to": "22:00"})

    assert world.groups.heard
    assert max(world.groups.heard.values()) == 1
    assert world.store.journal.outbox() == []


def test_a_moved_issue_stays_where_a_person_put_it(tmp_path: Path) -> None:
    fault = {"kind": "human_moves", "at": "21:02", "issue": 1, "state": "Planning"}
    world = night_with(tmp_path, fault)

    assert State.PLANNING.value in world.trackers["-1001"].get(1).labels


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"nights": {}}, "nights: there is no such key"),
        ({"night": {"start": "9 pm"}}, "night.start"),
        ({"projects": []}, "projects"),
        ({"faults": [{"kind": "tracker_down", "at": "22:00"}]}, "tracker_down lasts: give it from and to"),
        ({"faults": [{"kind": "worker_dies", "at": "22:00", "project": "shpo"}]}, "there are shop"),
        ({"workers": {"qa": {"silent": 0.7, "dies": 0.7}}}, "together at most 1"),
        ({"settings": {"limits": {"attemps": 3}}}, "did you mean attempts?"),
    ],
    ids=["key", "time", "no-project", "lasting", "unknown-project", "shares", "setting"],
)
def test_what_no_night_has_is_refused_by_name(change: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told.replace("?", r"\?")):
        played(**change)


def test_the_command_prints_the_night_and_says_that_all_held(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    night = tmp_path / "night.toml"
    night.write_text('[night]\nhours = 1\n[[projects]]\nname = "shop"\nissues = 2\n')

    assert devclaw(["simulate", str(night), "--nights", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [found["seed"] for found in document["nights"]] == [1, 2]
    assert devclaw(["simulate", str(night)]) == 0
    assert "Everything held" in capsys.readouterr().out


def test_the_example_is_a_night(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert devclaw(["simulate", "--example"]) == 0
    night = tmp_path / "night.toml"
    night.write_text(capsys.readouterr().out)

    assert devclaw(["simulate", str(tmp_path / "absent.toml")]) == 4
    assert devclaw(["simulate", str(night), "--seed", "2"]) == 0


# --- a broken devclaw is seen ---

Break = Callable[[pytest.MonkeyPatch], None]


def without(kind: str, word: str) -> Break:
    """Let one step of an operation do nothing."""

    def broken(patch: pytest.MonkeyPatch) -> None:
        whole = registry.operation_of(kind)
        steps = tuple(
            replace(step, do=lambda app, intent: intent) if step.word == word else step for step in whole.steps
        )
        lame = replace(whole, steps=steps)
        patch.setitem(registry._BY_KIND, kind, lame)
        for module in (pickup, health):
            patch.setattr(module, kind.upper(), lame, raising=False)

    return broken


def nothing_mended(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(health, "diagnose", lambda snapshot: [])


def no_limit(patch: pytest.MonkeyPatch) -> None:
    for module, name in ((schedule, "dev_attempts"), (schedule, "tests_in_a_row"), (pickup, "dev_attempts")):
        patch.setattr(module, name, lambda attempts: 0)


def no_pause(patch: pytest.MonkeyPatch) -> None:
    for module in (schedule, pickup):
        patch.setattr(module, "held_back", lambda *facts: None)


def never_sent(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(SqliteJournal, "save_outbox", lambda journal, row: None)


def nobody_told(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Posting, "tell", lambda sessions, name, text: True)


@pytest.mark.parametrize(
    ("broken", "seen"),
    [
        (without("pickup", "take"), "and dev is free"),
        (without("pickup", "seat"), "nobody holds it"),
        (without("complete", "take"), "nobody holds it"),
        (without("complete", "put"), "has the state labels"),
        (without("complete", "seat"), "is held by"),
        (nothing_mended, "#1"),
        (no_limit, "the limit is 2"),
        (no_pause, "in a paused project"),
        (never_sent, "was sent 2 times"),
        (nobody_told, "at once"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_broken_devclaw_is_seen(monkeypatch: pytest.MonkeyPatch, broken: Break, seen: str) -> None:
    broken(monkeypatch)
    moved = [
        {"kind": "human_moves", "at": f"21:{minute}", "issue": 1, "state": "To Test"} for minute in ("05", "12", "19")
    ]
    pauses = [{"kind": "human_pauses", "from": "21:30", "to": "22:20"}]
    slow = {"success": 0, "minutes": [9, 12]}

    report = played(
        workers={"junior": slow, "medior": slow, "senior": slow, "qa": {**RELIABLE, "minutes": [9, 12]}},
        settings={"limits": {"attempts": 2}},
        faults=[*moved, *pauses],
        night={"hours": 3},
        projects=[{"name": "shop", "issues": 3, "workers": {"dev": 3, "qa": 3}}],
    )

    assert any(seen in found for found in report.broken), report.broken
