"""The worker's MCP server around its protocol: calls beside pings, long lines, the end of input."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.faces import worker, worker_schema
from devclaw_py.faces.worker import CALLS_AT_ONCE, CALLS_WAITING, LINE_BYTES, Calls, Server
from devclaw_py.faces.worker_protocol import Protocol, Wanted
from devclaw_py.rules.worker_mcp import READY

ROOT = Path(__file__).parents[2]
WITHIN_S = 20.0


class HeldCalls(Calls):
    """Calls that begin at once and end when the test lets them."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Event()
        self.most, self._running, self._lock = 0, 0, threading.Lock()

    def answer(self, wanted: Wanted) -> tuple[str, bool]:
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        self.begun.release()
        assert self.may_end.wait(WITHIN_S)
        with self._lock:
            self._running -= 1
        return json.dumps({"success": True, "said": wanted.arguments}), True


@dataclass
class Talk:
    """A server on pipes, with the test as its client."""

    folder: Path
    calls: HeldCalls = field(default_factory=HeldCalls)
    replies: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        read, self._write = os.pipe()
        self.server = Server(Protocol(worker_schema.listed()), self.folder, self.calls, self._hear)
        source = os.fdopen(read, "rb")
        self.thread = threading.Thread(target=self._serve, args=(source,), daemon=True)
        self.thread.start()

    def _serve(self, source: io.BufferedReader) -> None:
        with source:
            self.server.serve(source)

    def _hear(self, line: bytes) -> None:
        assert line.count(b"\n") == 1
        self.replies.append(json.loads(line))

    def send(self, ident: int | None, method: str, **params: Any) -> None:
        message = {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}
        self.raw(json.dumps({key: value for key, value in message.items() if value is not None}).encode() + b"\n")

    def call(self, ident: int, **arguments: Any) -> None:
        self.send(ident, "tools/call", name="task_comment", arguments=arguments)

    def raw(self, data: bytes) -> None:
        while data:
            data = data[os.write(self._write, data) :]

    def reply(self, ident: int | None) -> dict[str, Any]:
        """Wait for the reply with that id."""
        until(lambda: any(reply["id"] == ident for reply in self.replies))
        return next(reply for reply in self.replies if reply["id"] == ident)

    def close(self) -> None:
        if self._write >= 0:
            os.close(self._write)
            self._write = -1

    def end(self) -> None:
        self.calls.may_end.set()
        self.close()
        self.thread.join(WITHIN_S)
        assert not self.thread.is_alive()


def until(condition: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    deadline = time.monotonic() + WITHIN_S
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    found = Talk(tmp_path)
    yield found
    found.end()


def test_a_ping_is_answered_while_a_call_runs(talk: Talk) -> None:
    talk.call(1)
    assert talk.calls.begun.acquire(timeout=WITHIN_S)

    talk.send(2, "ping")

    assert talk.reply(2)["result"] == {}
    assert [reply["id"] for reply in talk.replies] == [2]


def test_two_calls_run_beside_each_other_and_each_gets_its_own_answer(talk: Talk) -> None:
    talk.call(1, body="one")
    talk.call(2, body="two")
    assert all(talk.calls.begun.acquire(timeout=WITHIN_S) for _ in range(2))

    talk.calls.may_end.set()

    said = {ident: json.loads(talk.reply(ident)["result"]["content"][0]["text"])["said"] for ident in (1, 2)}
    assert said == {1: {"body": "one"}, 2: {"body": "two"}}


def test_a_flood_runs_a_few_at_a_time_and_the_rest_is_refused(talk: Talk) -> None:
    for ident in range(1, CALLS_AT_ONCE + 1):
        talk.call(ident)
        assert talk.calls.begun.acquire(timeout=WITHIN_S)
    for ident in range(100, 100 + CALLS_WAITING + 1):
        talk.call(ident)

    assert "nothing was done" in talk.reply(100 + CALLS_WAITING)["error"]["message"]
    talk.calls.may_end.set()
    talk.reply(100 + CALLS_WAITING - 1)
    assert talk.calls.most == CALLS_AT_ONCE


def test_a_cancelled_call_goes_on(talk: Talk) -> None:
    talk.call(1)
    talk.send(None, "notifications/cancelled", requestId=1, reason="tired")
    talk.calls.may_end.set()

    assert talk.reply(1)["result"]["isError"] is False


def test_calls_that_were_asked_for_are_finished_after_the_client_has_closed(talk: Talk) -> None:
    talk.call(1)
    talk.close()
    talk.thread.join(0.2)
    assert talk.thread.is_alive()

    talk.calls.may_end.set()
    talk.thread.join(WITHIN_S)

    assert [reply["id"] for reply in talk.replies] == [1]


def test_a_line_too_long_is_refused_and_the_next_one_is_read(talk: Talk) -> None:
    talk.raw(b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"x" * (3 * LINE_BYTES) + b'"}}\n')
    talk.send(2, "ping")

    assert "at most" in talk.reply(1)["error"]["message"]
    assert talk.reply(2)["result"] == {}


def test_a_line_just_short_enough_is_read(talk: Talk) -> None:
    head, tail = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"', b'"}}\n'
    talk.raw(head + b"x" * (LINE_BYTES - len(head) - len(tail)) + tail)

    assert talk.reply(1)["result"] == {}


