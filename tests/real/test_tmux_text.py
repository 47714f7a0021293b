"""What arrives in a program when tmux is told to type, told by the program itself."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from devclaw_py.terminals.tmux import TmuxTerminal
    from tests.real.conftest import Tmux

WaitFor = Callable[..., None]

# Reads keys as they come, asks for bracketed paste, appends each Enter-ended piece to a file of its own.
READER = """
import os, sys, termios, tty
tty.setraw(0)
os.write(1, b"\\x1b[?2004hready")
out, got, count = sys.argv[1], b"", 0
open(out + ".ready", "w").close()
while True:
    got += os.read(0, 65536)
    if got.endswith(b"\\r") and got.count(b"\\x1b[200~") == got.count(b"\\x1b[201~"):
        with open(f"{out}.{count}.part", "wb") as file:
            file.write(got)
        os.rename(f"{out}.{count}.part", f"{out}.{count}")
        got, count = b"", count + 1
"""
HARD = (
    "Zeile 1\n\t\"quotes\" 'single' `ticks` $(touch /tmp/never) $HOME #{pane_pid} #(date) \\n \\\\ %% ;\nüñï 漢字 🦀 é;"
)


def start_reader(terminal: TmuxTerminal, name: str, folder: Path, python: str, wait_for: WaitFor) -> Path:
    out = folder / f"got-{name}"
    terminal.start(name, cwd=folder, argv=[python, "-c", READER, str(out)], env={"PATH": os.environ["PATH"]}, marks={})
    wait_for(out.with_name(out.name + ".ready").exists, "the reader is ready")
    return out


def received(out: Path, number: int, wait_for: WaitFor) -> str:
    file = out.with_name(f"{out.name}.{number}")
    wait_for(file.exists, f"piece {number} arrived")
    raw = file.read_bytes()
    begin, end = b"\x1b[200~", b"\x1b[201~\r"
    assert raw.startswith(begin), raw[:40]
    assert raw.endswith(end), raw[-40:]
    return raw[len(begin) : -len(end)].decode()


@pytest.mark.parametrize(
    "text",
    [HARD, (HARD + "\n") * 1000, "ends in a semicolon;", "-t not a flag", "x" * 100_000, "line\n" * 20_000],
    ids=["hard", "100-kilobytes", "semicolon", "flag", "one-line", "many-lines"],
)
def test_text_arrives_as_it_was_sent_in_one_paste(
    tmux: Tmux, workspace: Path, python: str, wait_for: WaitFor, text: str
) -> None:
    terminal = tmux.terminal(workspace)
    out = start_reader(terminal, "a", workspace, python, wait_for)

    terminal.send("a", text)

    assert received(out, 0, wait_for) == text


def test_what_a_terminal_would_obey_does_not_arrive(
    tmux: Tmux, workspace: Path, python: str, wait_for: WaitFor
) -> None:
    terminal = tmux.terminal(workspace)
    out = start_reader(terminal, "a", workspace, python, wait_for)

    terminal.send("a", "one\x1b[201~\rtwo\x03\x1b[31m\x9b")

    assert received(out, 0, wait_for) == "one\ntwo[31m"


def test_sessions_that_are_typed_into_at_once_do_not_mix(
    tmux: Tmux, workspace: Path, python: str, wait_for: WaitFor
) -> None:
    terminal = tmux.terminal(workspace)
    names = [f"s{number}" for number in range(4)]
    outs = {name: start_reader(terminal, name, workspace, python, wait_for) for name in names}

    def send(name: str) -> None:
        for number in range(5):
            terminal.send(name, f"{name} {number} " + name * 3000)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(send, names))

    for name, out in outs.items():
        for number in range(5):
            assert received(out, number, wait_for) == f"{name} {number} " + name * 3000


def test_text_arrives_although_somebody_scrolls_in_the_pane(
    tmux: Tmux, workspace: Path, python: str, wait_for: WaitFor
) -> None:
    terminal = tmux.terminal(workspace)
    out = start_reader(terminal, "a", workspace, python, wait_for)
    tmux.run("copy-mode", "-t", "=a:0.0")
    assert tmux.run("display-message", "-p", "-t", "=a:0.0", "#{pane_in_mode}") == "1"

    terminal.send("a", "text")

    assert received(out, 0, wait_for) == "text"


def test_an_empty_text_is_enter_alone(tmux: Tmux, workspace: Path, python: str, wait_for: WaitFor) -> None:
    terminal = tmux.terminal(workspace)
    out = start_reader(terminal, "a", workspace, python, wait_for)

    terminal.send("a", "\x07")

    wait_for(out.with_name(f"{out.name}.0").exists, "Enter arrived")
    assert out.with_name(f"{out.name}.0").read_bytes() == b"\r"
    assert tmux.run("list-buffers") == ""


def test_no_buffer_is_left_that_a_person_could_paste(
    tmux: Tmux, workspace: Path, python: str, wait_for: WaitFor
) -> None:
    terminal = tmux.terminal(workspace)
    start_reader(terminal, "a", workspace, python, wait_for)

    terminal.send("a", "text")

    assert tmux.run("list-buffers") == ""
