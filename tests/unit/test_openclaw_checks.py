"""What doctor --openclaw reads out of a gateway's configuration, and how an installation is put together."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.errors import ConfigError, SessionFailed
from devclaw_py.faces.openclaw import install
from devclaw_py.faces.openclaw.checks import (
    examine_gateway,
    group_findings,
    plugin_findings,
    read_config,
    tool_findings,
)
from devclaw_py.faces.openclaw.manifest import FOLDER
from devclaw_py.model.finding import Finding, Severity

TELEGRAM = {"groupPolicy": "allowlist", "groups": {"-1001": {}}}
QUIET = {"defaults": {"silentReply": {"group": "allow"}}}


def bad(findings: Iterable[Finding]) -> list[str]:
    return [found.message for found in findings if found.severity is not Severity.OK]


def plugins(**entry: Any) -> dict[str, Any]:
    return {"plugins": {"entries": {"devclaw": {"enabled": True, **entry}}}}


def test_a_plugin_that_is_enabled_is_fine() -> None:
    assert bad(plugin_findings(plugins())) == []


@pytest.mark.parametrize(
    "config",
    [
        {},
        plugins(enabled=False),
        {"plugins": {"enabled": False}},
        {"plugins": {**plugins()["plugins"], "allow": ["telegram"]}},
        {"plugins": {**plugins()["plugins"], "deny": ["devclaw"]}},
    ],
)
def test_a_plugin_that_would_not_be_loaded_is_critical(config: dict[str, Any]) -> None:
    assert [found.severity for found in plugin_findings(config)] == [Severity.CRITICAL]


def test_groups_that_are_listed_are_fine() -> None:
    assert bad(group_findings({"channels": {"telegram": TELEGRAM}, "agents": QUIET})) == []


@pytest.mark.parametrize(
    ("channel", "said"),
    [
        ({"groupPolicy": "disabled"}, "reads no groups"),
        ({"groupPolicy": "allowlist"}, "none is listed"),
        ({}, "none is listed"),
    ],
)
def test_a_channel_that_lets_no_group_in_is_named(channel: dict[str, Any], said: str) -> None:
    (found,) = bad(group_findings({"channels": {"telegram": channel}, "agents": QUIET}))

    assert said in found


def test_a_door_that_is_open_to_everybody_is_named() -> None:
    config = {
        "channels": {"telegram": {"groupPolicy": "open"}},
        "agents": QUIET,
        **plugins(config={"allowFrom": ["*"]}),
    }

    assert bad(group_findings(config)) == ["anybody in any group of telegram may use devclaw"]


def test_an_agent_that_may_not_stay_silent_is_named() -> None:
    (found,) = bad(group_findings({"channels": {"telegram": TELEGRAM}}))

    assert "has to answer" in found


def test_an_allow_list_without_our_tools_is_named() -> None:
    agents = {"entries": {"orch": {"tools": {"allow": ["read", "queue_status"]}}}}

    (found,) = bad(tool_findings({"agents": agents}))

    assert found.startswith("agents.entries.orch.tools keeps task_pickup")
    assert "queue_status" not in found


@pytest.mark.parametrize(
    "tools",
    [
        {},
        {"allow": list(catalogue.TOOLS)},
        {"allow": ["devclaw"]},
        {"allow": ["group:plugins"]},
        {"allow": ["*"]},
        {"allow": ["read"], "alsoAllow": ["devclaw"]},
    ],
)
def test_lists_that_name_all_of_our_tools_are_fine(tools: dict[str, Any]) -> None:
    assert bad(tool_findings({"agents": {"entries": {"orch": {"tools": tools}}}})) == []


def test_a_tool_that_is_denied_is_named() -> None:
    assert bad(tool_findings({"tools": {"deny": ["task_create"]}})) == ["tools keeps task_create from the model"]


def test_an_absent_configuration_is_an_empty_one_and_a_broken_one_is_none(tmp_path: Path) -> None:
    path = tmp_path / "openclaw.json"
    environ = {"OPENCLAW_CONFIG_PATH": str(path)}
    assert read_config(environ) == {}

    path.write_text("{ // a comment\n}")

    assert read_config(environ) is None


def test_a_machine_without_openclaw_is_told_how_to_get_it(tmp_path: Path) -> None:
    (found,) = examine_gateway({"PATH": str(tmp_path)}, tmp_path)

    assert (found.severity, found.mend) == (Severity.CRITICAL, "npm install -g openclaw")


@pytest.fixture
def openclaw(tmp_path: Path) -> dict[str, str]:
    """A program that writes down how it is called and what it is given."""
    program = tmp_path / "bin" / "openclaw"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        "with open(os.environ['CALLS'], 'a') as calls:\n"
        "    calls.write(json.dumps([sys.argv[1:], sys.stdin.read()]) + '\\n')\n"
        "sys.exit(int(os.environ.get('CODE', '0')))\n"
    )
    program.chmod(0o755)
    return {"PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}", "CALLS": str(tmp_path / "calls")}


def test_an_installation_names_this_python_and_the_workspace(openclaw: dict[str, str], tmp_path: Path) -> None:
    install.carry_out(install.plan(openclaw, tmp_path, link=False), openclaw)

    first, second = (json.loads(line) for line in Path(openclaw["CALLS"]).read_text().splitlines())
    assert first[0] == ["plugins", "install", str(FOLDER), "--force", "--accept-capabilities"]
    assert second[0] == ["config", "patch", "--stdin"]
    entry = json.loads(second[1])["plugins"]["entries"]["devclaw"]
    assert entry["config"] == {"python": sys.executable, "workspace": str(tmp_path)}


def test_an_installation_that_is_refused_configures_nothing(openclaw: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(SessionFailed, match=r"plugins install .* exit code 3"):
        install.carry_out(install.plan(openclaw, tmp_path, link=True), {**openclaw, "CODE": "3"})

    assert len(Path(openclaw["CALLS"]).read_text().splitlines()) == 1


def test_an_installation_without_openclaw_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no openclaw"):
        install.plan({"PATH": str(tmp_path)}, tmp_path, link=False)
