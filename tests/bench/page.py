"""docs/performance.md, written from docs/performance.json and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

HEAD = """\
# Performance

Written by `python -m tests.bench` from [performance.json](performance.json); do not edit. Figures are milliseconds of
wall time, but where a row says MB or a count. p50 and p95 are taken over the n measurements of one run, each compared
with what was measured beside it in that run.
"""
MISSING = """
## Not measured yet

No quota on GitHub when nothing changed, and two requests a label move: counted by tests of the adapter, not here.
The rows on GitHub, `forge_*`, need the emulated one (`DEVCLAW_EMULATE_BIN`). Beside them stands what a `gh` process for
each request takes (`DEVCLAW_GH_BIN`, or the one of the machine). It is `gh api` with the very requests of devclaw: the
emulated GitHub has no GraphQL, which `gh issue edit` and `gh issue view` speak. gh 2.23 makes four requests of one `gh
issue edit` where devclaw makes two."""
SKIPPED = """
Not measured in this run, for want of the program: {}."""


def rendered(report: Mapping[str, Any]) -> str:
    """Return the page."""
    skipped = [SKIPPED.format(", ".join(report["skipped"]))] if report.get("skipped") else []
    page = [HEAD, *_machine(report), "", *_table(report["rows"]), *_details(report["rows"]), MISSING, *skipped]
    return "\n".join(page) + "\n"


def _machine(report: Mapping[str, Any]) -> Iterator[str]:
    at = report["machine"]
    yield f"* commit `{at['commit']}`, measured {at['date']}"
    yield f"* {at['processors']} × {at['processor']}, {at['system']}"
    yield f"* Python {at['python']}, git {at['git']}, tmux {at['tmux']}"
    before, after = report["load"]["before"], report["load"]["after"]
    yield f"* load average of the last minute: {before:g} before, {after:g} after; the bench itself makes about 1 of it"
    if max(before, after - 1) > at["processors"]:
        yield "* other work kept the processors busy during this run: the figures are higher than on an idle machine"


def _table(rows: list[dict[str, Any]]) -> Iterator[str]:
    yield "| what | goal | n | p50 | p95 | met |"
    yield "|---|---|---|---|---|---|"
    for row in rows:
        goal = row["goal"]
        wanted = f"{goal['on']} ≤ {_ms(goal['ms'])}" if goal else "for information"
        met = "" if goal is None else "yes" if row["met"] else "**no**"
        yield f"| {row['what']} | {wanted} | {row['n']} | {_ms(row['p50'])} | {_ms(row['p95'])} | {met} |"


def _details(rows: list[dict[str, Any]]) -> Iterator[str]:
    for row in rows:
        if row["compared"] or row["parts"]:
            yield f"\n## {row['name']}\n"
            yield f"{row['what']}\n"
            yield "| | p50 | p95 |"
            yield "|---|---|---|"
            for name, figures in [*row["parts"].items(), *row["compared"].items()]:
                yield f"| {name} | {_ms(figures['p50'])} | {_ms(figures['p95'])} |"


def _ms(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"
