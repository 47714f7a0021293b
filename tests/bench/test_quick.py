from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NEEDED = ("git", "tmux")
PREFIXES = {"claude": "claude_", "emulate": "forge_"}
FORGE = {"forge_move", "forge_pickup", "forge_poll_idle", "forge_poll_busy"}


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
    report = json.loads(done.stdout)
    rows, skipped = report["rows"], report["skipped"]
    assert set(skipped) & set(os.environ.get("DEVCLAW_REQUIRE", "").split(",")) == set()
    assert [row["name"] for row in rows if not (row["n"] > 0 and row["p50"] > 0 and row["p95"] > 0)] == []
    beside = [
        (row["name"], name)
        for row in rows
        for name, figures in row["compared"].items()
        if not figures["p50"] and not name.endswith("(a count)")
    ]
    assert beside == []
    known = {row["name"] for row in json.loads((ROOT / "docs/performance.json").read_text(encoding="utf-8"))["rows"]}
    left_out = tuple(PREFIXES[program] for program in skipped if program in PREFIXES)
    assert {row["name"] for row in rows} == {name for name in known | FORGE if not name.startswith(left_out)}
