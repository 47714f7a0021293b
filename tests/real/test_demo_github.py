"""The demo's story on an emulated GitHub, and where tokens are afterwards: nowhere but in their own files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from devclaw_py.demo.hub import TOKEN, VARIABLE
from devclaw_py.kernel import proc
from tests.forge.emulated import command

ROOT = Path(__file__).resolve().parents[2]
DEMO = (sys.executable, "-m", "devclaw_py", "demo", "--tracker", "github", "--speed", "fast")


def environment(home: Path, **more: str) -> dict[str, str]:
    passed = {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C.UTF-8", "PYTHONPATH": str(ROOT)}
    return {**passed, "HOME": str(home), "TMUX_TMPDIR": str(home), "TMPDIR": str(home), **more}


@pytest.fixture
def played(tmp_path: Path, needed: Callable[[str], None]) -> tuple[proc.Done, Path]:
    needed("tmux")
    folder = tmp_path / "shop"
    env = environment(tmp_path, GH_TOKEN="ghp_canary", **{VARIABLE: command()})
    return proc.run([*DEMO, "--dir", str(folder)], timeout_s=200, cwd=tmp_path, env=env), folder


def test_the_story_ends_well_on_github_and_no_token_leaves_its_file(played: tuple[proc.Done, Path]) -> None:
    done, folder = played

    assert done.code == 0, done.out + done.err
    assert "3 of 3 issues are Done, closed and merged into main" in done.out
    assert "❌ QA FAIL #2" in done.out
    assert "was not tested" not in done.out
    holding = {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and (TOKEN.encode() in (content := path.read_bytes()) or b"canary" in content)
    }
    assert holding <= {"github.token", "emulate.yaml"}
    assert TOKEN not in done.out + done.err


def test_without_an_emulated_github_it_says_how_to_have_one(tmp_path: Path) -> None:
    done = proc.run([*DEMO, "--dir", str(tmp_path / "shop")], timeout_s=60, cwd=tmp_path, env=environment(tmp_path))

    assert done.code == 4
    assert f"{VARIABLE} names none" in done.err
