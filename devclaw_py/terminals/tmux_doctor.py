"""What doctor says about tmux."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Mapping, Sequence

from devclaw_py.errors import SessionFailed
from devclaw_py.kernel import proc
from devclaw_py.model.finding import Finding, Severity

MINIMUM = (3, 2)


def diagnose(
    sessions: Callable[[], Sequence[object]], env: Mapping[str, str], *, timeout_s: float, locale: str | None = None
) -> list[Finding]:
    """Check the program, its version, its server and the locale; ``locale`` None means this process's."""
    program = shutil.which("tmux", path=env["PATH"])
    if program is None:
        return [_finding(Severity.CRITICAL, "tmux is not installed", "install tmux 3.2 or newer")]
    return [_version(program, env, timeout_s), _server(sessions), _locale(locale)]


def too_old(env: Mapping[str, str], *, timeout_s: float) -> str | None:
    """Return what to say of a tmux that is older than devclaw needs, or None."""
    program = shutil.which("tmux", path=env["PATH"])
    if program is None:
        return None
    found = _version(program, env, timeout_s)
    return f"{found.message}: {found.mend}" if found.severity is Severity.CRITICAL else None


def _version(program: str, env: Mapping[str, str], timeout_s: float) -> Finding:
    try:
        said = proc.run([program, "-V"], timeout_s=timeout_s, env=env).out.strip()
    except proc.NotAnswered as error:
        return _finding(Severity.UNKNOWN, str(error), f"run {program} -V by hand")
    numbers = re.search(r"(\d+)\.(\d+)", said)
    if numbers is None:
        return _finding(Severity.UNKNOWN, f"{program} -V says {said!r}", "install tmux 3.2 or newer")
    if (int(numbers[1]), int(numbers[2])) < MINIMUM:
        return _finding(Severity.CRITICAL, f"{program} is {said}", "install tmux 3.2 or newer")
    return _finding(Severity.OK, f"{program} is {said}")


def _server(sessions: Callable[[], Sequence[object]]) -> Finding:
    try:
        return _finding(Severity.OK, f"{len(sessions())} worker sessions")
    except SessionFailed as error:
        return _finding(Severity.CRITICAL, str(error), error.hint or "end the tmux server of the workspace by hand")


def _locale(locale: str | None) -> Finding:
    chosen = next((os.environ[name] for name in ("LC_ALL", "LC_CTYPE", "LANG") if os.environ.get(name)), "")
    said = chosen if locale is None else locale
    if "utf-8" in said.lower() or "utf8" in said.lower():
        return _finding(Severity.OK, f"the locale is {said}")
    mend = "set LANG=C.UTF-8, or attach with tmux -u"
    return _finding(
        Severity.WARNING, f"the locale {said or '(none)'} is not UTF-8: people see _ for some letters", mend
    )


def _finding(severity: Severity, message: str, mend: str = "") -> Finding:
    return Finding(type="terminal", severity=severity, message=message, mend=mend)
