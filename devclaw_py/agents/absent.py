"""The agent that this version does not have: everything but starting it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from devclaw_py.agents.base import AgentState, Workplace
from devclaw_py.errors import ConfigError
from devclaw_py.model.finding import Finding, Severity

HINT = 'set [agent] kind = "scripted" and program in devclaw.toml'


class AbsentAgent:
    """Stands in where ``[agent] kind`` names an agent that is not there.

    A workspace can be set up, looked at and repaired without an agent; only a worker's start needs one.
    """

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._message = (
            f'[agent] kind = "{kind}" comes with a later version; this one has kind = "scripted", which runs '
            "[agent] program for each task"
        )

    @property
    def kind(self) -> str:
        """The name in ``[agent] kind``."""
        return self._kind

    def launch(self, place: Workplace, *, resume: bool, base_env: Mapping[str, str]) -> NoReturn:
        """Refuse.

        Raises:
            ConfigError: always; it names the setting.
        """
        raise ConfigError(self._message, hint=HINT)

    def can_resume(self, place: Workplace) -> bool:
        """Say that no conversation can be continued."""
        return False

    def state(self, folder: Path) -> AgentState:
        """Return that nothing is known."""
        return AgentState.UNKNOWN

    def silent(self, folder: Path, offer: str) -> str | None:
        """Return that nothing is known."""
        return None

    def line(self, offer: str, task_file: Path) -> str:
        """Return what nobody reads."""
        return ""

    def notice(self, text: str) -> str:
        """Return the text as it is."""
        return text

    def diagnose(self) -> list[Finding]:
        """Return that there is no such agent."""
        return [Finding(type="agent", severity=Severity.CRITICAL, message=self._message, mend=HINT)]
