"""The demo on a terminal, as a board that moves, and elsewhere as lines."""

from __future__ import annotations

from collections import deque
from types import TracebackType
from typing import Self

from rich.cells import cell_len
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
LOOK_ON = "Look over a shoulder:"
# Below so many lines the cards are cut, so that there is room for the chat.
TALL = 36
# What stands around the chat's lines: its frame, and the line that the cursor is in.
FRAME = 3
# The board's lines between its columns, and the blanks beside them.
BETWEEN = 3 * len(COLUMNS) + 1
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
            self.say(f"{LOOK_ON} {board.attach}")


class Moving:
    """The board, the workers and the end of the chat, drawn in place."""

    def __init__(self, console: Console) -> None:
        self._chat: deque[str] = deque(maxlen=CHAT_LINES)
        self._console = console
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
        self._live.update(picture(self._console, board, tuple(self._chat), seconds))


def picture(console: Console, board: Board, chat: tuple[str, ...], seconds: float) -> Group:
    """Return the board, its workers and as much of the chat's end as the console has room for.

    Titles and chat are never read as markup.
    """
    head = Group(_columns(board, seconds, _card_cells(console)), _workers(board), _look_on(board, console.width))
    room = console.height - FRAME - len(console.render_lines(head))
    told = Text("\n".join(map(one_line, chat[-max(1, room) :])), overflow="ellipsis", no_wrap=True)
    return Group(head, Panel(told, title="the group's chat"))


def _card_cells(console: Console) -> int | None:
    """Return how long a card may be: about two lines of its column where lines are scarce."""
    return None if console.height >= TALL else 2 * max(1, (console.width - BETWEEN) // len(COLUMNS))


def _look_on(board: Board, width: int) -> Text:
    """Return how to look over a shoulder, the command on a line of its own where a break would tear it."""
    if not board.attach:
        return Text()
    command = one_line(board.attach)
    gap = " " if len(LOOK_ON) + 1 + cell_len(command) <= width else "\n"
    return Text(f"{LOOK_ON}{gap}{command}", style="dim", overflow="fold")


def _columns(board: Board, seconds: float, cells: int | None) -> Table:
    table = Table(title=Text(f"devclaw demo, {seconds:.0f} s"), expand=True, padding=(0, 1))
    for state in COLUMNS:
        table.add_column(Text(state.value, style=f"bold #{COLOURS[state]}"), ratio=1)
    table.add_row(*(_cards([card for card in board.cards if card.state is state], cells) for state in COLUMNS))
    return table


def _cards(cards: list[Card], cells: int | None) -> Text:
    return Text("\n").join(_card(card, cells) for card in cards)


def _card(card: Card, cells: int | None) -> Text:
    text = Text(one_line(f"#{card.number} {card.title}"))
    if cells is not None:
        text.truncate(cells, overflow="ellipsis")
    return text


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
