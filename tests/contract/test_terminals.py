"""What every terminal does, whatever it is made of."""

from __future__ import annotations

import os
import shutil
import signal
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devclaw_py.errors import SessionFailed
from devclaw_py.kernel import proc
from devclaw_py.model.settings import TerminalSettings, TimeoutSettings
from devclaw_py.terminals.base import Key, Terminal, TerminalSession
from devclaw_py.terminals.memory import MemoryTerminal
from devclaw_py.terminals.tmux import TmuxTerminal

MARKS = {"project": "Shöp #{x} 'y';", "role": "dev", "tier": "medior"}
NAME = "shop-dev-medior"


@dataclass
class Lab:
    """A terminal, and the two things that happen to sessions from outside."""

    terminal: Terminal
    cwd: Path
    die: Callable[[str], None]
    make_foreign: Callable[[str], None]

    def start(self, name: str = NAME) -> TerminalSession:
        return self.terminal.start(
            name, cwd=self.cwd, argv=["cat"], env={"PATH": os.environ["PATH"], "A": "1;"}, marks=MARKS
        )

    def alive(self, name: str = NAME) -> bool:
        session = self.terminal.find(name)
        return session is not None and session.alive


def memory_lab(folder: Path) -> Iterator[Lab]:
    terminal = MemoryTerminal()
    yield Lab(terminal, folder, terminal.kill, terminal.foreign.add)


