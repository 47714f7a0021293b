"""How Claude Code is started, and what is refused before it is."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.agents import mailbox
from devclaw_py.agents.base import Launch, Workplace
from devclaw_py.agents.claude import checkup, launch
from devclaw_py.agents.claude.agent import ClaudeAgent
from devclaw_py.errors import ConfigError, SessionFailed
from devclaw_py.model.finding import Severity
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.settings import AgentSettings

SECRET = "sk-canary-0123456789"


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "claude"
    path.write_text("#!/bin/sh\necho '2.1.332 (Claude Code)'\n")
    path.chmod(0o700)
    return path


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    folder = tmp_path / "memory" / "sessions" / "shop-dev-medior"
    mailbox.make(folder)
    return Workplace(
        session="shop-dev-medior",
        workspace=tmp_path,
        group_id="-1",
        project="shop",
        role=Role.DEV,
        tier=Tier.MEDIOR,
        model="anthropic/claude-sonnet-4-5",
        worktree=tmp_path,
        folder=folder,
    )


def environment(home: Path) -> dict[str, str]:
    return {"PATH": os.environ["PATH"], "HOME": str(home), "DEVCLAW_WORKSPACE": str(home)}


def env_file(tmp_path: Path, text: str, mode: int = 0o600) -> str:
    path = tmp_path / "claude.env"
    path.write_text(text)
    path.chmod(mode)
    return path.name


def started(place: Workplace, program: Path, *, resume: bool = False, **settings: Any) -> Launch:
    agent = ClaudeAgent(AgentSettings(claude_bin=str(program), **settings), place.workspace)
    return agent.launch(place, resume=resume, base_env=environment(place.workspace))


def written(place: Workplace, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((place.folder / name).read_text())
    return found


def after(found: Launch, flag: str) -> str:
    return found.argv[found.argv.index(flag) + 1]


def test_a_first_start_has_an_id_of_its_own_and_asks_nobody(place: Workplace, program: Path) -> None:
    found = started(place, program)

    assert after(found, "--session-id") == written(place, "conversation.json")["id"]
    assert "--resume" not in found.argv
    assert after(found, "--permission-mode") == "dontAsk"
    assert "--strict-mcp-config" in found.argv
    assert found.env["CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN"] == "1"


@pytest.mark.parametrize(
    ("model", "name"), [("anthropic/claude-opus-4-5", "claude-opus-4-5"), ("haiku", "haiku"), ("opus[1m]", "opus[1m]")]
)
def test_the_model_is_named_as_claude_code_names_it(place: Workplace, program: Path, model: str, name: str) -> None:
    assert after(started(place.model_copy(update={"model": model}), program), "--model") == name


def test_the_projects_tests_may_be_run_beside_what_is_allowed(place: Workplace, program: Path) -> None:
    own = {"allow": ("Read",), "test_command": "pytest -q"}
    started(place.model_copy(update=own), program)

    assert written(place, "settings.json")["permissions"]["allow"][-2:] == ["Read", "Bash(pytest -q:*)"]


@pytest.mark.parametrize("model", ["openai/gpt-5", "openrouter/anthropic/claude", "anthropic/"])
def test_a_model_of_another_provider_is_refused(place: Workplace, program: Path, model: str) -> None:
    with pytest.raises(ConfigError, match="anthropic"):
        started(place.model_copy(update={"model": model}), program)


def test_a_resume_names_the_same_id_and_the_model(place: Workplace, program: Path) -> None:
    first = started(place, program)

    second = started(place, program, resume=True)

    assert after(second, "--resume") == after(first, "--session-id")
    assert after(second, "--model") == "claude-sonnet-4-5"


def test_a_start_that_is_no_resume_keeps_the_old_id(place: Workplace, program: Path) -> None:
    first = started(place, program)
    second = started(place, program)

    assert after(first, "--session-id") != after(second, "--session-id")
    assert written(place, "conversation.json")["former"] == [after(first, "--session-id")]


def test_what_the_env_file_holds_is_in_a_private_file_and_in_no_argument(place: Workplace, program: Path) -> None:
    name = env_file(place.workspace, f"# for workers\nexport ANTHROPIC_AUTH_TOKEN='{SECRET}'\n\nIS_SANDBOX=1\n")

    found = started(place, program, env_file=name)

    assert SECRET not in " ".join([*found.argv, *found.env, *found.env.values()])
    assert written(place, "settings.json")["env"] == {"ANTHROPIC_AUTH_TOKEN": SECRET}
    assert found.env["IS_SANDBOX"] == "1"
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in place.folder.iterdir() if path.is_file()}
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize(
    ("text", "mode", "words"),
    [("A=1", 0o640, "read by others"), ("A=1\nhalf a secret", 0o600, r":2 is not NAME=value"), ("", None, "cannot be")],
)
def test_an_env_file_that_cannot_be_trusted_is_refused(
    place: Workplace, program: Path, text: str, mode: int | None, words: str
) -> None:
    name = env_file(place.workspace, text, mode) if mode is not None else "missing"

    with pytest.raises(ConfigError, match=words) as refused:
        started(place, program, env_file=name)

    assert "half a secret" not in str(refused.value)


def test_devclaws_own_tools_are_allowed_whatever_the_list_says(place: Workplace, program: Path) -> None:
    started(place, program, allow=("Read",))

    assert written(place, "settings.json")["permissions"]["allow"] == ["mcp__devclaw", "Bash(devclaw:*)", "Read"]


def test_bypass_mode_is_used_only_where_it_was_chosen(place: Workplace, program: Path) -> None:
    name = env_file(place.workspace, "IS_SANDBOX=1")

    found = started(place, program, env_file=name, permission_mode="bypassPermissions")

    assert after(found, "--permission-mode") == "bypassPermissions"
    assert written(place, "settings.json")["skipDangerousModePermissionPrompt"] is True


def test_bypass_mode_as_root_is_refused_with_the_ways_out(
    place: Workplace, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)

    with pytest.raises(ConfigError, match="root") as refused:
        started(place, program, permission_mode="bypassPermissions")

    assert refused.value.hint is not None
    assert "IS_SANDBOX=1" in refused.value.hint


def test_a_missing_program_is_a_config_error_that_says_how_to_get_it(place: Workplace) -> None:
    with pytest.raises(ConfigError, match="/no/such") as refused:
        started(place, Path("/no/such"))

    assert "npm install" in (refused.value.hint or "")


def test_a_start_that_is_refused_leaves_the_conversation_as_it_was(place: Workplace, program: Path) -> None:
    started(place, program)
    before = (place.folder / "conversation.json").read_text()

    with pytest.raises(ConfigError):
        started(place, Path("/no/such"))

    assert (place.folder / "conversation.json").read_text() == before


def test_a_conversation_with_a_driver_is_not_resumed(
    place: Workplace, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(place, program)
    monkeypatch.setattr("devclaw_py.agents.claude.conversation.drivers", lambda *_: [4711])

    with pytest.raises(SessionFailed, match="4711"):
        started(place, program, resume=True)


def test_the_configuration_folder_is_the_users_own(tmp_path: Path) -> None:
    assert launch.config_folder({"HOME": str(tmp_path)}) == tmp_path / ".claude"
    assert launch.config_folder({"HOME": "/x", "CLAUDE_CONFIG_DIR": str(tmp_path)}) == tmp_path


def findings(program: Path, home: Path, **settings: Any) -> list[tuple[Severity, str]]:
    chosen = AgentSettings(claude_bin=str(program), **settings)
    return [(found.severity, found.message) for found in checkup.findings(chosen, home, environment(home))]


@pytest.mark.parametrize(
    ("says", "severity", "words"),
    [
        ("echo 2.1.332", Severity.OK, "2.1.332"),
        ("echo 2.0.9", Severity.WARNING, "old"),
        ("echo 2.2.0", Severity.WARNING, "newer"),
        ("echo hello", Severity.CRITICAL, "hello"),
        ("exit 3", Severity.CRITICAL, "--version failed"),
    ],
)
def test_doctor_says_what_the_version_means(
    program: Path, tmp_path: Path, says: str, severity: Severity, words: str
) -> None:
    program.write_text(f"#!/bin/sh\n{says}\n")

    found = findings(program, tmp_path)[0]

    assert found[0] is severity
    assert words in found[1]


def test_doctor_sees_whether_claude_code_was_ever_set_up(program: Path, tmp_path: Path) -> None:
    assert findings(program, tmp_path)[1][0] is Severity.WARNING

    (tmp_path / ".claude.json").write_text('{"hasCompletedOnboarding": true}')

    assert findings(program, tmp_path)[1][0] is Severity.OK


def test_doctor_explains_bypass_mode(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    refused = findings(program, tmp_path, permission_mode="bypassPermissions")[-1]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    warned = findings(program, tmp_path, permission_mode="bypassPermissions")[-1]

    assert refused[0] is Severity.CRITICAL
    assert "as root" in refused[1]
    assert warned[0] is Severity.WARNING


def test_doctor_says_that_the_program_is_missing(tmp_path: Path) -> None:
    assert [severity for severity, _ in findings(Path("/no/such"), tmp_path)] == [Severity.CRITICAL]
