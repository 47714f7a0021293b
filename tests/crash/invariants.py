"""What must hold after recovery, whatever happened; read from the outside world, not through devclaw's operations."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from devclaw_py.model.journal import Attempt, Intent
from devclaw_py.model.pipeline import Role, StateKind
from devclaw_py.model.task import Task
from devclaw_py.rules.labels import states_in
from devclaw_py.rules.workflow import ACTIVE, KIND


def broken(
    *,
    group: str,
    registry: Path,
    tasks: Iterable[Task],
    intents: list[Intent],
    attempts: list[Attempt],
    lines: list[dict[str, Any]],
    accepted: Iterable[tuple[str, str]],
    tools: Iterable[str],
) -> list[str]:
    """Return what does not hold in the group's project, in words; an empty list when all is well.

    ``accepted`` are the (session, offer) pairs that agents really took, by their own log. ``tools`` are the names
    whose audit lines count calls.
    """
    entries = json.loads(registry.read_text())["projects"] if registry.exists() else {}
    seats = [seat for seat in _seats(entries) if seat[0] == group]
    return [
        *_labels(list(tasks), intents, seats),
        *_fences(seats, attempts),
        *_audit(lines, set(tools)),
        *_acceptances(list(accepted), attempts),
    ]


def _seats(entries: dict[str, Any]) -> list[tuple[str, str, int, int | None]]:
    return [
        (group, role, int(entry[role]["issueId"]), entry[role].get("attempt"))
        for group, entry in entries.items()
        for role in ("dev", "qa")
        if entry[role]["active"]
    ]


def _labels(tasks: list[Task], intents: list[Intent], seats: list[tuple[str, str, int, int | None]]) -> list[str]:
    wrong = []
    kept = Counter(intent.issue for intent in intents)
    for task in tasks:
        states = states_in(task.labels)
        if len(states) != 1 and not (not states and kept[task.number]):
            wrong.append(f"#{task.number} has the state labels {states}")
        holders = [(role, issue) for _, role, issue, _ in seats if issue == task.number]
        active = [state for state in states if KIND[state] is StateKind.ACTIVE]
        if active and len(holders) + kept[task.number] != 1:
            wrong.append(f"#{task.number} is in {active[0]} and held by {holders} and {kept[task.number]} intents")
        for role, _ in holders:
            if active != [ACTIVE[Role(role)]]:
                wrong.append(f"#{task.number} is held by {role} and is in {states}")
        if task.closed and active:
            wrong.append(f"#{task.number} is closed in {active}")
    return wrong


def _fences(seats: list[tuple[str, str, int, int | None]], attempts: list[Attempt]) -> list[str]:
    wrong = []
    for group, role, issue, number in seats:
        newest = max((a.number for a in attempts if (a.group_id, a.issue) == (group, issue)), default=None)
        if number != newest:
            wrong.append(f"{role} holds #{issue} as attempt {number}, the newest is {newest}")
    return wrong


def _audit(lines: list[dict[str, Any]], tools: set[str]) -> list[str]:
    counts = Counter((line["op"], line["event"]) for line in lines if line["event"] in tools)
    return [f"operation {op} has {count} lines of {event}" for (op, event), count in counts.items() if count != 1]


def _acceptances(accepted: list[tuple[str, str]], attempts: list[Attempt]) -> list[str]:
    counts = Counter(accepted)
    wrong = [f"{session} accepted {offer} {count} times" for (session, offer), count in counts.items() if count > 1]
    void = {f"{attempt.issue}.{attempt.number}" for attempt in attempts if attempt.reason == "void"}
    return wrong + [f"{session} works on {offer}, which is void" for session, offer in counts if offer in void]
