"""The checks behind ``devclaw doctor --openclaw``: gateway, plugin, Python, group policy, tools. Nothing is changed."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from devclaw_py import catalogue
from devclaw_py.faces.openclaw.manifest import ID, OLDEST
from devclaw_py.kernel import proc
from devclaw_py.model.finding import Finding, Severity

PROGRAM = "openclaw"
CLI_S = 60.0
INSTALL = "devclaw openclaw install"
ENTRY = f"plugins.entries.{ID}"
STATUS = f"{ID}.status"

Config = Mapping[str, Any]


def examine_gateway(environ: Mapping[str, str], workspace: Path) -> list[Finding]:
    """Return what stands in the way of groups that want to use devclaw through a gateway."""
    found = shutil.which(PROGRAM, path=environ.get("PATH"))
    if found is None:
        return [_critical("openclaw", "there is no openclaw in any folder of PATH", "npm install -g openclaw")]
    findings = [_version(found, environ)]
    config = read_config(environ)
    if config is None:
        mend = "openclaw config validate says where; plain JSON is what doctor can read"
        return [*findings, _critical("config", f"{config_path(environ)} cannot be read as JSON", mend)]
    findings += [*plugin_findings(config), *group_findings(config), *tool_findings(config)]
    findings += _python(config, environ)
    findings += _running(found, environ, workspace)
    return findings


def config_path(environ: Mapping[str, str]) -> Path:
    """Return where the gateway's configuration lies."""
    if named := environ.get("OPENCLAW_CONFIG_PATH"):
        return Path(named)
    return Path(environ.get("OPENCLAW_STATE_DIR") or Path(environ.get("HOME", "~"), ".openclaw"), "openclaw.json")


