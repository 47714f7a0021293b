"""One call of a tool in a process of its own, with the tracker of an emulated GitHub in the place of the local one.

Arguments: workspace, the forge as JSON, tool, its arguments as JSON. ``DEVCLAW_FAILPOINT`` counts.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path

from devclaw_py import catalogue
from devclaw_py.app import App
from devclaw_py.faces.opening import open_workspace
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.project import Forge
from devclaw_py.trackers.github.budget import Pace
from devclaw_py.trackers.github.client import Client
from devclaw_py.trackers.github.tracker import GitHubTracker


def app_on(workspace: Path, forge: Forge, environ: dict[str, str]) -> App:
    """Return the workspace's hands with GitHub's as tracker."""
    folder, pace = workspace / "memory" / "github", Pace(per_minute=100_000, per_hour=1_000_000)
    client = Client(forge.api, lambda: "tok_bot", folder=folder, clock=SystemClock(), timeout_s=30, pace=pace)
    return replace(
        open_workspace(workspace, environ), open_tracker=lambda project: GitHubTracker(client, forge, name=project.name)
    )


def main() -> None:
    workspace, forge, tool, arguments = sys.argv[1:]
    app = app_on(Path(workspace), Forge.model_validate_json(forge), dict(os.environ))
    print(json.dumps(catalogue.call(app, tool, json.loads(arguments), HUMAN)))


if __name__ == "__main__":
    main()
