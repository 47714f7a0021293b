"""The real Claude Code takes the stand-in for the Messages API: turns, tools, task files, faults."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from devclaw_py.agents.standin.record import Kind
from devclaw_py.terminals.tmux import TmuxTerminal

if TYPE_CHECKING:
    from tests.real.claude.conftest import Claude
    from tests.real.conftest import Tmux

WaitFor = Callable[..., None]
NAME = "worker"
ENTERS, ENTER_AGAIN_S = 5, 3.0


def directive(tool: str, **arguments: str) -> str:
    return f"[[standin: tool {tool} {json.dumps(arguments)}]]"


def test_a_turn_says_what_the_prompt_directs(claude: Claude) -> None:
    answer = claude.ask("[[standin: say hello from the stand-in]]")

    assert (answer["is_error"], answer["result"]) == (False, "hello from the stand-in")


def test_the_prompt_arrives_as_it_was_written(claude: Claude) -> None:
    prompt = 'ümläut 漢字 🦀 "quotes" \\ $(x) `y`; tab\there'
    claude.ask(prompt)

    assert [request.conversation.turn.prompt for request in claude.standin.turns] == [prompt]


def test_tools_are_called_one_after_the_other(claude: Claude) -> None:
    write = directive("Write", file_path=str(claude.cwd / "new.txt"), content="one\n")
    bash = directive("Bash", command="cat new.txt && echo two >> new.txt")

    answer = claude.ask(f"{write} {bash} [[standin: say written]]")

    assert answer["result"] == "written"
    assert (claude.cwd / "new.txt").read_text() == "one\ntwo\n"
    results = [reply.results[0].text for reply in claude.standin.turns[-1].conversation.turn.replies]
    assert results[1] == "one"


def test_two_tools_of_one_message_both_come_back(claude: Claude) -> None:
    claude.ask('[[standin: tool Bash {"command": "echo a"}]][[standin: also Bash {"command": "echo b"}]]')

    (reply,) = claude.standin.turns[-1].conversation.turn.replies
    assert [result.text for result in reply.results] == ["a", "b"]


def test_a_task_file_is_read_and_followed(claude: Claude, tmp_path: Path) -> None:
    task = tmp_path / "the task.md"
    task.write_text('# Task\n\n[[standin: tool Bash {"command": "touch done"}]]\n[[standin: say did the task]]\n')

    answer = claude.ask(f"Read the file `{task}` and do the task in it.", "--add-dir", str(tmp_path))

    assert answer["result"] == "did the task"
    assert (claude.cwd / "done").exists()


def test_the_claimed_context_is_what_the_client_counts(claude: Claude) -> None:
    usage = claude.ask("[[standin: usage 100000]][[standin: say big]]")["usage"]

    assert usage["input_tokens"] + usage["cache_read_input_tokens"] == 100_000


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("fault 429 retry-after=3600", "429"),
        ("fault 529", "529"),
        ("fault 403", "403"),
        ("fault full", "Prompt is too long"),
        ("fault drop", "API Error"),
        ("fault nonsense", "fault nonsense"),
    ],
)
def test_a_fault_ends_the_turn_with_an_error(make_claude: Callable[..., Claude], fault: str, told: str) -> None:
    answer = make_claude(CLAUDE_CODE_MAX_RETRIES="1").ask(f"[[standin: {fault}]]")

    assert answer["is_error"]
    assert told in answer["result"]


@pytest.mark.parametrize("fault", ["fault 529", "fault drop", "fault cut"])
def test_a_fault_that_passes_is_retried(claude: Claude, fault: str) -> None:
    answer = claude.ask(f"[[standin: {fault} times=1]][[standin: say through]]")

    assert (answer["is_error"], answer["result"]) == (False, "through")
    assert len(claude.standin.turns) == 2


def test_another_token_is_refused(make_claude: Callable[..., Claude]) -> None:
    claude = make_claude(CLAUDE_CODE_MAX_RETRIES="0")
    claude.show_token("some-other-token")

    assert claude.ask("hello")["is_error"]
    assert {request.authorized for request in claude.standin.turns} == {False}


@dataclass(frozen=True)
class Seat:
    """Claude Code in tmux, ready for a prompt."""

    claude: Claude
    tmux: Tmux
    terminal: TmuxTerminal
    pid: int
    wait_for: WaitFor

    def send(self, text: str) -> None:
        self.wait_for(self.idle, f"claude is idle; its screen:\n{self.screen()}")
        sent = len(self.claude.standin.turns) + 1
        self.terminal.send(NAME, f"{text} ")
        for _ in range(ENTERS):
            with suppress(TimeoutError):
                self.claude.standin.wait_for(sent, timeout_s=ENTER_AGAIN_S)
                return
            # An Enter right behind a paste may be taken as part of it.
            self.press("Enter")
        raise AssertionError(f"{text!r} was not submitted; the screen:\n{self.screen()}")

    def press(self, key: str) -> None:
        self.tmux.run("send-keys", "-t", f"={NAME}:0.0", key)

    def idle(self) -> bool:
        return self.claude.status(self.pid) == "idle"

    def screen(self) -> str:
        return self.terminal.screen(NAME)

    def shows(self, text: str) -> None:
        try:
            self.wait_for(lambda: text in self.screen(), f"the screen shows {text!r}")
        except AssertionError as error:
            error.add_note(self.screen())
            raise


@pytest.fixture
def sit(tmux: Tmux, workspace: Path, wait_for: WaitFor) -> Iterator[Callable[[Claude], Seat]]:
    """Return a function that starts Claude Code in tmux and waits until it is ready."""
    terminal = tmux.terminal(workspace)

    def start(claude: Claude) -> Seat:
        argv = [claude.program, "--permission-mode", "dontAsk", "--allowedTools", "Bash"]
        session = terminal.start(NAME, cwd=claude.cwd, argv=argv, env=claude.env, marks={})
        assert session.pid
        seat = Seat(claude, tmux, terminal, session.pid, wait_for)
        wait_for(seat.idle, "claude became idle")
        return seat

    yield start
    terminal.stop(NAME)


@pytest.fixture
def seat(make_claude: Callable[..., Claude], sit: Callable[[Claude], Seat]) -> Seat:
    return sit(make_claude(CLAUDE_CODE_MAX_RETRIES="1"))


def test_in_tmux_it_takes_turns_calls_tools_and_lives_through_faults(seat: Seat) -> None:
    seat.send('[[standin: tool Bash {"command": "echo $((6*7)) > answer"}]][[standin: say first turn is over]]')
    seat.shows("● first turn is over")
    assert (seat.claude.cwd / "answer").read_text() == "42\n"

    seat.send("[[standin: fault 529]]")
    seat.shows("API Error: 529")

    seat.send("[[standin: say still here]]")
    seat.shows("● still here")
    assert {request.kind for request in seat.claude.standin.requests if request.method == "POST"} == {Kind.TURN}


def test_in_tmux_a_stalled_stream_ends_with_escape(seat: Seat) -> None:
    seat.send("[[standin: say half of this is never said, whatever you wait for]][[standin: stall]]")
    seat.claude.standin.wait_for(1)
    seat.wait_for(lambda: seat.claude.status(seat.pid) == "busy", "claude is busy")
    seat.press("Escape")

    seat.send("[[standin: say after the stall]]")
    seat.shows("● after the stall")


def test_a_title_is_no_turn(make_claude: Callable[..., Claude], sit: Callable[[Claude], Seat]) -> None:
    # A client that asks for a title does so with the text of the prompt, directives included.
    seat = sit(make_claude(CLAUDE_CODE_DISABLE_TERMINAL_TITLE=""))

    seat.send("Mend the login form, please. [[standin: say one answer]]")
    seat.shows("● one answer")
    seat.wait_for(seat.idle, "claude is idle")

    asked = [request.kind for request in seat.claude.standin.requests if request.method == "POST"]
    assert asked.count(Kind.TURN) == 1
    assert set(asked) <= {Kind.TURN, Kind.SIDE}