def read_config(environ: Mapping[str, str]) -> Config | None:
    """Return the gateway's configuration; an absent file is an empty one, None is one that cannot be read."""
    try:
        found = json.loads(config_path(environ).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def plugin_findings(config: Config) -> Iterator[Finding]:
    """Say whether the plugin is enabled and allowed."""
    plugins = _table(config, "plugins")
    entry = _table(plugins, "entries", ID)
    allowed = plugins.get("allow")
    if plugins.get("enabled") is False:
        yield _critical("plugin", "all plugins are off", "openclaw config set plugins.enabled true")
    elif not entry:
        yield _critical("plugin", f"{ENTRY} is not configured", INSTALL)
    elif entry.get("enabled") is False:
        yield _critical("plugin", f"{ENTRY} is disabled", f"openclaw plugins enable {ID}")
    elif ID in plugins.get("deny", ()) or (isinstance(allowed, list) and ID not in allowed):
        yield _critical("plugin", "plugins.allow or plugins.deny keeps the plugin from being loaded", f"add {ID}")
    else:
        yield _good("plugin", "the plugin is enabled")


def group_findings(config: Config) -> Iterator[Finding]:
    """Say which channels let no group in, or anybody, and whether an agent may stay silent in one."""
    channels = {name: found for name, found in _table(config, "channels").items() if isinstance(found, dict)}
    active = {name: found for name, found in channels.items() if found.get("enabled") is not False}
    if not active:
        yield _warning("groups", "no chat channel is configured", "openclaw channels add")
    everybody = "*" in map(str, _table(config, "plugins", "entries", ID, "config").get("allowFrom", ()))
    for name, channel in active.items():
        policy = channel.get("groupPolicy", "allowlist")
        groups = channel.get("groups") or channel.get("guilds") or channel.get("channels")
        if policy == "disabled":
            yield _critical("groups", f"{name} reads no groups", f"set channels.{name}.groupPolicy to allowlist")
        elif policy == "allowlist" and not groups:
            yield _critical(
                "groups", f"{name} lets no group in: none is listed", f"list them in channels.{name}.groups"
            )
        elif policy == "open" and everybody:
            mend = f"name the senders in {ENTRY}.config.allowFrom, or set groupPolicy to allowlist"
            yield _warning("groups", f"anybody in any group of {name} may use devclaw", mend)
        else:
            yield _good("groups", f"{name}: groups are let in by {policy}")
    if active and _table(config, "agents", "defaults", "silentReply").get("group") != "allow":
        said = "an agent has to answer in a group although the announcement stands there already"
        yield _warning("silence", said, "openclaw config set agents.defaults.silentReply.group allow")


def tool_findings(config: Config) -> Iterator[Finding]:
    """Say which agents' lists keep tools of ours from them."""
    named = {"tools": _table(config, "tools")}
    agents = _table(config, "agents")
    named |= {
        f"agents.entries.{name}.tools": _table(agents, "entries", name, "tools") for name in _table(agents, "entries")
    }
    listed = [agent for agent in agents.get("list", ()) if isinstance(agent, dict)]
    named |= {f"agents.list ({agent.get('id')}).tools": _table(agent, "tools") for agent in listed}
    hidden = 0
    for where, tools in named.items():
        lacking = _lacking(tools)
        if lacking:
            hidden += 1
            yield _warning("tools", f"{where} keeps {', '.join(lacking)} from the model", f"add them to {where}.allow")
    if not hidden:
        yield _good("tools", "every agent is offered all tools")


def _lacking(tools: Config) -> list[str]:
    """Return the tools that a list of allowed and denied ones keeps away; a pattern ends in a star."""

    def named(name: str, patterns: object) -> bool:
        words = patterns if isinstance(patterns, list) else []
        fits = (re.fullmatch(re.escape(str(word)).replace(r"\*", ".*"), name) for word in words)
        return any(fits) or ID in words or "group:plugins" in words

    allowed, more = tools.get("allow"), tools.get("alsoAllow")
    return [
        name
        for name in catalogue.TOOLS
        if named(name, tools.get("deny"))
        or (isinstance(allowed, list) and not named(name, allowed) and not named(name, more))
    ]


def _version(program: str, environ: Mapping[str, str]) -> Finding:
    try:
        done = proc.run([program, "--version"], timeout_s=CLI_S, env=environ)
    except proc.NotAnswered as error:
        return _critical("openclaw", str(error), "run openclaw --version")
    found = re.search(r"\d+(?:\.\d+)+", done.out)
    if done.code != 0 or found is None:
        return _critical(
            "openclaw", f"{program} --version says {(done.out + done.err).strip()[:200]!r}", "reinstall it"
        )
    if _numbers(found[0]) < _numbers(OLDEST):
        return _critical("openclaw", f"OpenClaw {found[0]} is older than {OLDEST}", "openclaw update")
    return _good("openclaw", f"OpenClaw {found[0]}")


def _python(config: Config, environ: Mapping[str, str]) -> Iterator[Finding]:
    python = _table(config, "plugins", "entries", ID, "config").get("python")
    if not python:
        return
    argv = [str(python), "-P", "-m", "devclaw_py", "--version"]
    try:
        done = proc.run(argv, timeout_s=CLI_S, env=environ)
        said, ok = (done.out + done.err).strip()[-200:], done.code == 0
    except proc.NotAnswered as error:
        said, ok = str(error), False
    if ok:
        yield _good("child", f"{python} has {said}")
    else:
        yield _critical("child", f"{ENTRY}.config.python cannot run devclaw: {said}", INSTALL)


def _running(program: str, environ: Mapping[str, str], workspace: Path) -> Iterator[Finding]:
    """Ask the gateway, and the plugin inside it."""
    try:
        done = proc.run([program, "gateway", "call", STATUS, "--json"], timeout_s=CLI_S, env=environ)
    except proc.NotAnswered as error:
        yield Finding(type="gateway", severity=Severity.UNKNOWN, message=str(error), mend="openclaw gateway status")
        return
    found = _answer(done.out)
    if found is None:
        said = " ".join((done.err or done.out).split())[-200:]
        mend = "openclaw gateway restart; then openclaw plugins inspect devclaw --runtime"
        yield _critical("gateway", f"the gateway or its plugin does not answer: {said}", mend)
    elif "pid" not in found:
        yield _critical("gateway", f"devclaw's process does not answer: {found.get('error')}", "read the gateway's log")
    elif Path(str(found.get("workspace"))) != workspace:
        said = f"the gateway works in {found.get('workspace')}, and this is {workspace}"
        yield _warning("gateway", said, f"openclaw config set {ENTRY}.config.workspace {workspace}")
    else:
        yield _good("gateway", f"the gateway runs devclaw {found.get('version')} as process {found['pid']}")


def _answer(text: str) -> Config | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    inner = found.get("payload", found.get("result", found))
    return inner if isinstance(inner, dict) and ("pid" in inner or "error" in inner) else None


def _table(found: Config, *names: str) -> Config:
    for name in names:
        inner = found.get(name)
        if not isinstance(inner, dict):
            return {}
        found = inner
    return found


def _numbers(version: str) -> list[int]:
    return [int(part) for part in version.split(".")]


def _good(kind: str, message: str) -> Finding:
    return Finding(type=kind, severity=Severity.OK, message=message)


def _warning(kind: str, message: str, mend: str) -> Finding:
    return Finding(type=kind, severity=Severity.WARNING, message=message, mend=mend)


def _critical(kind: str, message: str, mend: str) -> Finding:
    return Finding(type=kind, severity=Severity.CRITICAL, message=message, mend=mend)
