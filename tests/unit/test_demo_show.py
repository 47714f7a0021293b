from __future__ import annotations

import io
import json
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from devclaw_py.agents.look import LookStatus
from devclaw_py.demo.board import Board, Card, Chat, Worker
from devclaw_py.demo.repository import SuiteRun
from devclaw_py.demo.summary import Summary, Told, way
from devclaw_py.faces.cli.demo_board import Lines, picture
from devclaw_py.model.pipeline import Role, State, Tier
from devclaw_py.model.task import LabelEvent

AT = datetime(2026, 3, 1, tzinfo=UTC)
RED = SuiteRun(count=6, red=("a.b",), passed=False, output="")
GREEN = SuiteRun(count=10, red=(), passed=True, output="")
WAY = (State.TO_DO, State.DOING, State.TO_TEST, State.TESTING, State.DONE)


def event(label: str, *, added: bool) -> LabelEvent:
    return LabelEvent(label=label, added=added, actor="devclaw", ours=True, at=AT)


def told(number: int, *, merged: bool = True, closed: bool = True) -> Told:
    return Told(number, f"Issue {number}", ("junior",), WAY, attempts=2, closed=closed, merged=merged)


def summary(*issues: Told, before: SuiteRun = RED, after: SuiteRun = GREEN) -> Summary:
    return Summary(Path("/w"), Path("/w/till"), issues, started=4, reused=4, seconds=28.44, before=before, after=after)


CARDS = tuple(Card(number, "Offers need an architecture of their own", State.DONE, True) for number in (1, 2, 3))
WORKERS = tuple(Worker(f"till-dev-{tier}", Role.DEV, tier, LookStatus.IDLE, None) for tier in Tier)
ATTACH = "devclaw attach till dev junior --workspace /tmp/devclaw-demo-1a2b3c4d"


def drawn(board: Board, *chat: str, width: int = 160, height: int = 50) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, markup=True, color_system=None)
    console.print(picture(console, board, chat, 3))
    return out.getvalue()


def test_the_way_of_an_issue_is_what_it_was_put_into() -> None:
    events = [event("To Do", added=True), event("bug", added=True), event("To Do", added=False)]

    assert way([*events, event("Doing", added=True)], [State.DOING]) == (State.TO_DO, State.DOING)


def test_the_way_begins_with_what_the_tracker_never_saw_being_put() -> None:
    events = [event("To Do", added=False), event("Doing", added=True)]

    assert way(events, [State.DOING]) == (State.TO_DO, State.DOING)


def test_an_issue_without_history_is_where_it_stands() -> None:
    assert way([], [State.TO_DO]) == (State.TO_DO,)


def test_a_demo_is_well_when_all_is_done_closed_merged_and_green() -> None:
    assert summary(told(1), told(2)).ok


def test_a_demo_is_not_well_when_one_issue_is_not_merged() -> None:
    assert not summary(told(1), told(2, merged=False)).ok


def test_a_demo_is_not_well_when_one_issue_is_open() -> None:
    assert not summary(told(1), told(2, closed=False)).ok


def test_a_demo_is_not_well_when_the_merged_tests_fail() -> None:
    assert not summary(told(1), after=RED).ok


def test_a_demo_proves_nothing_when_the_tests_passed_before() -> None:
    assert not summary(told(1), before=GREEN).ok


def test_the_summary_counts_moves_attempts_and_sessions() -> None:
    assert "8 moves, 4 attempts, 4 sessions started, 4 times reused." in summary(told(1), told(2)).lines()


def test_the_summary_says_which_issue_is_not_at_its_end() -> None:
    assert "#1 Issue 1  (not done, closed and merged)" in summary(told(1, merged=False)).lines()


def test_titles_and_chat_are_never_read_as_markup() -> None:
    board = Board((Card(1, "[red]x[/red]", State.TO_DO, False),), (), None)

    shown = drawn(board, "[bold]told[/bold]")

    assert "[red]x[/red]" in shown
    assert "[bold]told[/bold]" in shown


def test_escape_sequences_in_a_title_do_not_reach_the_terminal() -> None:
    assert "\x1b" not in drawn(Board((Card(1, "x\x1b[2J", State.TO_DO, False),), (), None), "\x1b[2J")


def test_a_card_stands_in_the_column_of_its_state_and_a_worker_with_its_tier() -> None:
    worker = Worker("till-dev-junior", Role.DEV, Tier.JUNIOR, LookStatus.WORKING, 1)

    shown = drawn(Board((Card(1, "Typo", State.DOING, False),), (worker,), "tmux attach"))

    row = next(line for line in shown.splitlines() if "#1 Typo" in line)
    assert row.split("│")[2].strip() == "#1 Typo"
    assert "DEV (junior)" in shown
    assert "Look over a shoulder: tmux attach" in shown


def test_on_a_small_terminal_the_newest_of_the_chat_and_the_way_to_attach_are_seen() -> None:
    shown = drawn(Board(CARDS, WORKERS, ATTACH), *(f"line {number}" for number in range(10)), width=80, height=24)

    assert "line 9" in shown
    assert "line 0" not in shown
    assert ATTACH in [line.strip() for line in shown.splitlines()]
    assert len(shown.splitlines()) < 24


def test_on_a_large_terminal_titles_are_whole_and_all_of_the_chat_is_seen() -> None:
    shown = drawn(Board(CARDS, WORKERS, ATTACH), *(f"line {number}" for number in range(10)), width=200)

    assert "line 0" in shown
    assert "…" not in shown


def test_lines_say_how_to_look_on_once() -> None:
    out = io.StringIO()
    lines = Lines(Console(file=out, width=80))
    for attach in (None, "tmux one", "tmux two"):
        lines.draw(Board((), (), attach), 1)

    assert out.getvalue() == "Look over a shoulder: tmux one\n"


def test_the_chat_tells_each_line_once_and_waits_for_a_whole_one(tmp_path: Path) -> None:
    chat = Chat(tmp_path / "chat.ndjson")
    first, second = (json.dumps({"text": text}) for text in ("✅ done\n🔗 file:///x\nand more", "❌ failed"))
    assert chat.news() == []

    chat.path.write_text(f"{first}\n{second[:5]}", encoding="utf-8")
    assert chat.news() == ["✅ done and more"]

    chat.path.write_text(f"{first}\n{second}\n", encoding="utf-8")
    assert chat.news() == ["❌ failed"]
