"""How announcements leave: the command notifier and the pump."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from devclaw_py.chat.base import Notifier
from devclaw_py.chat.notify import CommandNotifier, HeldNotifier, SilentNotifier, notifier_for
from devclaw_py.chat.pump import pump, wait_s
from devclaw_py.errors import ConfigError, ProjectBusy, SessionFailed
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.journal import AuditLine, OutboxRow
from devclaw_py.model.project import Project
from devclaw_py.model.settings import NotifySettings, Settings
from devclaw_py.model.task import TaskRef
from devclaw_py.state.base import Store

AT = datetime(2026, 3, 1, tzinfo=UTC)
TASK = TaskRef(number=42, title="Add login", url="https://example.org/42")
SHOP = Project(group_id="-1001", name="shop", repo="/src/shop", channel="telegram")


def row(key: str, group: str = "-1001") -> OutboxRow:
    return OutboxRow(
        key=key, group_id=group, announcement=Announcement(emoji="✅", text=f"told {key}", task=TASK), at=AT
    )


class Outbox:
    """As much of a Store as the pump needs: the outbox, the registry, the audit log and named locks."""

    def __init__(self, *rows: OutboxRow) -> None:
        self.rows = {found.key: found for found in rows}
        self.lines: list[AuditLine] = []
        self.held: set[str] = set()
        self.journal = SimpleNamespace(outbox=self._unsent, save_outbox=self._save)
        self.registry = SimpleNamespace(all=lambda: {SHOP.group_id: SHOP})
        self.audit = SimpleNamespace(append=self.lines.append)

    def _unsent(self, group_id: str | None = None) -> list[OutboxRow]:
        return [found for found in self.rows.values() if found.sent is None and group_id in (None, found.group_id)]

    def _save(self, changed: OutboxRow) -> None:
        self.rows[changed.key] = changed

    @contextmanager
    def hold(self, name: str, *, wait_s: float, holder: str) -> Iterator[None]:
        if name in self.held:
            raise ProjectBusy(f"{name} is held")
        self.held.add(name)
        yield
        self.held.discard(name)

    @property
    def store(self) -> Store:
        return cast(Store, self)


class Recorder:
    """A notifier that remembers, and fails for the keys it is told to."""

    def __init__(self, failing: Sequence[str] = ()) -> None:
        self.failing, self.told = set(failing), list[str]()

    def deliver(self, row: OutboxRow, project: Project | None) -> None:
        if row.key in self.failing:
            raise SessionFailed("the chat is down " + "x" * 500)
        self.told.append(row.key)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(AT)


def test_rows_are_sent_in_order(clock: VirtualClock) -> None:
    notifier = Recorder()

    pump(Outbox(row("a"), row("b"), row("c")).store, notifier, clock)

    assert notifier.told == ["a", "b", "c"]


def test_a_sent_row_is_not_sent_again(clock: VirtualClock) -> None:
    outbox, notifier = Outbox(row("a")), Recorder()

    pump(outbox.store, notifier, clock)
    pump(outbox.store, notifier, clock)

    assert notifier.told == ["a"]


def test_nothing_overtakes_a_failure_in_its_group(clock: VirtualClock) -> None:
    notifier = Recorder(failing=["a"])

    pump(Outbox(row("a"), row("b"), row("c", "-2")).store, notifier, clock)

    assert notifier.told == ["c"]


def test_a_failed_row_waits_before_it_is_tried_again(clock: VirtualClock) -> None:
    outbox, notifier = Outbox(row("a"), row("b")), Recorder(failing=["a"])
    pump(outbox.store, notifier, clock)
    notifier.failing.clear()

    clock.sleep(29)
    assert pump(outbox.store, notifier, clock) == []
    clock.sleep(1)
    pump(outbox.store, notifier, clock)

    assert notifier.told == ["a", "b"]


def test_a_failure_is_kept_with_its_count_and_next_try(clock: VirtualClock) -> None:
    (tried,) = pump(Outbox(row("a")).store, Recorder(failing=["a"]), clock)

    assert (tried.sent, tried.tries, tried.next_try) == (None, 1, AT + timedelta(seconds=30))


def test_what_another_process_sends_is_left_as_it_is(clock: VirtualClock) -> None:
    outbox = Outbox(row("a"))

    assert pump(outbox.store, HeldNotifier(), clock) == []

    assert outbox.rows == {"a": row("a")}


def test_the_wait_doubles_up_to_fifteen_minutes() -> None:
    assert [wait_s(tries) for tries in (1, 2, 3, 4, 5, 6, 500)] == [30, 60, 120, 240, 480, 900, 900]


def test_a_group_that_another_process_sends_for_is_passed_over(clock: VirtualClock) -> None:
    outbox, notifier = Outbox(row("a"), row("b", "-2")), Recorder()
    outbox.held.add("outbox:-1001")

    pump(outbox.store, notifier, clock)

    assert notifier.told == ["b"]


def test_only_the_named_group_is_sent(clock: VirtualClock) -> None:
    notifier = Recorder()

    pump(Outbox(row("a"), row("b", "-2")).store, notifier, clock, group_id="-2")

    assert notifier.told == ["b"]


def test_a_bug_in_a_notifier_is_not_taken_for_a_failed_delivery(clock: VirtualClock) -> None:
    class Buggy:
        def deliver(self, row: OutboxRow, project: Project | None) -> None:
            raise KeyError("bug")

    outbox = Outbox(row("a"))

    with pytest.raises(KeyError):
        pump(outbox.store, Buggy(), clock)

    assert outbox.rows["a"] == row("a")


def test_a_delivery_leaves_one_audit_line_of_its_operation(clock: VirtualClock) -> None:
    outbox = Outbox(row("op1:done"))

    pump(outbox.store, Recorder(), clock)

    (line,) = outbox.lines
    assert (line.event, line.op, line.project, line.issue) == ("notify", "op1", "shop", 42)
    assert (line.facts["key"], line.facts["tries"]) == ("op1:done", 1)


def test_a_failure_leaves_an_audit_line_without_long_texts(clock: VirtualClock) -> None:
    long = row("op1").model_copy(update={"announcement": Announcement(emoji="✅", text="y" * 900)})
    outbox = Outbox(long)

    pump(outbox.store, Recorder(failing=["op1"]), clock)

    (line,) = outbox.lines
    assert (line.event, line.facts["error"]) == ("notify_error", "session_failed")
    assert max(len(str(fact)) for fact in line.facts.values()) <= 100


def test_a_silent_notifier_closes_the_row_without_claiming_a_delivery(clock: VirtualClock) -> None:
    outbox = Outbox(row("a"))

    pump(outbox.store, SilentNotifier(), clock)

    assert outbox.rows["a"].sent == AT
    assert outbox.lines == []


def script(folder: Path, text: str) -> list[str]:
    path = folder / "notify.py"
    path.write_text(text, encoding="utf-8")
    return [sys.executable, str(path)]


def test_the_command_gets_one_json_object_on_standard_input(tmp_path: Path) -> None:
    argv = script(tmp_path, f"import sys; open({str(tmp_path / 'out')!r}, 'w').write(sys.stdin.read())")

    CommandNotifier(argv, timeout_s=20).deliver(row("op1"), SHOP)

    told = json.loads((tmp_path / "out").read_text())
    assert {key: told[key] for key in ("groupId", "channel", "project", "key", "text")} == {
        "groupId": "-1001",
        "channel": "telegram",
        "project": "shop",
        "key": "op1",
        "text": "✅ told op1\n🔗 https://example.org/42",
    }
    assert told["announcement"]["task"]["number"] == 42


def test_a_row_of_a_project_that_is_gone_is_still_delivered(tmp_path: Path) -> None:
    argv = script(tmp_path, f"import sys; open({str(tmp_path / 'out')!r}, 'w').write(sys.stdin.read())")

    CommandNotifier(argv, timeout_s=20).deliver(row("op1"), None)

    assert json.loads((tmp_path / "out").read_text())["project"] is None


def test_a_failed_command_is_told_with_code_and_first_line(tmp_path: Path) -> None:
    argv = script(tmp_path, "import sys; print('\\nno such chat\\nmore', file=sys.stderr); sys.exit(3)")

    with pytest.raises(SessionFailed, match=r"exit code 3: no such chat$"):
        CommandNotifier(argv, timeout_s=20).deliver(row("op1"), SHOP)


def test_a_command_that_does_not_read_its_input_may_still_deliver(tmp_path: Path) -> None:
    CommandNotifier(script(tmp_path, "pass"), timeout_s=20).deliver(row("op1"), SHOP)


def test_a_command_that_does_not_exist_is_a_failed_delivery(tmp_path: Path) -> None:
    with pytest.raises(SessionFailed, match="could not be started"):
        CommandNotifier([str(tmp_path / "gone")], timeout_s=20).deliver(row("op1"), SHOP)


def test_a_command_that_hangs_is_a_failed_delivery(tmp_path: Path) -> None:
    argv = script(tmp_path, "import time; time.sleep(60)")

    with pytest.raises(SessionFailed, match="did not end"):
        CommandNotifier(argv, timeout_s=0.2).deliver(row("op1"), SHOP)


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        (NotifySettings(), SilentNotifier),
        (NotifySettings(kind="command", argv=("true",)), CommandNotifier),
        (NotifySettings(kind="openclaw"), HeldNotifier),
    ],
)
def test_the_settings_name_the_notifier(settings: NotifySettings, kind: type[Notifier]) -> None:
    assert type(notifier_for(Settings(notify=settings))) is kind


def test_a_command_without_a_program_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"notify\.argv"):
        notifier_for(Settings(notify=NotifySettings(kind="command")))
