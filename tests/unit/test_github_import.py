"""A forge's library takes longer to load than most calls take, so nobody loads it who does not speak to the forge."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = "import sys; print(sorted(set(sys.modules) & {'github', 'gitlab', 'jwt', 'requests', 'urllib3'}))"
MODULES = (
    "devclaw_py.app",
    "devclaw_py.trackers.github.tracker",
    "devclaw_py.trackers.github.requests",
    "devclaw_py.trackers.github.installation",
    "devclaw_py.trackers.gitlab.tracker",
    "devclaw_py.trackers.gitlab.requests",
    "devclaw_py.faces.cli.call",
)


@pytest.mark.parametrize("module", MODULES)
def test_the_library_is_not_loaded_before_the_first_request(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}; {LOADED}"], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
