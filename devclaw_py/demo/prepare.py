"""Everything that must stand before the first worker starts: tools, folder, repository, workspace, project, issues."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any

from devclaw_py import catalogue
from devclaw_py.app import App, open_app
from devclaw_py.demo import command, sample, story
from devclaw_py.demo.cast import Cast
from devclaw_py.demo.hub import TOKEN, Hub, publish
from devclaw_py.demo.repository import BASE, make_repository
from devclaw_py.errors import ConfigError, ProjectBusy
from devclaw_py.kernel import config, files
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.kernel.locks import hold
from devclaw_py.model.caller import Caller, CallerKind
from devclaw_py.model.finding import Severity
from devclaw_py.model.pipeline import State
from devclaw_py.model.settings import TerminalSettings, TimeoutSettings
from devclaw_py.terminals.tmux import TmuxTerminal
from devclaw_py.work.git import GitWork

GROUP, GROUP_NAME = "-1001", "The shop"
ORCHESTRATOR = Caller(kind=CallerKind.ORCHESTRATOR, group_id=GROUP)
CHAT, LOCK = "chat.ndjson", "demo.lock"
REMOTE, TOKEN_FILE = "remote.git", "github.token"
# Three tiers of dev and one of qa: each desk keeps its session to the end, however little memory is free.
SESSIONS = 4


class Tracker(StrEnum):
    """Where the demo's issues are."""

    LOCAL = "local"
    GITHUB = "github"


def choose_folder(wanted: Path | None) -> Path:
    """Return the workspace's folder, made if it is missing; a new temporary one when none is wanted.

    Raises:
        ConfigError: it cannot be made.
    """
    if wanted is None:
        with files.writing(Path(tempfile.gettempdir())):
            return Path(tempfile.mkdtemp(prefix="devclaw-demo-")).resolve()
    return files.folder(wanted.expanduser()).resolve()


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold the folder for one demo and prove that nothing else is in it.

    Raises:
        ConfigError: a demo runs there, or it is not empty.
    """
    clock, lock = SystemClock(), folder / LOCK
    found = sorted(path.name for path in folder.iterdir() if path.name != LOCK)
    if found and not lock.exists():
        raise _not_empty(folder, found)
    try:
        with files.writing(lock), hold(lock, wait_s=0, holder="devclaw demo", clock=clock):
            if found:
                raise _not_empty(folder, found)
            yield
    except ProjectBusy:
        raise ConfigError(
            f"a demo is running in {folder} already", hint="look on with devclaw attach, or choose another --dir"
        ) from None


def _not_empty(folder: Path, found: list[str]) -> ConfigError:
    return ConfigError(
        f"{folder} is not empty: it holds {', '.join(found[:3])}{' ...' if len(found) > 3 else ''}",
        hint="choose a new folder with --dir, or leave it out",
    )


def check_machine() -> None:
    """Prove that tmux and git can be used.

    Raises:
        ConfigError: one is missing or too old; says what to install.
    """
    terminal = TmuxTerminal(Path(tempfile.gettempdir()), TerminalSettings(), TimeoutSettings())
    found = [*terminal.diagnose(), *GitWork(TimeoutSettings()).diagnose(None)]
    bad = [finding for finding in found if finding.severity is Severity.CRITICAL]
    if bad:
        told = "; ".join(finding.message for finding in bad)
        raise ConfigError(
            f"the demo needs tmux and git: {told}", hint="; ".join(finding.mend for finding in bad if finding.mend)
        )


def prepare(folder: Path, cast: Cast, hub: Hub | None = None) -> App:
    """Make the repository, the workspace, its project and its issues, and return the workspace's hands.

    With a ``hub`` the issues are there, and the work goes through its requests.

    Raises:
        ConfigError, RepositoryError: something could not be made.
    """
    make_repository(folder / sample.NAME)
    settings, lives = _settings(folder, cast), {"provider": "local"}
    if hub is not None:
        publish(folder / sample.NAME, folder / REMOTE)
        hub.make_repository(folder / REMOTE)
        files.write(folder / TOKEN_FILE, TOKEN.encode(), mode=files.PRIVATE)
        settings += "\n" + _forge(hub)
        lives = {"provider": "github", "remote": hub.address}
    files.write(folder / config.FILE, settings.encode())
    app = open_app(folder, config.load(folder, cast.environ).settings, environ=cast.environ)

    done(app, "devclaw_setup")
    done(
        app,
        "project_register",
        name=sample.NAME,
        repo=str(folder / sample.NAME),
        baseBranch=BASE,
        groupName=GROUP_NAME,
        autoChain=True,
        **lives,
    )
    for chapter in story.CHAPTERS:
        done(app, "task_create", title=chapter.title, description=chapter.body, label=State.TO_DO.value)
    return app


def _settings(folder: Path, cast: Cast) -> str:
    teller = command.module("devclaw_py.demo.teller", str(folder / CHAT))
    sections: dict[str, dict[str, object]] = {
        "agent": cast.agent.model_dump(exclude_defaults=True, mode="json") | {"kind": cast.agent.kind},
        "notify": {"kind": "command", "argv": teller},
        "limits": {"sessions": SESSIONS},
    }
    return "\n".join(line for name, keys in sections.items() for line in _section(name, keys))


def _section(name: str, keys: Mapping[str, object]) -> list[str]:
    # JSON's strings and lists are TOML's, as long as no letter is written as a pair of surrogates.
    return [f"[{name}]", *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in keys.items()), ""]


def _forge(hub: Hub) -> str:
    # The emulated GitHub has no limits, and a demo is in a hurry.
    keys = {"hosts": [hub.web], "token_file": TOKEN_FILE, "writes_per_minute": 100_000, "writes_per_hour": 1_000_000}
    return "\n".join(_section("github", keys))


def done(app: App, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - a tool's arguments are JSON
    """Call a tool as the group's orchestrator; it must succeed.

    Raises:
        ConfigError: it did not.
    """
    answer = catalogue.call(app, tool, arguments, ORCHESTRATOR)
    if not answer["success"]:
        raise ConfigError(f"{tool}: {answer['error']['message']}", hint=answer["error"].get("hint"))
    return answer
