"""What every face does first: find the workspace, load its settings, wire the hands, learn who is calling."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from devclaw_py.app import App, open_app
from devclaw_py.errors import ConfigError, NotAllowed
from devclaw_py.kernel import faults
from devclaw_py.kernel.config import Loaded, find_workspace, load
from devclaw_py.model.caller import HUMAN, Caller, CallerKind
from devclaw_py.model.settings import NotifySettings, Settings

# Which parameter a worker's environment fills in, per tool. Its role is known from its token.
FROM_ENVIRONMENT = {
    "task_complete": {"issueId": "DEVCLAW_ISSUE", "attempt": "DEVCLAW_ATTEMPT"},
    "task_comment": {"issueId": "DEVCLAW_ISSUE"},
}


def locate(flag: str | Path | None, environ: Mapping[str, str]) -> Path:
    """Return the workspace that is meant.

    Raises:
        ConfigError: a file stands in its place, or the current folder is gone.
    """
    try:
        here = Path.cwd()
    except FileNotFoundError:
        raise ConfigError("the current folder does not exist any more", hint="change into another one") from None
    return find_workspace(flag, environ, here)


def settings_of(flag: str | Path | None, environ: Mapping[str, str]) -> tuple[Path, Loaded]:
    """Return the workspace and its settings, each with where it came from.

    Raises:
        ConfigError: a setting cannot be used; names file, line and key.
    """
    workspace = locate(flag, environ)
    return workspace, load(workspace, environ)


def open_for_report(flag: str | Path | None, environ: MutableMapping[str, str], broken: ConfigError) -> App:
    """Return the hands of a workspace whose settings are broken: good for keeping a worker's report, nothing else.

    A slip in devclaw.toml must not cost a report; it is carried out once the file is mended.
    """
    workspace = locate(flag, environ)
    return replace(open_app(workspace, Settings(), environ=environ), unusable=broken)


def open_workspace(flag: str | Path | None, environ: MutableMapping[str, str]) -> App:
    """Return the hands of the workspace that is meant.

    Raises:
        ConfigError: a setting cannot be used; names file, line and key.
    """
    workspace, loaded = settings_of(flag, environ)
    points = faults.from_environment(environ, known=_fail_points)
    return open_app(workspace, loaded.settings, environ=environ, faults=points)


def _fail_points() -> tuple[str, ...]:
    # Here, because only a test that stops a process needs the table of all operations.
    from devclaw_py.operations.registry import fail_points

    return fail_points()


def open_to_look(flag: str | Path | None, environ: Mapping[str, str]) -> App:
    """Return hands for looking only: a notifier that cannot be used is no hindrance.

    Raises:
        ConfigError: a setting has no meaning at all.
    """
    workspace, loaded = settings_of(flag, environ)
    return hands_to_look(workspace, loaded.settings, environ)


def hands_to_look(workspace: Path, settings: Settings, environ: Mapping[str, str]) -> App:
    """Return the hands of a workspace, a silent notifier in the place of one that cannot be used."""
    try:
        return open_app(workspace, settings, environ=environ)
    except ConfigError:
        silent = settings.model_copy(update={"notify": NotifySettings()})
        return open_app(workspace, silent, environ=environ)


def who_calls(app: App, environ: Mapping[str, str]) -> Caller:
    """Return the worker whose token the environment holds or below whose session this process runs, else a human.

    Raises:
        NotAllowed: the token is unknown or revoked; such a caller is never taken for a human.
    """
    token, token_file = environ.get("DEVCLAW_TOKEN"), environ.get("DEVCLAW_TOKEN_FILE")
    if token is None and token_file is not None:
        try:
            token = Path(token_file).read_text(encoding="utf-8").strip()
        except OSError:
            raise _unknown(f"the token file {token_file} cannot be read") from None
    if token is not None:
        place = app.sessions.worker_of(token)
        if place is None:
            raise _unknown("the token in the environment belongs to no live worker session")
    else:
        place = app.sessions.worker_above(os.getpid())
        if place is None:
            return HUMAN
    return Caller(
        kind=CallerKind.WORKER, group_id=place.group_id, role=place.role, tier=place.tier, session=place.session
    )


def require_person(app: App, environ: Mapping[str, str], deed: str) -> Caller:
    """Return the human who calls.

    Raises:
        NotAllowed: a worker calls; ``deed`` is no business of its.
    """
    caller = who_calls(app, environ)
    if caller.kind is CallerKind.WORKER:
        raise NotAllowed(f"{caller} may not {deed}; that is for people", hint="report with task_complete")
    return caller


def _unknown(found: str) -> NotAllowed:
    return NotAllowed(f"{found}; a call from there cannot be told from a stranger's", hint="restart the session")


def filled_in(tool: str, arguments: Mapping[str, Any], environ: Mapping[str, str], caller: Caller) -> dict[str, Any]:
    """Return a worker's arguments with what its token and its environment say of its task."""
    found = dict(arguments)
    if tool == "task_complete" and caller.role is not None:
        found.setdefault("role", caller.role.value)
    for name, variable in FROM_ENVIRONMENT.get(tool, {}).items():
        value = environ.get(variable)
        if value and name not in found:
            found[name] = int(value) if value.isdecimal() else value
    return found
