"""The rows of devclaw_setup: every file by backup and rename, the settings last."""

from __future__ import annotations

from pathlib import Path

from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.errors import ConfigError
from devclaw_py.kernel import files
from devclaw_py.kernel.resources import role_text, workspace_text
from devclaw_py.model.journal import Closing, Intent
from devclaw_py.model.pipeline import Role
from devclaw_py.operations.steps import Operation, Step, interrupted, never
from devclaw_py.rules import announce

TEXTS = ("AGENTS.md", "HEARTBEAT.md")
SETTINGS_FILE = "devclaw.toml"


def _texts(app: App, intent: Intent) -> Intent:
    written, backups = [], []
    for name in TEXTS:
        backup = _replace(app.workspace / name, workspace_text(name))
        if backup is not None:
            written.append(name)
            backups += [backup] if backup else []
    return intent.knowing(written=written, backups=backups)


def _replace(path: Path, text: str) -> str | None:
    """Write ``text``; return None if it stood there already, else the backup's name, empty if there was nothing."""
    before = files.read(path)
    if before == text.encode():
        return None
    backup = ""
    if before is not None:
        backup = files.back_up(path, before)
    files.write(path, text.encode())
    return backup


def _roles(app: App, intent: Intent) -> Intent:
    """Write the default role texts where there are none: people edit them."""
    written = list(intent.payload.get("written", ()))
    folder = files.folder(app.workspace / "roles" / "default")
    for role in Role:
        path = folder / f"{role}.md"
        if not path.exists():
            files.write(path, role_text(role).encode())
            written.append(f"roles/default/{role}.md")
    return intent.knowing(written=written)


def _settings(app: App, intent: Intent) -> Intent:
    """Set the models that were named in devclaw.toml; everything else in it stays as it is, comments too."""
    models = intent.payload["models"]
    if not models:
        return intent
    # Here, because no other call of a tool needs it and each is a process of its own.
    import tomlkit

    path = app.workspace / SETTINGS_FILE
    try:
        document = tomlkit.parse((files.read(path) or b"").decode("utf-8"))
    except ValueError as error:
        found = f"{path} is no TOML and was left as it is: {error}"
        raise ConfigError(found, hint="mend it, then call again") from error
    section = document.setdefault("models", tomlkit.table())
    if not isinstance(section, dict):
        raise ConfigError(f"{path}: models is a section; write [models] and its keys below", hint="then call again")
    section.update(models)
    backup = _replace(path, tomlkit.dumps(document))
    if backup is None:
        return intent
    backups = [*intent.payload.get("backups", ()), *([backup] if backup else [])]
    return intent.knowing(written=[*intent.payload["written"], SETTINGS_FILE], backups=backups)


def _finish(app: App, intent: Intent) -> Closing:
    facts = intent.payload
    written, backups = facts.get("written", []), facts.get("backups", [])
    told = announce.set_up(str(app.workspace), written=written, kept=backups)
    told = told.noting(*facts.get("warnings", ()))
    answer = {
        "success": True,
        "workspacePath": str(app.workspace),
        "filesWritten": written,
        "backups": backups,
        "models": facts["models"],
        "warnings": facts.get("warnings", []),
        "announcement": plain(told),
    }
    return Closing(facts={"filesWritten": written, "backups": backups, "models": facts["models"]}, answer=answer)


SETUP = Operation(
    kind="setup",
    first="intent",
    steps=(Step(2, "texts", _texts, never), Step(3, "roles", _roles, never), Step(4, "settings", _settings, never)),
    committed=lambda app, intent: not intent.undoing and intent.phase >= 4,
    finish=_finish,
    undone=interrupted,  # every file is whole and has its backup; a later set-up goes on
)
