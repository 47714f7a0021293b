from __future__ import annotations

import json
from pathlib import Path

from tests.bench.page import rendered

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_says_what_the_figures_say() -> None:
    report = json.loads((DOCS / "performance.json").read_text(encoding="utf-8"))

    assert (DOCS / "performance.md").read_text(encoding="utf-8") == rendered(report)


def test_a_row_counts_as_met_only_when_its_figure_is_within_the_goal() -> None:
    report = json.loads((DOCS / "performance.json").read_text(encoding="utf-8"))
    held = {row["name"]: row[row["goal"]["on"]] <= row["goal"]["ms"] for row in report["rows"] if row["goal"]}

    assert {row["name"]: row["met"] for row in report["rows"] if row["goal"]} == held
