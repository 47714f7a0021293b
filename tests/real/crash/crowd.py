"""One of many processes that call tools at random; prints how many calls it made, by tool."""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from devclaw_py import catalogue
from devclaw_py.faces.opening import open_workspace
from devclaw_py.model.caller import HUMAN

GROUPS = ("-1001", "-1002", "-1003")
CALLS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("task_create", {"title": "Add a footer", "label": "To Do"}),
    ("task_pickup", {"role": "dev", "model": "junior"}),
    ("task_pickup", {"role": "dev", "model": "medior"}),
    ("task_pickup", {"role": "qa"}),
    ("task_complete", {"role": "dev", "result": "done", "summary": "made"}),
    ("task_complete", {"role": "qa", "result": "pass", "summary": "seen"}),
    ("task_complete", {"role": "qa", "result": "fail", "summary": "broken"}),
    ("queue_status", {}),
)


def main() -> None:
    workspace, seed, seconds = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    app, dice = open_workspace(workspace, dict(os.environ)), random.Random(seed)
    made: Counter[str] = Counter()
    created, bugs = 0, []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        tool, arguments = dice.choice(CALLS)
        answer = catalogue.call(app, tool, {**arguments, "projectGroupId": dice.choice(GROUPS)}, HUMAN)
        made[tool] += 1
        created += tool == "task_create" and answer["success"]
        if not answer["success"] and answer["error"]["code"] in ("internal", "state_corrupt", "config_error"):
            bugs.append(answer["error"]["message"])
    print(json.dumps({"made": made, "created": created, "bugs": bugs}))


if __name__ == "__main__":
    main()
