"""What doctor says about Claude Code. Nothing is started but ``claude --version``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from devclaw_py.agents import mailbox
from devclaw_py.agents.claude import launch
from devclaw_py.errors import ConfigError
from devclaw_py.kernel import proc
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.settings import AgentSettings

OLDEST = (2, 1, 197)
NEWEST = (2, 1, 332)
VERSION_S = 15


def findings(settings: AgentSettings, workspace: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Yield one finding a subject, good ones too."""
    try:
        found = launch.program(settings, environ.get("PATH"))
    except ConfigError as error:
        yield _finding(Severity.CRITICAL, str(error), error.hint or "")
        return
    yield version(found, environ)
    try:
        extra = launch.extra_environment(settings, workspace)
        launch.refuse_bypass_as_root(settings, extra)
    except ConfigError as error:
        yield _finding(Severity.CRITICAL, str(error), error.hint or "mend that file")
        return
    yield _onboarded({**environ, **extra})
    if settings.permission_mode == launch.BYPASS:
        said = "workers run in bypassPermissions: Claude Code asks for nothing and refuses nothing"
        yield _finding(Severity.WARNING, said, "keep dontAsk and add what workers need to [agent] allow")


def version(found: str, environ: Mapping[str, str]) -> Finding:
    """Ask the program for its version, and say whether devclaw was tried with it."""
    try:
        done = proc.run([found, "--version"], timeout_s=VERSION_S, env=environ)
    except proc.NotAnswered as error:
        return _finding(Severity.CRITICAL, str(error), "install Claude Code again")
    match = re.search(r"(\d+)\.(\d+)\.(\d+)", done.out)
    if done.code != 0 or match is None:
        said = (done.err or done.out).strip()[:200]
        return _finding(Severity.CRITICAL, f"{found} --version failed: {said}", "install Claude Code again")
    numbers = tuple(map(int, match.groups()))
    known = f"devclaw was tried with {_dotted(OLDEST)} to {_dotted(NEWEST)}"
    if numbers < OLDEST:
        return _finding(Severity.WARNING, f"Claude Code {match[0]} is old; {known}", "claude update")
    if numbers > NEWEST:
        return _finding(Severity.WARNING, f"Claude Code {match[0]} is newer than what is known; {known}", "watch it")
    return _finding(Severity.OK, f"Claude Code {match[0]} at {found}")


def _onboarded(environ: Mapping[str, str]) -> Finding:
    named = environ.get("CLAUDE_CONFIG_DIR")
    path = Path(named or environ.get("HOME") or Path.home()) / ".claude.json"
    if (mailbox.read_record(path) or {}).get("hasCompletedOnboarding") is True:
        return _finding(Severity.OK, f"{path} says that Claude Code was set up")
    said = f"{path} does not say that Claude Code was set up: a worker would stand at its first dialog"
    return _finding(Severity.WARNING, said, "run claude once in a terminal and log in")


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _finding(severity: Severity, message: str, mend: str = "") -> Finding:
    return Finding(type="agent", severity=severity, message=message, mend=mend)
