"""The demo's output in README.md: what a run prints, with paths, ids and durations replaced by their kind.

Run from the repository's root to write it again: ``python -m tests.docs.readme``
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from devclaw_py.kernel import proc
from tests.docs.normalise import normalised

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BEGIN, END = "<!-- demo: written by python -m tests.docs.readme -->\n```text\n", "```\n<!-- end of demo -->\n"
SUMMARY = "3 of 3 issues"
TEST_RUN = re.compile(r" (?:Ran (?:all )?tests|\d+ of \d+ tests)")


def demo_output() -> str:
    """Run the demo, not on a terminal and without pauses, in a home of its own; return its normalised output."""
    # Short: the path of a tmux socket has to fit into 108 bytes.
    home = Path(tempfile.mkdtemp(prefix="dc-"))
    env = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMUX_TMPDIR": str(home),
        "TMPDIR": str(home),
        "LC_ALL": "C.UTF-8",
        "PYTHONPATH": str(ROOT),
    }
    try:
        argv = [sys.executable, "-m", "devclaw_py", "demo", "--speed", "fast"]
        done = proc.run(argv, timeout_s=200, cwd=home, env=env)
    finally:
        shutil.rmtree(home)
    if done.code != 0:
        raise RuntimeError(f"the demo ended with exit code {done.code}: {done.err or done.out}")
    return normalised(done.out)


def shown() -> str:
    """Return the output that stands in README.md."""
    return README.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]


def parts(output: str) -> tuple[list[str], list[str], list[str]]:
    """Return the lines before the first worker, those while DEV and QA work side by side, and the summary.

    Which of the two is first differs from run to run, and with it what stands on main when a branch is made and tested.
    So those lines are sorted and cut where they begin to tell of test runs; tests/real/test_demo.py judges those. The
    other parts are as they are.
    """
    lines = output.splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("⚡"))
    last = next(place for place, line in enumerate(lines) if line.startswith(SUMMARY))
    middle = (TEST_RUN.split(line)[0] for line in lines[first:last])
    return lines[:first], sorted(middle), lines[last:]


def main() -> None:
    """Run the demo and write its output into README.md."""
    before, found, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, ended, after = rest.partition(END)
    if not (found and ended):
        raise RuntimeError(f"{README} lacks the marks around the demo's output")
    README.write_text(before + BEGIN + demo_output() + END + after, encoding="utf-8")


if __name__ == "__main__":
    main()
