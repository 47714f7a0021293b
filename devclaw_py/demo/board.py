"""The project as it stands at one moment, for whoever draws it."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, field
from pathlib import Path

from devclaw_py.agents.look import LookStatus
from devclaw_py.app import App
from devclaw_py.demo.command import typed
from devclaw_py.demo.prepare import CHAT, GROUP
from devclaw_py.errors import SessionFailed
from devclaw_py.kernel import files
from devclaw_py.model.pipeline import Role, State, Tier
from devclaw_py.model.project import Project
from devclaw_py.rules.labels import states_in

COLUMNS = (State.TO_DO, State.DOING, State.TO_TEST, State.TESTING, State.TO_IMPROVE, State.DONE)
LINK = "🔗 "


@dataclass(frozen=True)
class Card:
    """One issue. ``title`` is other people's text. A state outside the columns is none of the board's."""

    number: int
    title: str
    state: State | None
    closed: bool


@dataclass(frozen=True)
class Worker:
    """One session and the issue in its hands."""

    session: str
    role: Role
    tier: Tier
    status: LookStatus
    issue: int | None


@dataclass(frozen=True)
class Board:
    """What is drawn. ``attach`` is the command with which a person looks over a worker's shoulder."""

    cards: tuple[Card, ...]
    workers: tuple[Worker, ...]
    attach: str | None


def look(app: App) -> Board:
    """Return the board as it is now.

    Raises:
        TrackerError: the issues could not be read.
    """
    project = app.store.registry.get(GROUP)
    cards = []
    for task in app.open_tracker(project).list_all():
        found = states_in(task.labels)
        cards.append(Card(task.number, task.title, found[0] if len(found) == 1 else None, task.closed))
    workers = _workers(app, project)
    held = next((worker for worker in workers if worker.issue is not None), None)
    return Board(tuple(cards), workers, _attach(app, project, held) if held else None)


def _attach(app: App, project: Project, worker: Worker) -> str:
    words = (typed(), "attach", project.slug, worker.role, worker.tier, "--workspace", str(app.workspace))
    return shlex.join(words)


def _workers(app: App, project: Project) -> tuple[Worker, ...]:
    try:
        looks, unseen = app.sessions.looks(), LookStatus.ABSENT
    except SessionFailed:
        looks, unseen = {}, LookStatus.UNKNOWN
    found = []
    for key, seat in project.seats().items():
        for tier in (tier for tier in Tier if tier.role is key.role):
            session = seat.session(tier)
            if session is not None:
                status = looks[session].status if session in looks else unseen
                found.append(Worker(session, tier.role, tier, status, seat.issue if seat.tier is tier else None))
    return tuple(found)


@dataclass
class Chat:
    """Reads the group's chat as it grows."""

    path: Path
    _read: int = field(default=0, init=False)

    def news(self) -> list[str]:
        """Return the first line and the notes of each announcement since the last call; links are left out.

        Raises:
            ConfigError: the file cannot be read.
        """
        whole = (files.read(self.path) or b"")[self._read :]
        complete, newline, _ = whole.rpartition(b"\n")
        self._read += len(complete) + len(newline)
        return [_told(json.loads(line)["text"]) for line in complete.split(b"\n") if line.strip()]


def _told(text: str) -> str:
    return " ".join(line for line in text.split("\n") if not line.startswith(LINK))


def chat_of(app: App) -> Chat:
    """Return the chat of the demo's group."""
    return Chat(app.workspace / CHAT)
