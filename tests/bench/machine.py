"""Where and when was measured."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

from devclaw_py.kernel import proc
from tests.bench.office import ROOT


def described() -> dict[str, object]:
    """Return commit, processor, versions and the time."""
    changed = _said("git", "-C", str(ROOT), "status", "--porcelain", "--", "devclaw_py", "tests/bench")
    return {
        "commit": _said("git", "-C", str(ROOT), "rev-parse", "HEAD") + ("+changes" if changed else ""),
        "date": datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        "processor": _processor(),
        "processors": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "git": _said("git", "--version").removeprefix("git version "),
        "tmux": _said("tmux", "-V").removeprefix("tmux "),
    }


def load() -> float:
    """Return the load average of the last minute."""
    return round(os.getloadavg()[0], 2)


def _said(*argv: str) -> str:
    return proc.run(argv, timeout_s=10).out.strip()


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "unknown")
