"""JSON-RPC 2.0, one message a line, in both directions over two streams.

Requests run beside the reading, so that a long one holds nothing up. At the end of input nobody waits for an answer
any more: what this side has asked for fails, what it was asked for is finished.
"""

from __future__ import annotations

import itertools
import json
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, BinaryIO

Message = dict[str, Any]
Method = Callable[[Message], Any]

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
FAILED, OVERLOADED = -32000, -32001

LINE_BYTES = 8 * 1024 * 1024
REQUESTS_AT_ONCE = 16
REQUESTS_WAITING = 256
SHOWN_CHARS = 100


class PeerError(Exception):
    """The other side answered with an error, did not answer in time, or is gone."""


class Refusal(Exception):
    """What a method raises to answer with an error of its own words."""

    def __init__(self, message: str, code: int = FAILED) -> None:
        self.code = code
        super().__init__(message)


@dataclass
class _Awaited:
    """One answer that somebody waits for."""

    there: threading.Event = field(default_factory=threading.Event)
    message: Message | None = None


class Peer:
    """One end of the connection. ``write`` is given whole lines; ``methods`` are what the other side may ask for."""

    def __init__(self, write: Callable[[bytes], object], methods: Mapping[str, Method]) -> None:
        self._write, self._methods = write, methods
        self._writing, self._guard = threading.Lock(), threading.Lock()
        self._ids = itertools.count(1)
        self._awaited: dict[str, _Awaited] = {}
        self._requests: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._running, self._hands = 0, 0
        self._closed = threading.Event()

    @property
    def closed(self) -> threading.Event:
        """Set when the other side is gone."""
        return self._closed

    def serve(self, source: BinaryIO, *, finish_s: float) -> None:
        """Read until the end of input, then give what was asked for ``finish_s`` seconds to end."""
        while line := source.readline(LINE_BYTES + 1):
            if len(line) > LINE_BYTES and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = source.readline(LINE_BYTES)
                self._fail(None, INVALID_REQUEST, f"a line is longer than {LINE_BYTES} bytes; it was passed over")
            elif line.strip():
                self._take(line)
        self._close()
        deadline = time.monotonic() + finish_s
        while self._running and time.monotonic() < deadline:
            time.sleep(0.02)

    def call(self, method: str, params: Message, *, timeout_s: float) -> Any:  # noqa: ANN401 - whatever was answered
        """Ask the other side and return its result.

        Raises:
            PeerError: it answered with an error, not in time, or is gone.
        """
        ident, awaited = f"c{next(self._ids)}", _Awaited()
        self._awaited[ident] = awaited
        try:
            if self._closed.is_set():
                raise PeerError(f"{method} could not be asked: the other side is gone")
            self._say({"jsonrpc": "2.0", "id": ident, "method": method, "params": params})
            if not awaited.there.wait(timeout_s):
                raise PeerError(f"{method} was not answered within {timeout_s:g} s")
        finally:
            self._awaited.pop(ident, None)
        if awaited.message is None:
            raise PeerError(f"{method} was not answered: the other side is gone")
        if "error" in awaited.message:
            raise PeerError(_words(awaited.message["error"]))
        return awaited.message.get("result")

    def tell(self, method: str, params: Message) -> None:
        """Send a notification; nobody answers it."""
        self._say({"jsonrpc": "2.0", "method": method, "params": params})

    def _take(self, line: bytes) -> None:
        try:
            message = json.loads(line.decode("utf-8"))
        except (ValueError, RecursionError):
            self._fail(None, PARSE_ERROR, "a line is no JSON in UTF-8")
            return
        if not isinstance(message, dict):
            self._fail(None, INVALID_REQUEST, "one JSON-RPC message a line is understood")
        elif isinstance(message.get("method"), str):
            self._queue(message)
        elif "result" in message or "error" in message:
            self._answered(message)
        else:
            self._fail(message.get("id"), INVALID_REQUEST, "a message has a method, a result or an error")

    def _answered(self, message: Message) -> None:
        # An answer that nobody waits for any more came too late.
        awaited = self._awaited.get(str(message.get("id")))
        if awaited is not None:
            awaited.message = message
            awaited.there.set()

    def _queue(self, message: Message) -> None:
        with self._guard:
            if self._running >= REQUESTS_WAITING:
                self._fail(message.get("id"), OVERLOADED, f"{REQUESTS_WAITING} requests wait already; nothing was done")
                return
            self._running += 1
            needs_hand = self._hands < min(REQUESTS_AT_ONCE, self._running)
            self._hands += needs_hand
        self._requests.put(message)
        if needs_hand:
            threading.Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        while True:
            message = self._requests.get()
            try:
                self._run(message)
            finally:
                with self._guard:
                    self._running -= 1

    def _run(self, message: Message) -> None:
        ident, name, params = message.get("id"), message["method"], message.get("params", {})
        method = self._methods.get(name)
        if method is None:
            known = ", ".join(self._methods)
            self._fail(ident, METHOD_NOT_FOUND, f"there is no method {name[:SHOWN_CHARS]!r}; there are {known}")
        elif not isinstance(params, dict):
            self._fail(ident, INVALID_PARAMS, f"the parameters of {name} are an object")
        else:
            self._answer(ident, method, params)

    def _answer(self, ident: object, method: Method, params: Message) -> None:
        try:
            result = method(params)
        except Refusal as refusal:
            self._fail(ident, refusal.code, str(refusal))
        except Exception as error:  # noqa: BLE001 - a bug answers the one request that met it; its trace goes to the log
            traceback.print_exc(file=sys.stderr)
            self._fail(ident, INTERNAL, f"a bug: {type(error).__name__}: {error}; its trace is on stderr")
        else:
            if ident is not None:
                self._say({"jsonrpc": "2.0", "id": ident, "result": result})

    def _fail(self, ident: object, code: int, message: str) -> None:
        self._say({"jsonrpc": "2.0", "id": ident, "error": {"code": code, "message": message}})

    def _say(self, message: Message) -> None:
        # ASCII: a lone surrogate in somebody's text must not end the connection.
        line = json.dumps(message).encode("ascii") + b"\n"
        # Who has gone reads no answer; what was done stands in the journal.
        with self._writing, suppress(OSError):
            self._write(line)

    def _close(self) -> None:
        self._closed.set()
        for awaited in list(self._awaited.values()):
            awaited.there.set()


def _words(error: object) -> str:
    if isinstance(error, dict):
        return str(error.get("message", error))
    return str(error)
