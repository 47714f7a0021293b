"""The real Claude Code against the stand-in: private HOME, no API key, no traffic but to loopback."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.agents.standin.server import StandIn
from devclaw_py.kernel import proc

TURN_S = 120.0

QUIET = {
    "CLAUDE_CODE_DISABLE_ALTERNATE_SCREEN": "1",
    "CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL": "1",
    "CLAUDE_CODE_DISABLE_TERMINAL_TITLE": "1",
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_TELEMETRY": "1",
}


def claude_program() -> str:
    """Return DEVCLAW_CLAUDE_BIN, else the claude on the PATH; skip, or fail where DEVCLAW_REQUIRE names claude."""
    named = os.environ.get("DEVCLAW_CLAUDE_BIN")
    found = shutil.which(named or "claude")
    if found:
        return found
    missing = f"{named or 'claude'} is no program"
    if "claude" in os.environ.get("DEVCLAW_REQUIRE", "").split(","):
        pytest.fail(f"{missing} and DEVCLAW_REQUIRE names claude; .ci/claude installs it")
    pytest.skip(f"{missing}; DEVCLAW_CLAUDE_BIN may name one")


@dataclass(frozen=True)
class Claude:
    """Claude Code in a HOME of its own that trusts ``cwd`` and talks to ``standin``.

    The token stands in the settings of that HOME, so that it is in no argument list and no start command.
    """

    program: str
    home: Path
    cwd: Path
    standin: StandIn
    more: dict[str, str] = field(default_factory=dict)

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "ANTHROPIC_BASE_URL": self.standin.url,
            **{name: value for name, value in {**QUIET, **self.more}.items() if value},
        }

    def show_token(self, token: str) -> None:
        settings = self.home / ".claude" / "settings.json"
        settings.parent.mkdir(exist_ok=True)
        settings.touch(mode=0o600)
        settings.write_text(json.dumps({"env": {"ANTHROPIC_AUTH_TOKEN": token}}))

    def ask(self, prompt: str, *flags: str) -> dict[str, Any]:
        """Run one turn in ``-p`` mode, where Read, Write and Bash are allowed; return what it prints as JSON."""
        argv = [self.program, "-p", prompt, "--output-format", "json", "--permission-mode", "dontAsk"]
        done = proc.run(
            [*argv, *flags, "--allowedTools", "Read,Write,Bash"], timeout_s=TURN_S, cwd=self.cwd, env=self.env
        )
        assert done.out.startswith("{"), done
        found: dict[str, Any] = json.loads(done.out)
        return found

    def status(self, pid: int) -> str:
        """Return what an interactive session says of itself, empty before it does."""
        try:
            found = json.loads((self.home / ".claude" / "sessions" / f"{pid}.json").read_text())
        except (OSError, ValueError):
            return ""
        return str(found.get("status", ""))


@pytest.fixture(scope="session")
def claude_bin() -> str:
    return claude_program()


@pytest.fixture
def standin(tmp_path: Path) -> Iterator[StandIn]:
    with StandIn(folder=tmp_path / "requests") as server:
        yield server


@pytest.fixture
def private_home(tmp_path: Path) -> Path:
    """A HOME whose owner has been through Claude Code's first questions and trusts everything in ``tmp_path``."""
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    trusted = {str(tmp_path): {"hasTrustDialogAccepted": True}}
    (home / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True, "projects": trusted}))
    return home


@pytest.fixture
def make_claude(claude_bin: str, private_home: Path, standin: StandIn, tmp_path: Path) -> Callable[..., Claude]:
    """Return a function that makes a `Claude` with more variables in its environment."""
    cwd = tmp_path / "work tree"
    cwd.mkdir()

    def make(**more: str) -> Claude:
        claude = Claude(claude_bin, private_home, cwd, standin, more)
        claude.show_token(standin.token)
        return claude

    return make


@pytest.fixture
def claude(make_claude: Callable[..., Claude]) -> Claude:
    return make_claude()
