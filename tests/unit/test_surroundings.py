"""What a session is given from the machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from devclaw_py.agents.surroundings import base_environment


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user's installation: devclaw in a folder of its own, none beside Python."""
    program = tmp_path / "local" / "bin" / "devclaw"
    program.parent.mkdir(parents=True)
    program.touch(mode=0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "usr" / "bin" / "python3"))
    return program


def first(environ: dict[str, str]) -> str:
    """Return the first folder of a worker's PATH."""
    return base_environment(environ, Path("/ws"))["PATH"].split(os.pathsep)[0]


def test_path_begins_with_the_folder_of_the_devclaw_that_runs(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", [str(installed), "call"])

    assert first({"PATH": "/bin"}) == str(installed.parent)


def test_a_devclaw_run_by_python_is_looked_for_on_path(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/lib/devclaw_py/__main__.py", "call"])

    assert first({"PATH": f"/bin{os.pathsep}{installed.parent}"}) == str(installed.parent)
