"""The plugin in the real Claude Code; what its model was given is read from the requests to the stand-in."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devclaw_py.agents.standin.server import StandIn
from devclaw_py.faces.claude_plugin.manifest import FOLDER
from devclaw_py.kernel import proc
from tests.real.claude.conftest import QUIET, Claude, claude_program

if TYPE_CHECKING:
    from tests.real.mcp.conftest import Office

ROOT = Path(__file__).parents[3]
SHOP, BANK = "-1001", "-1002"
TOOL = "mcp__plugin_devclaw_devclaw__"
ALLOWED = json.dumps({"permissions": {"allow": [TOOL.removesuffix("__")]}})


@pytest.fixture
def claude(office: Office, tmp_path: Path) -> Iterator[Claude]:
    """Claude Code in a folder of its own; devclaw is on its PATH."""
    home, cwd, program = tmp_path / "home", tmp_path / "desk", tmp_path / "bin" / "devclaw"
    for folder in (home, cwd, program.parent):
        folder.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m devclaw_py "$@"\n')
    program.chmod(0o755)
    trusted = {str(tmp_path): {"hasTrustDialogAccepted": True}}
    (home / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True, "projects": trusted}))
    path = os.pathsep.join((str(program.parent), office.environ["PATH"]))
    with StandIn(folder=tmp_path / "requests") as standin:
        found = Claude(claude_program(), home, cwd, standin, {**QUIET, "PATH": path})
        found.show_token(standin.token)
        yield found


@pytest.fixture
def plugin(office: Office, claude: Claude, tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes the plugin as a user does."""

    def write(*words: str) -> Path:
        argv = [str(tmp_path / "bin" / "devclaw"), "claude-plugin", str(tmp_path / "plugin"), *words]
        environ = {**office.environ, "PATH": claude.env["PATH"]}
        subprocess.run(argv, env=environ, check=True, capture_output=True)
        return tmp_path / "plugin"

    return write


def test_one_turn_looks_at_the_queue_and_creates_an_issue(
    office: Office, claude: Claude, plugin: Callable[..., Path]
) -> None:
    create = json.dumps({"title": "Add a footer"})
    refused = json.dumps({"projectGroupId": BANK, "title": "Mine"})
    prompt = (
        f"[[standin: tool {TOOL}queue_status {{}}]] [[standin: tool {TOOL}task_create {create}]] "
        f"[[standin: tool {TOOL}task_create {refused}]]"
    )

    done = claude.ask(prompt, "--plugin-dir", str(plugin("--group", SHOP)), "--settings", ALLOWED)

    assert done["is_error"] is False, done
    queue, created, other = [result for request in _turns(claude) for result in request][-3:]
    assert '"name":"shop"' in queue.replace(" ", "")
    assert '"issueId":1' in created.replace(" ", "")
    assert "not_allowed" in other
    assert "belongs to group" in other
    assert office.issues() == ["Add a footer"]
    assert office.issues("bank") == []


def test_installed_from_its_folder_the_plugin_brings_commands_and_skill(
    claude: Claude, plugin: Callable[..., Path]
) -> None:
    folder = str(plugin("--all-groups"))
    for words in (("validate", "--strict", folder), ("marketplace", "add", folder), ("install", "devclaw@devclaw")):
        done = proc.run([claude.program, "plugin", *words], timeout_s=60, env=claude.env, cwd=claude.cwd)
        assert done.code == 0, done

    claude.ask("/devclaw:task a footer with the year")

    bodies = [json.dumps(request.body, ensure_ascii=False) for request in claude.standin.requests]
    assert any("The wish: a footer with the year" in body for body in bodies)
    assert any("devclaw:devclaw" in body for body in bodies)


def test_claude_code_accepts_the_folder_that_ships(claude: Claude) -> None:
    done = proc.run([claude.program, "plugin", "validate", "--strict", str(FOLDER)], timeout_s=60, env=claude.env)

    assert done.code == 0, done


def _turns(claude: Claude) -> list[list[str]]:
    """Return what tool calls brought back, as the model was given it, for each of its requests."""
    return [_results(request.body) for request in claude.standin.requests]


def _results(body: dict[str, Any]) -> list[str]:
    blocks = [block for message in body.get("messages", ()) for block in message["content"] if isinstance(block, dict)]
    return [json.dumps(block["content"]).replace("\\", "") for block in blocks if block.get("type") == "tool_result"]
