"""The orchestrator's part of the demo: it hands out what is queued; reports and QA's pickups follow by themselves."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import FrameType
from typing import Protocol

from devclaw_py import catalogue
from devclaw_py.agents.look import LookStatus
from devclaw_py.app import App
from devclaw_py.chat.pump import pump
from devclaw_py.demo import sample
from devclaw_py.demo.board import Board, Chat, Worker, chat_of, look
from devclaw_py.demo.cast import Player, Speed, assemble
from devclaw_py.demo.hub import Hub, emulated
from devclaw_py.demo.prepare import GROUP, ORCHESTRATOR, Tracker, alone_in, prepare
from devclaw_py.demo.repository import BASE, GIT_S, SuiteRun, run_tests_of
from devclaw_py.demo.summary import Summary, summarise
from devclaw_py.errors import DevClawError, SessionFailed
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.pipeline import Role, State
from devclaw_py.operations.wishes import carry_out
from devclaw_py.rules import workflow
from devclaw_py.work.command import Git

TURN_S = 0.1
AT_WORK = frozenset({LookStatus.WORKING, LookStatus.STARTING})
# The worker whose report made a wish tries it first; only what it could not do is left for the orchestrator.
WISH_AGE = timedelta(seconds=1)
# What passes when a worker is done.
PASSING = frozenset({"worker_busy", "queue_empty", "issue_claimed", "project_busy", "conflict", "role_mismatch"})
ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
STOP_TRIES = 5
SCREEN_LINES = 20


class Show(Protocol):
    """Who draws the demo."""

    def say(self, text: str) -> None:
        """Show one line of the demo's own, or one that the group was told: other people's text."""
        ...

    def draw(self, board: Board, seconds: float) -> None:
        """Show the board as it is now, ``seconds`` after the start."""
        ...


class Stuck(DevClawError):
    """The demo cannot come to its end; the message says what hangs."""

    code = "session_failed"
    exit_code = 3


@dataclass
class Demo:
    """One run over a prepared workspace; ``started`` is the clock's monotonic time of its start."""

    app: App
    show: Show
    limit_s: float
    started: float
    chat: Chat = field(init=False)

    def __post_init__(self) -> None:
        self.chat = chat_of(self.app)

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return self.app.clock.monotonic() - self.started

    def play(self) -> None:
        """Let the workers take every issue to Done.

        Raises:
            Stuck: an issue waits for a person, or the time is up.
            DevClawError: a pickup failed for a reason that waiting does not mend.
        """
        deadline = self.app.clock.monotonic() + self.limit_s
        while True:
            pump(self.app.store, self.app.notifier, self.app.clock, group_id=GROUP)
            for line in self.chat.news():
                self.show.say(line)
            board = look(self.app)
            self.show.draw(board, self.seconds)
            if self._finished(board):
                return
            self._check_waiting(board)
            if self.app.clock.monotonic() > deadline:
                raise Stuck(f"the demo is not at its end after {self.limit_s:g} s; {self._what_hangs(board)}")
            self._hand_out(board)
            self.app.clock.sleep(TURN_S)

    def _finished(self, board: Board) -> bool:
        journal = self.app.store.journal
        under_way = journal.intents(GROUP) or journal.wishes(GROUP) or journal.outbox(GROUP)
        working = any(w.issue is not None or w.status is LookStatus.WORKING for w in board.workers)
        return all(card.state is State.DONE and card.closed for card in board.cards) and not (under_way or working)

    def _check_waiting(self, board: Board) -> None:
        waiting = [c for c in board.cards if c.state in (State.REFINING, State.PLANNING)]
        if waiting:
            project = self.app.store.registry.get(GROUP)
            said = self.app.open_tracker(project).comments(waiting[0].number)
            why = f": {said[-1].body}" if said else ""
            raise Stuck(f"#{waiting[0].number} is in {waiting[0].state} and waits for a person{why}")

    def _what_hangs(self, board: Board) -> str:
        states = ", ".join(f"#{card.number} {card.state or 'without one state'}" for card in board.cards)
        screens = [self._screen(worker) for worker in board.workers if worker.issue is not None]
        return "\n".join([f"issues: {states}", *screens])

    def _screen(self, worker: Worker) -> str:
        try:
            shown = self.app.sessions.terminal.screen(worker.session, lines=SCREEN_LINES)
        except SessionFailed as error:
            shown = str(error)
        return f"{worker.role.upper()} ({worker.session}, {worker.status}) holds #{worker.issue}; its screen:\n{shown}"

    def _hand_out(self, board: Board) -> None:
        """Do what a heartbeat would: first what should follow, then the next issue for a free dev."""
        project = self.app.store.registry.get(GROUP)
        # A pickup for a worker that clears up after its report would wait for it and hold the project meanwhile.
        at_work = {worker.role for worker in board.workers if worker.status in AT_WORK}
        free = {role for role in Role if project.open_seats(role)} - at_work
        wishes = [wish for wish in self.app.store.journal.wishes(GROUP) if wish.role in free]
        if any(wish.at + WISH_AGE < self.app.clock.now() for wish in wishes):
            carry_out(self.app, GROUP)
            return
        queued = any(card.state in workflow.queues_of(Role.DEV) for card in board.cards)
        if queued and Role.DEV in free and not any(wish.role is Role.DEV for wish in wishes):
            self._pick_up()

    def _pick_up(self) -> None:
        answer = catalogue.call(self.app, "task_pickup", {"role": Role.DEV.value}, ORCHESTRATOR)
        if not answer["success"] and answer["error"]["code"] not in PASSING:
            raise Stuck(f"task_pickup: {answer['error']['message']}", hint=answer["error"].get("hint"))


