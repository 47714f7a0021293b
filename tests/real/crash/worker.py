"""The program of a worker in the crash suite: notes that it ran, leaves a commit, and reports nothing."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path


def main() -> None:
    offer = f"{os.environ['DEVCLAW_ISSUE']}.{os.environ['DEVCLAW_ATTEMPT']}"
    witness = Path(os.environ["DEVCLAW_WORKSPACE"]) / "witness.log"
    with witness.open("a") as log:
        log.write(f"{os.environ['DEVCLAW_PROJECT']}-{os.environ['DEVCLAW_ROLE']} {offer}\n")
    if os.environ["DEVCLAW_ROLE"] == "dev":
        Path(f"work-{offer}.txt").write_text(offer)
        for words in (["add", "-A"], ["commit", "-qm", f"Work on {offer}"]):
            subprocess.run(["git", "-c", "user.name=Dev", "-c", "user.email=dev@example.org", *words], check=True)


if __name__ == "__main__":
    main()