def tmux_lab(folder: Path) -> Iterator[Lab]:
    if shutil.which("tmux") is None:
        if "tmux" in os.environ.get("DEVCLAW_REQUIRE", "").split(","):
            pytest.fail("tmux is missing and DEVCLAW_REQUIRE names it")
        pytest.skip("tmux is not installed")
    socket = f"devclaw-test-{uuid.uuid4().hex[:8]}"
    terminal = TmuxTerminal(folder, TerminalSettings(socket=socket), TimeoutSettings(tmux_s=10))

    def tmux(*words: str) -> None:
        proc.run(["tmux", "-L", socket, "-f", os.devnull, *words], timeout_s=10)

    def die(name: str) -> None:
        session = terminal.find(name)
        assert session is not None
        assert session.pid is not None
        os.kill(session.pid, signal.SIGKILL)
        until(lambda: not (found := terminal.find(name)) or not found.alive)

    yield Lab(terminal, folder, die, lambda name: tmux("new-session", "-d", "-s", name, "--", "cat"))
    tmux("kill-server")
    (Path(os.environ.get("TMUX_TMPDIR", "/tmp")) / f"tmux-{os.getuid()}" / socket).unlink(missing_ok=True)


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture(params=[memory_lab, tmux_lab], ids=["memory", "tmux"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Lab]:
    yield from request.param(tmp_path)


def test_there_are_no_sessions_before_one_is_started(lab: Lab) -> None:
    assert lab.terminal.sessions() == []
    assert lab.terminal.find(NAME) is None


def test_a_started_session_is_listed_alive_with_its_marks(lab: Lab) -> None:
    started = lab.start()

    assert started.alive
    assert started.marks == MARKS
    assert lab.terminal.sessions() == [started]
    assert lab.terminal.find(NAME) == started


def test_all_sessions_are_listed_however_many(lab: Lab) -> None:
    names = sorted(f"{NAME}-{number}" for number in range(15))
    for name in names:
        lab.start(name)

    assert sorted(session.name for session in lab.terminal.sessions() if session.alive) == names


def test_a_name_that_begins_like_a_session_is_not_that_session(lab: Lab) -> None:
    lab.start(NAME + "-2")

    assert lab.terminal.find(NAME) is None
    with pytest.raises(SessionFailed):
        lab.terminal.send(NAME, "text")


def test_a_live_session_is_not_started_again(lab: Lab) -> None:
    started = lab.start()

    with pytest.raises(SessionFailed, match="live"):
        lab.start()

    assert lab.terminal.find(NAME) == started


def test_a_dead_session_is_listed_as_dead(lab: Lab) -> None:
    lab.start()

    lab.die(NAME)

    assert [session.alive for session in lab.terminal.sessions()] == [False]


def test_a_dead_session_is_replaced_by_a_new_start(lab: Lab) -> None:
    first = lab.start()
    lab.die(NAME)

    second = lab.start()

    assert second.alive
    assert second.pid != first.pid
    assert len(lab.terminal.sessions()) == 1


@pytest.mark.parametrize("dead", [True, False], ids=["dead", "absent"])
def test_nothing_is_typed_where_no_program_lives(lab: Lab, dead: bool) -> None:
    if dead:
        lab.start()
        lab.die(NAME)

    with pytest.raises(SessionFailed, match=NAME):
        lab.terminal.send(NAME, "text")


def test_what_was_sent_is_seen_on_the_screen(lab: Lab) -> None:
    lab.start()

    lab.terminal.send(NAME, "grüße an alle")

    until(lambda: "grüße an alle" in lab.terminal.screen(NAME))


def test_a_screen_has_at_most_the_lines_that_were_asked_for(lab: Lab) -> None:
    lab.start()
    lab.terminal.send(NAME, "\n".join(f"line {n}" for n in range(300)))
    until(lambda: "line 299" in lab.terminal.screen(NAME))

    assert len(lab.terminal.screen(NAME, lines=20).split("\n")) == 20


def test_the_screen_of_a_dead_session_can_still_be_read(lab: Lab) -> None:
    lab.start()
    lab.terminal.send(NAME, "last words")
    until(lambda: "last words" in lab.terminal.screen(NAME))

    lab.die(NAME)

    assert "last words" in lab.terminal.screen(NAME)


def test_the_screen_of_no_session_is_an_error(lab: Lab) -> None:
    with pytest.raises(SessionFailed):
        lab.terminal.screen(NAME)


def test_a_stopped_session_is_gone(lab: Lab) -> None:
    lab.start()
    lab.start(NAME + "-2")

    lab.terminal.stop(NAME)

    assert [session.name for session in lab.terminal.sessions()] == [NAME + "-2"]


def test_pasted_text_waits_for_its_enter(lab: Lab) -> None:
    lab.start()

    lab.terminal.paste(NAME, "half a ")
    lab.terminal.paste(NAME, "line")
    lab.terminal.press(NAME, Key.ENTER)

    # cat says a line again only when it was entered.
    until(lambda: "half a line" in lab.terminal.screen(NAME))


def test_a_cleared_line_is_not_entered(lab: Lab) -> None:
    lab.start()

    lab.terminal.paste(NAME, "wrong")
    lab.terminal.press(NAME, Key.CLEAR_LINE)
    lab.terminal.paste(NAME, "right")
    lab.terminal.press(NAME, Key.ENTER)

    until(lambda: "right" in lab.terminal.screen(NAME))
    assert "wrong" not in lab.terminal.screen(NAME).split("right")[-1]


def test_what_stands_on_the_input_line_is_seen(lab: Lab) -> None:
    lab.start()

    lab.terminal.paste(NAME, "a draft")

    until(lambda: "a draft" in lab.terminal.view(NAME))


@pytest.mark.parametrize("dead", [True, False], ids=["dead", "absent"])
def test_nothing_is_pasted_or_pressed_without_a_live_session(lab: Lab, dead: bool) -> None:
    if dead:
        lab.start()
        lab.die(NAME)

    with pytest.raises(SessionFailed):
        lab.terminal.paste(NAME, "text")
    with pytest.raises(SessionFailed):
        lab.terminal.press(NAME, Key.ENTER)


def test_stopping_or_clearing_a_session_that_is_gone_is_no_error(lab: Lab) -> None:
    lab.terminal.stop(NAME)
    lab.terminal.clear_input(NAME)


@pytest.mark.parametrize("call", ["find", "start", "send", "paste", "press", "stop", "clear_input", "screen", "view"])
def test_a_session_of_somebody_else_is_never_touched(lab: Lab, call: str) -> None:
    lab.make_foreign(NAME)
    calls: dict[str, Callable[[], object]] = {
        "find": lambda: lab.terminal.find(NAME),
        "start": lab.start,
        "send": lambda: lab.terminal.send(NAME, "text"),
        "paste": lambda: lab.terminal.paste(NAME, "text"),
        "press": lambda: lab.terminal.press(NAME, Key.ENTER),
        "view": lambda: lab.terminal.view(NAME),
        "stop": lambda: lab.terminal.stop(NAME),
        "clear_input": lambda: lab.terminal.clear_input(NAME),
        "screen": lambda: lab.terminal.screen(NAME),
    }

    with pytest.raises(SessionFailed, match=NAME):
        calls[call]()


def test_a_session_of_somebody_else_is_not_listed(lab: Lab) -> None:
    lab.make_foreign("other-dev-medior")
    lab.start()

    assert [session.name for session in lab.terminal.sessions()] == [NAME]


def test_doctor_gets_at_least_one_finding_and_an_argument_list_to_attach_with(lab: Lab) -> None:
    assert lab.terminal.diagnose()
    assert all(isinstance(word, str) for word in lab.terminal.attach_command(NAME))


def test_closing_leaves_a_live_session_alone(lab: Lab) -> None:
    started = lab.start()

    lab.terminal.close()

    assert lab.terminal.find(NAME) == started


def test_closing_where_nothing_was_started_is_no_error(lab: Lab) -> None:
    lab.terminal.close()

    assert lab.terminal.sessions() == []


def test_a_session_is_started_in_a_terminal_that_was_closed(lab: Lab) -> None:
    lab.start()
    lab.terminal.stop(NAME)
    lab.terminal.close()

    lab.start()

    assert lab.alive()