@dataclass(frozen=True)
class Play:
    """What a person wants to see, and where; ``limit_s`` are the seconds that it may take."""

    folder: Path
    player: Player
    speed: Speed
    limit_s: float
    keep_sessions: bool
    tracker: Tracker = Tracker.LOCAL


def run(play: Play, *, show: Show, environ: Mapping[str, str]) -> Summary:
    """Play the demo in an empty folder, and return what came of it.

    The sessions are stopped at the end, however it comes, unless they are to be kept; everything else stays.

    Raises:
        ConfigError: the folder cannot be used.
        Stuck: it did not come to its end.
        KeyboardInterrupt: a person or the system ended it.
    """
    started = SystemClock().monotonic()
    folder = play.folder
    with (
        interruptible(),
        alone_in(folder),
        assemble(play.player, folder, play.speed, environ) as cast,
        _hub(play.tracker, folder, environ) as hub,
    ):
        show.say(f"Workspace: {folder}")
        if cast.told is not None:
            show.say(f"Workers: {cast.told}")
        app = prepare(folder, cast, hub)
        demo = Demo(app, show, play.limit_s, started)
        try:
            before = _tests_of_base(app, environ)
            show.say(f"The tests of {BASE}: {before.words}")
            demo.play()
            return summarise(app, before=before, after=_tests_of_base(app, environ), seconds=demo.seconds)
        finally:
            if not play.keep_sessions:
                stop_sessions(app)


def _hub(tracker: Tracker, folder: Path, environ: Mapping[str, str]) -> AbstractContextManager[Hub | None]:
    return emulated(folder, environ) if tracker is Tracker.GITHUB else nullcontext()


def _tests_of_base(app: App, environ: Mapping[str, str]) -> SuiteRun:
    return run_tests_of(Git(GIT_S), app.workspace / sample.NAME, BASE, environ=environ)


def stop_sessions(app: App) -> None:
    """Stop every session of the workspace, and those that a worker starts while the others are stopped.

    Raises:
        SessionFailed: some live on, or tmux could not be asked.
    """
    for _ in range(STOP_TRIES):
        found = app.sessions.terminal.sessions()
        if not found:
            app.sessions.terminal.close()
            return
        for session in found:
            app.sessions.save_screen(session.name)
            app.sessions.stop(session.name)
    raise SessionFailed(f"sessions of {app.workspace} live on", hint="devclaw status names them")


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn the first signal that asks for an end into KeyboardInterrupt; further ones would leave sessions behind."""
    before = {number: signal.signal(number, _interrupt) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            # None stands for one that was not set by Python, and cannot be set by it again.
            if handler is not None:
                signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise KeyboardInterrupt
