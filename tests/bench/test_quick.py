from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = ("git", "tmux")


def test_every_row_of_a_quick_run_has_a_number() -> None:
    missing = [program for program in NEEDED if shutil.which(program) is None]
    if missing:
        pytest.skip(f"{' and '.join(missing)} not installed: real programs are measured")

    done = subprocess.run(
        [sys.executable, "-m", "tests.bench", "--quick"],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=240,
    )

    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)["rows"]
    assert [row["name"] for row in rows if not (row["n"] > 0 and row["p50"] > 0 and row["p95"] > 0)] == []
    beside = [
        (row["name"], name)
        for row in rows
        for name, figures in row["compared"].items()
        if not figures["p50"] and not name.endswith("(a count)")
    ]
    assert beside == []
    page = json.loads((ROOT / "docs/performance.json").read_text(encoding="utf-8"))["rows"]
    assert _measured_everywhere(rows) == _measured_everywhere(page)


def _measured_everywhere(rows: list[dict[str, Any]]) -> set[str]:
    """Return the names of the rows that need no more than is asked for here: not an emulated GitHub."""
    return {row["name"] for row in rows if not row["name"].startswith("forge_")}
