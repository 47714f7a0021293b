"""One call of a tool in a process of its own, with the tracker of a forge of the tests in the place of the local one.

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
from devclaw_py.trackers.forge.budget import Pace
from devclaw_py.trackers.github.client import Client
from devclaw_py.trackers.github.tracker import GitHubTracker
from devclaw_py.trackers.gitlab.client import GitLabClient
from devclaw_py.trackers.gitlab.tracker import GitLabTracker


def app_on(workspace: Path, forge: Forge, environ: dict[str, str]) -> App:
    """Return the workspace's hands with the forge's tracker."""
    app = open_workspace(workspace, environ)
    kind = GitLabClient if forge.api.endswith("/api/v4") else Client
    folder, pace = workspace / "memory" / "forge", Pace(per_minute=100_000, per_hour=1_000_000)
    client = kind(forge.api, lambda: "tok_bot", folder=folder, clock=SystemClock(), timeout_s=30, pace=pace)
    if isinstance(client, GitLabClient):
        return replace(app, open_tracker=lambda project: GitLabTracker(client, forge, name=project.name))
    return replace(app, open_tracker=lambda project: GitHubTracker(client, forge, name=project.name))


def main() -> None:
    workspace, forge, tool, arguments = sys.argv[1:]
    app = app_on(Path(workspace), Forge.model_validate_json(forge), dict(os.environ))
    print(json.dumps(catalogue.call(app, tool, json.loads(arguments), HUMAN)))


if __name__ == "__main__":
    main()