def test_empty_lines_are_passed_over(talk: Talk) -> None:
    talk.raw(b"\n\r\n  \n")
    talk.send(2, "ping")

    talk.reply(2)
    assert len(talk.replies) == 1


def test_half_a_line_at_the_end_calls_nothing(talk: Talk) -> None:
    talk.raw(b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"task_context"')
    talk.close()
    talk.thread.join(WITHIN_S)

    assert talk.calls.most == 0


def test_it_says_ready_once_the_client_has_the_tools(talk: Talk) -> None:
    talk.send(1, "initialize", clientInfo={"name": "a client", "version": "1"})
    talk.reply(1)
    assert not (talk.folder / READY).exists()

    talk.send(2, "tools/list")
    until((talk.folder / READY).exists)

    record = json.loads((talk.folder / READY).read_text())
    assert (record["pid"], record["client"]) == (os.getpid(), "a client 1")


def test_a_client_of_an_earlier_server_is_not_taken_for_this_ones(tmp_path: Path) -> None:
    (tmp_path / READY).write_text("{}")
    talk = Talk(tmp_path)

    until(lambda: not (tmp_path / READY).exists())

    talk.end()


def test_a_session_folder_that_is_gone_ends_nothing(tmp_path: Path) -> None:
    talk = Talk(tmp_path / "gone")
    talk.send(1, "tools/list")
    talk.send(2, "ping")

    assert talk.reply(2)["result"] == {}
    talk.end()


def calls(tmp_path: Path, script: str) -> Calls:
    """Return calls whose child is a script in the place of devclaw."""
    found = Calls(["--workspace", str(tmp_path)], {"PATH": os.environ["PATH"], "DEVCLAW_TOKEN": "t", "KEPT": "k"})
    found._command = [sys.executable, "-c", script, *found._command[5:]]
    return found


def test_the_child_gets_arguments_by_standard_input_and_no_token(tmp_path: Path) -> None:
    script = (
        "import json, os, sys; print(json.dumps({'success': True, 'argv': sys.argv[1:], 'in': json.load(sys.stdin),"
        " 'kept': os.environ.get('KEPT'), 'token': os.environ.get('DEVCLAW_TOKEN')}))"
    )

    text, ok = calls(tmp_path, script).answer(Wanted(1, "task_comment", {"body": "--help\ud800"}, versioned=False))

    assert ok
    assert json.loads(text) == {
        "success": True,
        "argv": ["--workspace", str(tmp_path), "call", "task_comment", "-"],
        "in": {"body": "--help\ud800"},
        "kept": "k",
        "token": None,
    }


@pytest.mark.parametrize(
    "script",
    ["", "print('x')", "print('[]')", "import os; os.kill(os.getpid(), 9)", "raise SystemExit(3)", "print('{')"],
)
def test_a_child_that_gives_no_answer_is_a_failure_that_says_so(tmp_path: Path, script: str) -> None:
    text, ok = calls(tmp_path, script).answer(Wanted(1, "task_complete", {}, versioned=False))

    assert not ok
    assert json.loads(text)["error"]["code"] == "internal"
    assert "not repeated" in json.loads(text)["error"]["hint"]


def test_a_child_that_never_ends_is_killed_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "CALL_S", 0.3)

    text, ok = calls(tmp_path, "import time; time.sleep(1000)").answer(Wanted(1, "task_comment", {}, versioned=False))

    assert not ok
    assert "did not end within" in json.loads(text)["error"]["message"]


@pytest.mark.parametrize("token_file", [None, "", "token", "/token"])
def test_without_a_token_file_nothing_is_served(token_file: str | None) -> None:
    env = {"PYTHONPATH": str(ROOT), **({} if token_file is None else {"DEVCLAW_TOKEN_FILE": token_file})}

    done = subprocess.run(
        [sys.executable, "-m", "devclaw_py", "worker-mcp"],
        input='{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n',
        capture_output=True,
        text=True,
        env=env,
        timeout=60,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert "DEVCLAW_TOKEN_FILE" in done.stderr


def test_the_server_loads_none_of_what_makes_a_call_heavy() -> None:
    heavy = ("pydantic", "yaml", "sqlite3", "asyncio", "typer", "rich", "psutil", "libtmux", "logging")
    code = f"import sys, devclaw_py.faces.worker; print([name for name in {heavy!r} if name in sys.modules])"

    done = subprocess.run(
        [sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=60
    )

    assert done.stdout.strip() == "[]"
