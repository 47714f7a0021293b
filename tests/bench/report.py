"""What one run found, as it stands in docs/performance.json."""

from __future__ import annotations

from typing import Any

from tests.bench import claude, command, flow, forge, issues, machine, registry, sessions, ticks
from tests.bench.measure import Row, Scale, percentile

SOURCES = {
    "flow": flow.rows,
    "command": command.rows,
    "registry": registry.rows,
    "sessions": sessions.rows,
    "issues": issues.rows,
    "forge": forge.rows,
    "ticks": ticks.rows,
    "claude": claude.rows,
}

# What a source, or a part of one, cannot be measured without.
NEEDED = {"claude": ("claude", claude.program), "emulate": ("forge", forge.emulate), "gh": ("forge", forge.gh)}


def measured(scale: Scale, only: list[str]) -> dict[str, Any]:
    """Measure everything, or the sources in ``only``."""
    before, described = machine.load(), machine.described()
    rows = [row for name, source in SOURCES.items() if _wanted(name, only) for row in source(scale)]
    return {
        "skipped": [name for name, (source, found) in NEEDED.items() if _wanted(source, only) and found() is None],
        "machine": described,
        "load": {"before": before, "after": machine.load()},
        "rows": [_entry(row) for row in rows],
    }


def _wanted(source: str, only: list[str]) -> bool:
    return not only or source in only


def _entry(row: Row) -> dict[str, Any]:
    figures = _figures(row.values)
    return {
        "name": row.name,
        "what": row.what,
        "goal": {"ms": row.goal.ms, "on": row.goal.on} if row.goal else None,
        "met": figures[row.goal.on] <= row.goal.ms if row.goal else None,
        "n": len(row.values),
        **figures,
        "parts": {name: _figures(values) for name, values in row.parts.items()},
        "compared": {name: _figures(values) for name, values in row.compared.items()},
    }


def _figures(values: list[float]) -> dict[str, float]:
    return {"p50": round(percentile(values, 50), 2), "p95": round(percentile(values, 95), 2)}
