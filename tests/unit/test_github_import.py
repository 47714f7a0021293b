"""PyGithub takes longer to load than most calls take, so nobody loads it who does not speak to GitHub."""

from __future__ import annotations

import subprocess
import sys

import pytest

LOADED = "import sys; print(sorted(set(sys.modules) & {'github', 'jwt', 'requests', 'urllib3'}))"
MODULES = (
    "devclaw_py.app",
    "devclaw_py.trackers.github.tracker",
    "devclaw_py.trackers.github.requests",
    "devclaw_py.trackers.github.installation",
)


@pytest.mark.parametrize("module", MODULES)
def test_the_library_is_not_loaded_before_the_first_request(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import {module}; {LOADED}"], capture_output=True, text=True, check=True
    )

    assert done.stdout.strip() == "[]"
