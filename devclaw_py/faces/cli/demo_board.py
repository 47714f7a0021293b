"""The demo on a terminal, as a board that moves, and elsewhere as lines."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from devclaw_py.agents.look import LookStatus
from devclaw_py.chat.text import one_line
from devclaw_py.demo.board import COLUMNS, Board, Card, Worker
from devclaw_py.rules.labels import COLOURS

CHAT_LINES = 10
DRAWS_A_SECOND = 8
LOOK_ON = "Look over a shoulder: {}"
STATUS_STYLES = {LookStatus.WORKING: "bold yellow", LookStatus.IDLE: "green"}


class Lines:
    """One line an event, at once; for pipes and logs."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._attach: str | None = None

    def __enter__(self) -> Self:
        """Nothing is needed."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Nothing is left."""

    def say(self, text: str) -> None:
        """Print the line."""
        self._console.print(Text(one_line(text)), soft_wrap=True)
        self._console.file.flush()

    def draw(self, board: Board, seconds: float) -> None:
        """A board is nothing for a log; that there is something to look at is said once."""
        if self._attach is None and board.attach is not None:
            self._attach = board.attach
            self.say(LOOK_ON.format(board.attach))


class Moving:
    """The board, the workers and the end of the chat, drawn in place."""

    def __init__(self, console: Console) -> None:
        self._chat: deque[str] = deque(maxlen=CHAT_LINES)
        self._live = Live(console=console, refresh_per_second=DRAWS_A_SECOND)

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Leave the last board on the screen."""
        self._live.stop()

    def say(self, text: str) -> None:
        """Add a line to the chat; it is seen with the next board."""
        self._chat.append(text)

    def draw(self, board: Board, seconds: float) -> None:
        """Draw everything anew."""
        self._live.update(picture(board, tuple(self._chat), seconds))


def picture(board: Board, chat: tuple[str, ...], seconds: float) -> Group:
    """Return the board with its workers and its chat; titles and chat are never read as markup."""
    told = Text("\n".join(map(one_line, chat)), overflow="ellipsis", no_wrap=True)
    look_on = Text(LOOK_ON.format(board.attach) if board.attach else "", style="dim")
    return Group(_columns(board, seconds), _workers(board), Panel(told, title="the group's chat"), look_on)


def _columns(board: Board, seconds: float) -> Table:
    table = Table(title=Text(f"devclaw demo, {seconds:.0f} s"), expand=True, padding=(0, 1))
    for state in COLUMNS:
        table.add_column(Text(state.value, style=f"bold #{COLOURS[state]}"), ratio=1)
    table.add_row(*(_cards([card for card in board.cards if card.state is state]) for state in COLUMNS))
    return table


def _cards(cards: list[Card]) -> Text:
    return Text("\n").join(Text(one_line(f"#{card.number} {card.title}")) for card in cards)


def _workers(board: Board) -> Table:
    table = Table(expand=True, show_header=False, box=None, padding=(0, 1))
    for worker in board.workers:
        table.add_row(*_worker(worker))
    return table


def _worker(worker: Worker) -> tuple[Text, Text, Text, Text]:
    return (
        Text(f"{worker.role.upper()} ({worker.tier})", style="bold"),
        Text(worker.status.value, style=STATUS_STYLES.get(worker.status, "dim")),
        Text(f"#{worker.issue}" if worker.issue is not None else ""),
        Text(worker.session, style="dim"),
    )
