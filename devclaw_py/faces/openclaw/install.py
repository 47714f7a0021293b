"""``devclaw openclaw install``: the plugin into the gateway, and this Python into the plugin's configuration."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.errors import ConfigError, SessionFailed
from devclaw_py.faces.openclaw.checks import PROGRAM
from devclaw_py.faces.openclaw.manifest import FOLDER, ID
from devclaw_py.kernel import proc

INSTALL_S = 300.0
SHOWN_CHARS = 600


@dataclass(frozen=True)
class Plan:
    """What an installation does, to be shown before it is done."""

    program: str
    source: Path
    link: bool
    patch: str

    @property
    def install(self) -> list[str]:
        """The gateway's command that installs the plugin."""
        words = ["plugins", "install", *(["--link"] if self.link else []), str(self.source)]
        return [self.program, *words, "--force", "--accept-capabilities"]

    @property
    def configure(self) -> list[str]:
        """The gateway's command that takes the configuration from standard input."""
        return [self.program, "config", "patch", "--stdin"]


def plan(environ: Mapping[str, str], workspace: Path, *, link: bool) -> Plan:
    """Return what is to be done.

    Raises:
        ConfigError: there is no openclaw.
    """
    program = shutil.which(PROGRAM, path=environ.get("PATH"))
    if program is None:
        raise ConfigError("there is no openclaw in any folder of PATH", hint="npm install -g openclaw, then once more")
    entry = {"enabled": True, "config": {"python": sys.executable, "workspace": str(workspace)}}
    patch = json.dumps({"plugins": {"entries": {ID: entry}}})
    return Plan(program, FOLDER, link, patch)


def carry_out(found: Plan, environ: Mapping[str, str]) -> None:
    """Install and configure; what stands in the configuration beside the named keys stays as it is.

    Raises:
        SessionFailed: the gateway's program refused or did not end; its words are in the message.
    """
    _run(found.install, environ)
    _run(found.configure, environ, stdin=found.patch)


def _run(argv: list[str], environ: Mapping[str, str], stdin: str | None = None) -> None:
    try:
        done = proc.run(argv, timeout_s=INSTALL_S, env=environ, stdin=stdin)
    except proc.NotAnswered as error:
        raise SessionFailed(str(error)) from error
    if done.code != 0:
        said = " ".join((done.err + " " + done.out).split())[-SHOWN_CHARS:]
        raise SessionFailed(f"{' '.join(argv[1:4])} ended with exit code {done.code}: {said}")
