"""One of several processes that claim one issue: waits for a line, claims, and prints what came of it."""

from __future__ import annotations

import sys
from pathlib import Path

from devclaw_py.errors import RateLimited
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.pipeline import State
from devclaw_py.model.project import Forge
from devclaw_py.trackers import move
from devclaw_py.trackers.github.client import Client
from devclaw_py.trackers.github.tracker import GitHubTracker
from devclaw_py.trackers.move import Moved


def main() -> None:
    folder, forge, number = Path(sys.argv[1]), Forge.model_validate_json(sys.argv[2]), int(sys.argv[3])
    client = Client(forge.api, lambda: "tok_bot", folder=folder, clock=SystemClock(), timeout_s=60)
    tracker = GitHubTracker(client, forge, name="shop")
    print("ready", flush=True)
    sys.stdin.readline()
    try:
        move.take(tracker, number, State.TO_DO)
        move.put(tracker, number, State.DOING)
    except Moved:
        print("moved")
    except RateLimited:
        print("limited")
    else:
        print("won")


if __name__ == "__main__":
    main()
