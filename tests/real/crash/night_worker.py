"""The program of a worker in the soak: notes that it ran, works a moment, and reports as the worker it is.

DEV commits and says done. QA says pass, but fail at its first attempt at every third issue.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path


def main() -> None:
    role, issue, attempt = (os.environ[f"DEVCLAW_{name}"] for name in ("ROLE", "ISSUE", "ATTEMPT"))
    with (Path(os.environ["DEVCLAW_WORKSPACE"]) / "witness.log").open("a") as log:
        log.write(f"{os.environ['DEVCLAW_PROJECT']}-{role} {issue}.{attempt}\n")
    time.sleep(0.3)
    if role == "dev":
        Path(f"work-{issue}.{attempt}.txt").write_text(attempt)
        for words in (["add", "-A"], ["commit", "-qm", f"Work on #{issue}"]):
            subprocess.run(["git", "-c", "user.name=Dev", "-c", "user.email=dev@example.org", *words], check=True)
    first_test = role == "qa" and int(issue) % 3 == 0 and int(attempt) == 2
    report = {"result": "done" if role == "dev" else ("fail" if first_test else "pass"), "summary": f"{role} {attempt}"}
    subprocess.run([sys.executable, "-m", "devclaw_py", "call", "task_complete", json.dumps(report)], check=False)


if __name__ == "__main__":
    main()
