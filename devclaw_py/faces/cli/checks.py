"""The checks behind ``devclaw doctor``. None of them changes anything, and none stops the others."""

from __future__ import annotations

import locale
import os
import shutil
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from devclaw_py.agents.kinds import open_agent
from devclaw_py.agents.surroundings import base_environment
from devclaw_py.app import App
from devclaw_py.chat.notify import notifier_for
from devclaw_py.errors import ConfigError, DevClawError, StateCorrupt
from devclaw_py.faces.opening import hands_to_look
from devclaw_py.kernel.config import load
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.pipeline import Provider
from devclaw_py.model.settings import Settings

NEEDED_PYTHON = (3, 11)
TIGHT_BYTES, FULL_BYTES = 1_000_000_000, 50_000_000


def examine(workspace: Path, environ: Mapping[str, str]) -> list[Finding]:
    """Return all that doctor has to say about a workspace; broken settings are a finding, and defaults go on."""
    findings = [_python(), _locale(), _on_path(workspace, environ)]
    try:
        settings = load(workspace, environ).settings
        findings.append(_good("settings", "the settings are understood"))
    except ConfigError as error:
        settings = Settings()
        findings.append(
            _critical("settings", str(error), error.hint or "mend that line; the checks below use defaults")
        )
    findings += _settings(settings, workspace)
    app = hands_to_look(workspace, settings, environ)
    findings += _folder(workspace)
    findings += _permissions(workspace)
    findings += _journal(app)
    findings += app.sessions.terminal.diagnose()
    findings += _projects(app)
    return findings


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info[:2] < NEEDED_PYTHON:
        return _critical("python", f"Python {version} is too old", "install Python 3.11 or newer")
    return _good("python", f"Python {version}")


def _locale() -> Finding:
    encoding = locale.getpreferredencoding(do_setlocale=False)
    if encoding.replace("-", "").lower() == "utf8":
        return _good("locale", f"texts are {encoding}")
    return _warning("locale", f"the locale's encoding is {encoding}: file names may be mangled", "set LANG=C.UTF-8")


def _on_path(workspace: Path, environ: Mapping[str, str]) -> Finding:
    """Look where workers look: their PATH begins with the folder of the devclaw that runs now."""
    found = shutil.which("devclaw", path=base_environment(environ, workspace)["PATH"])
    if found is None:
        mend = "install the package (pip install devclaw-py), or put devclaw into a folder of PATH"
        return _critical("program", "workers cannot find devclaw: it is in no folder of their PATH", mend)
    return _good("program", f"workers report with {found}")


def _settings(settings: Settings, workspace: Path) -> Iterator[Finding]:
    yield from open_agent(settings.agent, workspace).diagnose()
    try:
        notifier_for(settings)
    except ConfigError as error:
        yield _critical("notify", str(error), error.hint or "name the command, or set kind to none")
        return
    if settings.notify.kind == "command" and shutil.which(settings.notify.argv[0]) is None:
        yield _critical("notify", f"{settings.notify.argv[0]} is not an executable program", "write its absolute path")


def _folder(workspace: Path) -> Iterator[Finding]:
    there = next(folder for folder in (workspace, *workspace.parents) if folder.exists())
    if not os.access(there, os.W_OK | os.X_OK):
        yield _critical("workspace", f"{there} is not writable", "make it writable for this user, or choose another")
    elif there != workspace:
        yield _warning(
            "workspace", f"{workspace} does not exist yet; the first write makes it", "devclaw devclaw-setup"
        )
    else:
        yield from _inside(workspace)
    free = shutil.disk_usage(there).free
    said = f"{free // 1_000_000} MB are free on the disk of {there}"
    if free < TIGHT_BYTES:
        kind = _critical if free < FULL_BYTES else _warning
        yield kind("disk", said, "free some space on that disk")
    else:
        yield _good("disk", said)


def _inside(workspace: Path) -> Iterator[Finding]:
    """Try the folders that are written to: each may have an owner of its own."""
    closed = []
    for path in (workspace / "memory", workspace / "roles", workspace / "memory" / "sessions"):
        if path.exists() and not (path.is_dir() and os.access(path, os.W_OK | os.X_OK)):
            closed.append(path)
            yield _critical("workspace", f"{path} is no folder that can be written to", "make it one, for this user")
    if not closed:
        yield _good("workspace", f"{workspace} is writable")


def _permissions(workspace: Path) -> Iterator[Finding]:
    """Look at what holds secrets: session folders are 0700, tokens 0600."""
    root = workspace / "memory" / "sessions"
    if not root.is_dir():
        return
    try:
        private = [(path, 0o700) for path in root.iterdir() if path.is_dir()]
        private += [(path, 0o600) for path in root.glob("*/token")]
        open_to_others = [(path, mode) for path, mode in private if stat.S_IMODE(path.stat().st_mode) & 0o077]
    except OSError as error:
        yield _critical("permissions", f"{error.filename}: {error.strerror}", "make it readable for this user")
        return
    for path, mode in open_to_others:
        yield _critical("permissions", f"others can read {path}", f"chmod {mode:o} {path}")
    if not open_to_others:
        yield _good("permissions", f"the sessions in {root} are closed to others")


def _journal(app: App) -> Iterator[Finding]:
    try:
        intents = app.store.journal.intents()
    except (DevClawError, OSError) as error:
        broken = isinstance(error, StateCorrupt)
        mend = "move the file away; the label of each issue says where it stands" if broken else "leave it where it is"
        yield _critical("journal", str(error), getattr(error, "hint", None) or mend)
        return
    if intents:
        said = f"{len(intents)} operations are under way, interrupted or wait"
        yield _warning("journal", said, "devclaw recover settles what was left")
    else:
        yield _good("journal", "the journal opens; nothing was left open")


def _projects(app: App) -> Iterator[Finding]:
    try:
        projects = app.store.registry.all()
        stored = app.store.registry.exists
    except (DevClawError, OSError) as error:
        yield _critical("registry", str(error), getattr(error, "hint", None) or "mend the file by hand; it is kept")
        yield from app.work.diagnose(None)
        return
    if not projects:
        said = (
            "no project is registered" if stored else "there is no memory/projects.json yet: no project is registered"
        )
        yield _warning("registry", said, "devclaw project-register --help")
    else:
        yield _good("registry", f"{len(projects)} projects are registered")
    yield from app.work.diagnose(None)
    for project in projects.values():
        # What is said about git itself was said above, once.
        yield from (finding for finding in app.work.diagnose(project) if finding.type != "git")
        try:
            if project.provider is not Provider.LOCAL:
                yield from app.forges.diagnose(project)
            yield from app.open_tracker(project).diagnose()
        except (DevClawError, OSError) as error:
            yield _critical("tracker", f"{project.name}: {error}", getattr(error, "hint", None) or "")


def _good(kind: str, message: str) -> Finding:
    return Finding(type=kind, severity=Severity.OK, message=message)


def _warning(kind: str, message: str, mend: str) -> Finding:
    return Finding(type=kind, severity=Severity.WARNING, message=message, mend=mend)


def _critical(kind: str, message: str, mend: str) -> Finding:
    return Finding(type=kind, severity=Severity.CRITICAL, message=message, mend=mend)
