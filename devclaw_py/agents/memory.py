"""An agent without a program, for tests and the simulator: it accepts what is typed to it, or does not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from devclaw_py.agents import mailbox
from devclaw_py.agents.base import AgentState, Launch, Workplace
from devclaw_py.model.finding import Finding


class MemoryAgent:
    """Implements `Agent` over `MemoryTerminal`, whose ``worker`` is `type`.

    ``accepts`` False is an agent that never reads its terminal. ``received`` holds (session, offer) in order, and
    ``refused`` those whose offer was gone.
    """

    kind = "memory"

    def __init__(self) -> None:
        self.accepts = True
        self.resumes = False
        self.working: set[str] = set()
        self.endings: dict[str, str] = {}
        self.received: list[tuple[str, str]] = []
        self.refused: list[tuple[str, str]] = []

    def type(self, name: str, text: str) -> None:
        """Read one typed line as the agent of session ``name`` would."""
        word, _, rest = text.partition(" ")
        if word != "task" or not self.accepts:
            return
        offer, _, task_file = rest.partition(" ")
        folder = Path(task_file).parent.parent
        (self.received if mailbox.accept(folder, offer) else self.refused).append((name, offer))

    def launch(self, place: Workplace, *, resume: bool, base_env: Mapping[str, str]) -> Launch:
        """Return something to start that is never run."""
        return Launch(argv=("agent", place.session), env={"DEVCLAW_WORKSPACE": str(place.workspace)})

    def can_resume(self, place: Workplace) -> bool:
        """Say what ``resumes`` says."""
        return self.resumes

    def state(self, folder: Path) -> AgentState:
        """Return working for the sessions in ``working``, else idle."""
        return AgentState.WORKING if folder.name in self.working else AgentState.IDLE

    def silent(self, folder: Path, offer: str) -> str | None:
        """Return the ending that was set for an offer."""
        return self.endings.get(offer)

    def line(self, offer: str, task_file: Path) -> str:
        """Return the line that `type` understands."""
        return f"task {offer} {task_file}"

    def notice(self, text: str) -> str:
        """Return a line that is no task."""
        return f"notice {text}"

    def diagnose(self) -> list[Finding]:
        """Nothing can be wrong with it."""
        return []
