"""``/compact`` over a session that answers it well, badly or never."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from devclaw_py.agents.base import Compaction
from devclaw_py.agents.claude import compacting
from devclaw_py.agents.console import Console
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.terminals.base import Key
from devclaw_py.terminals.memory import MemoryTerminal

NAME = "shop-dev-medior"


class Claude(MemoryTerminal):
    """A box, and what follows Enter: events after so many seconds, and busy until a time."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder, self.clock = folder, VirtualClock()
        self.text, self.deaf = "", 0
        self.sent: list[str] = []
        self.plan: list[tuple[float, str]] = []
        self.busy_s = 0.0
        self.submitted: float | None = None

    def paste(self, name: str, text: str) -> None:
        self.text += text

    def press(self, name: str, key: Key) -> None:
        if key is Key.CLEAR_LINE:
            self.text = ""
        elif key is Key.ENTER and self.deaf:
            self.deaf -= 1
        elif key is Key.ENTER:
            self.sent.append(self.text)
            self.text, self.submitted = "", self.clock.monotonic()

    def view(self, name: str) -> str:
        return "\n".join(["─" * 40, f"❯\xa0{self.text}", "─" * 40])

    def idle(self) -> bool:
        if self.submitted is None:
            return True
        since = self.clock.monotonic() - self.submitted
        for number, (after, event) in enumerate(list(self.plan)):
            if since >= after:
                path = self.folder / "events" / f"{number + 1}{since * 1e6:.0f}-1-{event}.json"
                path.write_text(json.dumps({"session_id": "x"}))
                self.plan.remove((after, event))
        return since >= self.busy_s


@pytest.fixture
def claude(tmp_path: Path) -> Claude:
    (tmp_path / "events").mkdir()
    return Claude(tmp_path)


@pytest.fixture
def compact(claude: Claude) -> Callable[[], Compaction]:
    console = Console(claude, NAME, claude.folder, claude.clock, 20)
    return lambda: compacting.compact(console, claude.idle, 180)


def test_a_compaction_is_done_when_its_event_came_and_the_session_is_idle(
    claude: Claude, compact: Callable[[], Compaction]
) -> None:
    claude.plan, claude.busy_s = [(0.2, "PreCompact"), (60, "PostCompact")], 61

    assert compact() is Compaction.DONE
    assert claude.clock.monotonic() >= 61
    assert claude.sent == [f"{compacting.LINE} "]


def test_one_that_ends_without_its_event_has_failed(claude: Claude, compact: Callable[[], Compaction]) -> None:
    claude.plan, claude.busy_s = [(0.2, "PreCompact")], 30

    assert compact() is Compaction.FAILED


def test_one_that_is_busy_for_ever_is_endless(claude: Claude, compact: Callable[[], Compaction]) -> None:
    claude.plan, claude.busy_s = [(0.2, "PreCompact")], 9999

    assert compact() is Compaction.ENDLESS
    assert claude.clock.monotonic() < 200


def test_an_enter_that_was_swallowed_is_pressed_again_and_nothing_is_typed_twice(
    claude: Claude, compact: Callable[[], Compaction]
) -> None:
    claude.deaf, claude.plan, claude.busy_s = 1, [(0.2, "PreCompact"), (5, "PostCompact")], 5

    assert compact() is Compaction.DONE
    assert claude.sent == [f"{compacting.LINE} "]


def test_a_command_that_is_never_taken_is_removed_from_the_box(
    claude: Claude, compact: Callable[[], Compaction]
) -> None:
    claude.deaf = 99

    assert compact() is Compaction.FAILED
    assert (claude.sent, claude.text) == ([], "")


def test_an_old_compaction_is_not_taken_for_this_one(claude: Claude, compact: Callable[[], Compaction]) -> None:
    (claude.folder / "events" / "0-1-PostCompact.json").write_text("{}")
    claude.plan, claude.busy_s = [(0.2, "PreCompact")], 1

    assert compact() is Compaction.FAILED
