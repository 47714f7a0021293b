"""How Claude Code is started: argument list, environment, and the files that both name.

No secret is in either: what Claude Code needs of that kind goes into ``settings.json`` of the session's folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import devclaw_py
from devclaw_py.agents import mailbox
from devclaw_py.agents.base import Launch, Workplace
from devclaw_py.agents.claude import events
from devclaw_py.errors import ConfigError
from devclaw_py.model.settings import AgentSettings
from devclaw_py.rules import testing
from devclaw_py.rules.worker_mcp import COMMAND, READY, SERVER, worker_mcp_config

SETTINGS, MCP = "settings.json", "mcp.json"
PROVIDER = "anthropic"
BYPASS = "bypassPermissions"
# What no permission may stand in the way of: a worker that cannot report is of no use.
OWN_TOOLS = (f"mcp__{SERVER}", "Bash(devclaw:*)")
START = "import sys; sys.path.append(sys.argv.pop(1)); from devclaw_py.faces.cli import main; main()"
# No dialog, no full screen, nothing sent but the work itself; background tasks would outlive their turn.
SWITCHES = {
    "CLAUDE_CODE_SANDBOXED": "1",
    "CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
    "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY": "1",
    "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_MAX_RETRIES": "3",
}
# Needed before Claude Code has read its settings; none of them is a secret.
EARLY = ("IS_SANDBOX", "CLAUDE_CONFIG_DIR", "NODE_EXTRA_CA_CERTS")
VARIABLE = re.compile(r"(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=(.*)")


def model_name(model: str) -> str:
    """Return a model as Claude Code writes it.

    Raises:
        ConfigError: it is of another provider.

    >>> model_name("anthropic/claude-sonnet-4-5")
    'claude-sonnet-4-5'
    """
    provider, slash, name = model.rpartition("/")
    if slash and (provider != PROVIDER or not name):
        raise ConfigError(
            f"the model {model} is not one of {PROVIDER}, and Claude Code runs no other",
            hint=f"write {PROVIDER}/<model> in [models], or choose another [agent] kind",
        )
    return name


def program(settings: AgentSettings, path: str | None) -> str:
    """Return where Claude Code is.

    Raises:
        ConfigError: nowhere on ``path``.
    """
    found = shutil.which(os.path.expanduser(settings.claude_bin), path=path)
    if found is None:
        raise ConfigError(
            f"[agent] kind is claude, and {settings.claude_bin} is no program on PATH",
            hint="npm install -g @anthropic-ai/claude-code, or write its path to [agent] claude_bin",
        )
    return found


def extra_environment(settings: AgentSettings, workspace: Path) -> dict[str, str]:
    """Return the variables of ``env_file``; empty when none is set.

    Raises:
        ConfigError: it cannot be read, others can read it, or a line has another form.
    """
    if not settings.env_file:
        return {}
    path = workspace / Path(settings.env_file).expanduser()
    try:
        if stat.S_IMODE(path.stat().st_mode) & 0o077:
            raise ConfigError(f"[agent] env_file {path} can be read by others", hint=f"chmod 600 {path}")
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"[agent] env_file {path} cannot be read: {error}") from error
    found = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = VARIABLE.fullmatch(line.strip())
        if match is None:
            # The line itself is not shown: it may be half of a secret.
            raise ConfigError(f"[agent] env_file {path}:{number} is not NAME=value")
        found[match[1]] = match[2].strip().strip("'\"")
    return found


def refuse_bypass_as_root(settings: AgentSettings, extra: Mapping[str, str]) -> None:
    """Say before the start what Claude Code would say in a terminal that is gone at once.

    Raises:
        ConfigError: bypass mode as root, outside what the user calls a sandbox.
    """
    if settings.permission_mode == BYPASS and os.geteuid() == 0 and extra.get("IS_SANDBOX") != "1":
        raise ConfigError(
            f"Claude Code refuses {BYPASS} as root outside a sandbox",
            hint="run devclaw as another user, keep permission_mode dontAsk, or put IS_SANDBOX=1 into [agent] env_file "
            "if this machine is a sandbox",
        )


def config_folder(env: Mapping[str, str]) -> Path:
    """Return Claude Code's configuration folder: the user's own."""
    named = env.get("CLAUDE_CONFIG_DIR")
    return Path(named) if named else Path(env.get("HOME") or Path.home()) / ".claude"


def prepare(
    settings: AgentSettings, place: Workplace, *, conversation: str, resume: bool, env: Mapping[str, str]
) -> Launch:
    """Write the session's files and return how Claude Code is started with them.

    Raises:
        ConfigError: see the functions above.
    """
    own = {"permission_mode": place.permission_mode, "allow": place.allow}
    settings = settings.model_copy(update={name: value for name, value in own.items() if value is not None})
    extra = extra_environment(settings, place.workspace)
    refuse_bypass_as_root(settings, extra)
    whole = {
        **env,
        **SWITCHES,
        **{name: extra.pop(name) for name in EARLY if name in extra},
        "DEVCLAW_WORKSPACE": str(place.workspace),
        "DEVCLAW_GROUP_ID": place.group_id,
        "DEVCLAW_PROJECT": place.project,
        "DEVCLAW_ROLE": place.role.value,
        "DEVCLAW_TIER": place.tier.value,
        "DEVCLAW_TOKEN_FILE": str(place.token_file),
    }
    found = program(settings, env.get("PATH"))
    model = model_name(place.model)

    script = resources.files(__package__).joinpath(events.HOOK).read_text(encoding="utf-8")
    (place.folder / READY).unlink(missing_ok=True)
    # A copy: an update of devclaw must not pull the script from under a session that lives.
    mailbox.put(place.folder / events.HOOK, script)
    mailbox.put(place.folder / SETTINGS, _dumps(_settings(settings, place, extra)))
    mailbox.put(place.folder / MCP, _dumps(_servers(place)))
    argv = [
        found,
        "--settings",
        str(place.folder / SETTINGS),
        "--resume" if resume else "--session-id",
        conversation,
        "--model",
        model,
        "--permission-mode",
        settings.permission_mode,
        "--mcp-config",
        str(place.folder / MCP),
        "--strict-mcp-config",
    ]
    return Launch(argv=tuple(argv), env=whole)


def _settings(settings: AgentSettings, place: Workplace, extra: Mapping[str, str]) -> dict[str, Any]:
    tests = [testing.rule(place.test_command)] if place.test_command else []
    written: dict[str, Any] = {
        "env": dict(extra),
        "permissions": {"allow": [*OWN_TOOLS, *settings.allow, *tests]},
        "hooks": events.hooks(place.folder, answer_s=max(1, int(settings.answer_min * 60))),
        "statusLine": events.command(place.folder, "status"),
    }
    if settings.permission_mode == BYPASS:
        written["skipDangerousModePermissionPrompt"] = True
    return written


def _servers(place: Workplace) -> dict[str, Any]:
    """Return the worker's own server, run by this Python: the ``devclaw`` on a worker's PATH may be another one."""
    config = worker_mcp_config(sys.executable, str(place.token_file))
    # -P: a module of the worktree must not be taken for one of Python's. Not by PYTHONPATH, which would be inherited.
    argv = ["-P", "-c", START, str(Path(devclaw_py.__file__).parent.parent), COMMAND]
    config["mcpServers"][SERVER]["args"] = argv
    return config


def _dumps(value: Mapping[str, Any]) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
