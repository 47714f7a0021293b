"""``devclaw worker-mcp``: the MCP server beside one worker, bound to the worker's session by its token file.

It stays as long as the worker's session, a hundred times on one machine, so it imports nothing but a little of the
standard library and carries each call out in a child process, ``devclaw call TOOL -``: what a call costs, or does in
its last moments, is the child's. Measured in docs/concepts/worker-mcp.md.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

import devclaw_py
from devclaw_py.agents import mailbox
from devclaw_py.faces.worker_protocol import OVERLOADED, TOOLS_FILE, Message, Protocol, Wanted, called, failed, too_long
from devclaw_py.kernel import proc
from devclaw_py.rules.worker_mcp import COMMAND, READY, TOKEN_FILE

USAGE = (
    f"usage: devclaw [--workspace DIR] {COMMAND}, with {TOKEN_FILE} naming the session's token file by absolute path"
)

# <workspace>/memory/sessions/<session>/token
DEPTH = 4

# A character of limits.body_chars takes twelve bytes at most.
LINE_BYTES = 4 * 1024 * 1024
CHUNK_BYTES = 64 * 1024
CALLS_AT_ONCE = 4
CALLS_WAITING = 64

# An autoChain may start a session and wait for it, after a push and behind another operation's lock.
CALL_S = 300.0
LOGGED_CHARS = 4000

# Not by PYTHONPATH, which the programs that a call starts would inherit.
START = "import sys; sys.path.append(sys.argv.pop(1)); from devclaw_py.faces.cli import main; main()"
PACKAGE = Path(devclaw_py.__file__).parent
STDOUT = 1
HINTS = {"task_complete": "call again with the same arguments: a report that was kept is answered, not repeated"}
ELSE = "look whether it was done before you call again"


def run(given: Sequence[str], words: Sequence[str]) -> int:
    """Serve standard input and output until the client closes; ``given`` is the workspace option, if any.

    Without a token file nothing is served: a call without a token is taken for a person's.
    """
    token_file = Path(os.environ.get(TOKEN_FILE, ""))
    if words or not token_file.is_absolute() or len(token_file.parents) < DEPTH:
        print(USAGE, file=sys.stderr)
        return 2
    # Python's own handler would print a trace into the client's log; clients end a server by this signal.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    workspace = list(given) or ["--workspace", str(token_file.parents[DEPTH - 1])]
    tools = json.loads(TOOLS_FILE.read_text(encoding="utf-8"))
    Server(Protocol(tools), token_file.parent, Calls(workspace, os.environ)).serve(sys.stdin.buffer)
    return 0


class Calls:
    """Carries tool calls out, each in a process of its own that outlives this one."""

    def __init__(self, workspace: Sequence[str], environ: Mapping[str, str]) -> None:
        # -P: a module of the worktree must not be taken for one of Python's.
        self._command = [sys.executable, "-P", "-c", START, str(PACKAGE.parent), *workspace, "call"]
        # The token file binds the session; a token of its own would win over it.
        self._environ = {name: value for name, value in environ.items() if name != "DEVCLAW_TOKEN"}

    def answer(self, wanted: Wanted) -> tuple[str, bool]:
        """Carry one call out and return its answer as JSON, and whether it is a success."""
        arguments = json.dumps(wanted.arguments)
        try:
            done = proc.run([*self._command, wanted.tool, "-"], timeout_s=CALL_S, env=self._environ, stdin=arguments)
        except proc.NotAnswered as error:
            return _broken(wanted.tool, str(error)), False
        if done.err:
            print(done.err[-LOGGED_CHARS:], file=sys.stderr, flush=True)
        answer = _object(done.out)
        if answer is None:
            return _broken(wanted.tool, f"it ended with code {done.code} and without an answer"), False
        return done.out.strip(), answer.get("success") is True


class Server:
    """One client on standard input and output. Calls run beside the reading, so that a ping is always answered."""

    def __init__(
        self, protocol: Protocol, folder: Path, calls: Calls, out: Callable[[bytes], object] | None = None
    ) -> None:
        self._protocol, self._folder, self._calls = protocol, folder, calls
        self._write = out or _to_stdout
        self._writing = threading.Lock()
        self._waiting: queue.SimpleQueue[Wanted | None] = queue.SimpleQueue()
        self._hands: list[threading.Thread] = []
        self._is_ready = False

    def serve(self, source: BinaryIO) -> None:
        """Answer line by line; at the end of input finish the calls that were asked for."""
        with suppress(OSError):
            (self._folder / READY).unlink(missing_ok=True)
        while line := source.readline(LINE_BYTES + 1):
            if len(line) > LINE_BYTES:
                self._say(too_long(line[:CHUNK_BYTES], _rest_of_line(source, line), LINE_BYTES))
            elif line.strip():
                self._take(self._protocol.answer(line))
        for _ in self._hands:
            self._waiting.put(None)
        for hand in self._hands:
            hand.join()

    def _take(self, reply: Message | Wanted | None) -> None:
        if isinstance(reply, Wanted):
            self._call(reply)
        elif reply is not None:
            self._say(reply)
            if self._protocol.listed and not self._is_ready:
                self._ready()

    def _call(self, wanted: Wanted) -> None:
        if self._waiting.qsize() >= CALLS_WAITING:
            self._say(failed(wanted.id, OVERLOADED, f"{CALLS_WAITING} calls wait already; nothing was done"))
            return
        self._waiting.put(wanted)
        if len(self._hands) < CALLS_AT_ONCE:
            self._hands.append(threading.Thread(target=self._work))
            self._hands[-1].start()

    def _work(self) -> None:
        while (wanted := self._waiting.get()) is not None:
            text, ok = self._calls.answer(wanted)
            self._say(called(wanted, text, ok=ok))

    def _ready(self) -> None:
        """Say in the session's folder that the client has the tools; without the folder nobody waits for it."""
        self._is_ready = True
        record = {"pid": os.getpid(), "at": time.time(), "client": self._protocol.client}
        with suppress(OSError):
            mailbox.put(self._folder / READY, json.dumps(record))

    def _say(self, message: Message) -> None:
        # ASCII: a lone surrogate in an argument must not end the server.
        line = json.dumps(message).encode("ascii") + b"\n"
        # The client may have gone; what was done stands in the journal.
        with self._writing, suppress(OSError):
            self._write(line)


def _to_stdout(line: bytes) -> None:
    # Not through sys.stdout, which would try once more at the end to write to a client that has gone.
    while line:
        line = line[os.write(STDOUT, line) :]


def _rest_of_line(source: BinaryIO, line: bytes) -> bytes:
    """Read on to the line's end without keeping it; return its last bytes."""
    tail = line[-CHUNK_BYTES:]
    while line and not line.endswith(b"\n"):
        line = source.readline(CHUNK_BYTES)
        tail = (tail + line)[-CHUNK_BYTES:]
    return tail


def _object(text: str) -> Message | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _broken(tool: str, what: str) -> str:
    """Return the answer to a call whose process did not give one."""
    error = {
        "code": "internal",
        "message": f"the call of {tool} was broken off: {what}",
        "retryable": True,
        "hint": HINTS.get(tool, ELSE),
    }
    return json.dumps({"success": False, "error": error})
