"""The texts that ship with the package, and what they tell people and workers."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from devclaw_py.errors import ConfigError, DevClawError
from devclaw_py.kernel.resources import WORKSPACE_TEXTS, read, role_text, workspace_text
from devclaw_py.model.pipeline import Result, Role, State

TEXTS = {role.value: role_text(role) for role in Role} | {name: workspace_text(name) for name in WORKSPACE_TEXTS}
ROLES = [role.value for role in Role]
TOOLS = {
    "task_pickup",
    "task_complete",
    "task_create",
    "task_update",
    "task_comment",
    "queue_status",
    "session_health",
    "session_answer",
    "project_register",
    "project_update",
    "devclaw_setup",
}
NOT_OURS = {"qa_pickup", "dev_fix", "test_cart"}


def codes(kind: type[DevClawError]) -> set[str]:
    """Return every stable error code there is."""
    return {kind.code}.union(*(codes(below) for below in kind.__subclasses__()))


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_is_short_enough_to_be_read(name: str) -> None:
    assert 20 < len(TEXTS[name].splitlines()) <= 120


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_names_no_tool_or_error_that_does_not_exist(name: str) -> None:
    named = set(re.findall(r"\b[a-z]+_[a-z]+\b", TEXTS[name]))

    assert named - TOOLS - codes(DevClawError) == NOT_OURS & named


def test_the_orchestrator_is_told_of_every_tool() -> None:
    assert {tool for tool in TOOLS if f"| `{tool}` |" in TEXTS["AGENTS.md"]} == TOOLS


def test_the_orchestrator_is_told_of_every_state() -> None:
    assert [state for state in State if state not in TEXTS["AGENTS.md"]] == []


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("keyword", ["Closes #N", "Fixes #N", "Resolves #N"])
def test_a_worker_is_warned_of_closing_keywords(role: str, keyword: str) -> None:
    assert keyword in TEXTS[role]


@pytest.mark.parametrize("role", ROLES)
@pytest.mark.parametrize("tool", ["task_pickup", "task_update", "session_health", "project_register"])
def test_a_worker_is_told_which_tools_are_not_its_own(role: str, tool: str) -> None:
    never = TEXTS[role].split("## What you never do")[1]

    assert f"`{tool}`" in never


@pytest.mark.parametrize("role", ROLES)
def test_every_command_in_a_role_file_carries_valid_json(role: str) -> None:
    commands = re.findall(r"devclaw call \w+ '([^']*)'", TEXTS[role])
    pasted = re.findall(r"<<'REPORT'\n\s*(.*)\n", TEXTS[role])

    assert commands
    for document in commands + pasted:
        assert isinstance(json.loads(document), dict)


@pytest.mark.parametrize(
    ("role", "results"),
    [("dev", {Result.DONE, Result.BLOCKED}), ("qa", {Result.PASS, Result.FAIL, Result.REFINE, Result.BLOCKED})],
)
def test_a_role_file_speaks_of_its_own_results_only(role: str, results: set[Result]) -> None:
    named = set(re.findall(r'"result": "(\w+)"|^\| `(\w+)` \|', TEXTS[role], re.MULTILINE))

    assert {first or second for first, second in named} == {str(result) for result in results}


def test_a_quiet_heartbeat_has_its_word() -> None:
    assert TEXTS["HEARTBEAT.md"].rstrip().endswith("HEARTBEAT_OK")


def test_a_wheel_keeps_its_role_files_inside_the_package(tmp_path: Path) -> None:
    package = tmp_path / "devclaw_py"
    (package / "_roles/default").mkdir(parents=True)
    (package / "_roles/default/dev.md").write_text("from the wheel")

    assert read(package, "_roles/default/dev.md", "../roles/default/dev.md") == "from the wheel"


def test_a_checkout_has_its_role_files_beside_the_package(tmp_path: Path) -> None:
    (tmp_path / "roles/default").mkdir(parents=True)
    (tmp_path / "roles/default/dev.md").write_text("from the checkout")

    assert read(tmp_path / "devclaw_py", "_roles/default/dev.md", "../roles/default/dev.md") == "from the checkout"


def test_an_installation_without_its_texts_is_told_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="install it again"):
        read(tmp_path, "_roles/default/dev.md")


def test_a_text_that_does_not_ship_is_no_empty_text() -> None:
    with pytest.raises(KeyError):
        workspace_text("SOUL.md")
