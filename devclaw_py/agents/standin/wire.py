"""The wire of the stand-in: HTTP/1.1 on loopback, the paths of the Messages API, and faults of the connection."""

from __future__ import annotations

import json
import select
import socket
import sys
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer, ThreadingMixIn
from typing import Any, Protocol
from urllib.parse import urlsplit

from devclaw_py.agents.standin import stream
from devclaw_py.agents.standin.directives import refusal
from devclaw_py.agents.standin.record import COUNT, MESSAGES, SESSION, parsed
from devclaw_py.agents.standin.script import Answer, Break, Refusal
from devclaw_py.kernel.secrets import same

LOOPBACK = "127.0.0.1"
MODELS = "/v1/models"
LARGEST_BODY = 64 << 20
LOOK_S = 0.1
HALF = "This answer breaks off in the middle."

Connection = Any
"""A socket; `socketserver` types it so."""


class Backend(Protocol):
    """Who remembers and answers."""

    @property
    def token(self) -> str:
        """What a client has to show."""
        ...

    def note(self, method: str, path: str, headers: Mapping[str, str], raw: bytes, *, authorized: bool) -> None:
        """Write a request down."""
        ...

    def answer(self, body: Mapping[str, Any], *, session: str) -> Answer:
        """Return what the model says to a request."""
        ...


class Server(ThreadingMixIn, TCPServer):
    """Knows its open connections, so that it can end while clients keep theirs."""

    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, port: int, backend: Backend) -> None:
        self.backend = backend
        self.ending = threading.Event()
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        super().__init__((LOOPBACK, port), Handler)

    def process_request(self, request: Connection, client_address: object) -> None:
        """Begin a thread for a connection, and remember the connection."""
        with self._lock:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Connection) -> None:
        """Close a connection."""
        with self._lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Connection, client_address: object) -> None:
        """Print what a script raised; a client that goes away in the middle is an everyday thing."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    def end(self) -> None:
        """Close everything and return when the last thread has ended."""
        self.ending.set()
        self.shutdown()
        with self._lock:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self.server_close()


class Handler(BaseHTTPRequestHandler):
    """One connection of a client."""

    protocol_version = "HTTP/1.1"
    server_version, sys_version = "devclaw-standin", ""
    # An event is one small write: without this each would wait for the acknowledgement of the one before.
    disable_nagle_algorithm = True
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing: the record holds it all."""

    def do_HEAD(self) -> None:
        """Answer the client's look whether anybody is there; it shows no token."""
        self.server.backend.note("HEAD", self.path, dict(self.headers), b"", authorized=self._authorized())
        self._head(200, {"content-length": "0"})

    def do_GET(self) -> None:
        """List no models; the client has its own list."""
        if not self._admitted(b""):
            return
        if urlsplit(self.path).path == MODELS:
            self._json(200, {"data": [], "has_more": False, "first_id": None, "last_id": None})
        else:
            self._refuse(replace(refusal(404), message="the stand-in knows no such path"))

    def do_POST(self) -> None:
        """Answer as the model, count tokens, take anything else in silence."""
        raw = self._body()
        if raw is None:
            self.close_connection = True
            self._refuse(refusal(413))
        elif self._admitted(raw):
            self._post(urlsplit(self.path).path, raw)

    def _post(self, path: str, raw: bytes) -> None:
        body = parsed(raw)
        if path not in (MESSAGES, COUNT):
            self._json(200, {})
        elif body is None:
            self._refuse(replace(refusal(400), message="the body is not a JSON object"))
        elif path == COUNT:
            self._json(200, {"input_tokens": stream.tokens(len(raw))})
        else:
            self._give(self.server.backend.answer(body, session=self.headers.get(SESSION, "")), body, len(raw))

    def _give(self, answer: Answer, body: Mapping[str, Any], size: int) -> None:
        if answer.delay_s and not self._hold(answer.delay_s):
            return
        fault = answer.fault
        if isinstance(fault, Refusal):
            self._refuse(fault)
            return
        if fault and not answer.text:
            answer = replace(answer, text=HALF)
        whole = stream.message(answer, model=str(body.get("model") or ""), request_bytes=size)
        if fault:
            self._break(fault, whole)
        elif body.get("stream"):
            self._stream(list(stream.events(whole)))
            self.wfile.write(b"0\r\n\r\n")
        else:
            self._json(200, whole)

    def _break(self, fault: Break, whole: Mapping[str, Any]) -> None:
        if fault in (Break.CUT, Break.STALL):
            self._stream(stream.first_half(whole))
        if fault in (Break.STALL, Break.HANG):
            self._hold(None)
        self.close_connection = True

    def _stream(self, events: Sequence[stream.Event]) -> None:
        self._head(
            200, {"content-type": "text/event-stream", "cache-control": "no-cache", "transfer-encoding": "chunked"}
        )
        for event in events:
            data = stream.encode(event)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))

    def _hold(self, seconds: float | None) -> bool:
        """Wait, for ever with None; False when the client went away or the server ends, and the connection with it."""
        left = float("inf") if seconds is None else seconds
        while left > 0:
            step = min(left, LOOK_S)
            if self.server.ending.wait(step) or self._gone():
                self.close_connection = True
                return False
            left -= step
        return True

    def _gone(self) -> bool:
        readable, _, _ = select.select([self.connection], [], [], 0)
        return bool(readable) and self.connection.recv(1, socket.MSG_PEEK) == b""

    def _admitted(self, raw: bytes) -> bool:
        authorized = self._authorized()
        self.server.backend.note(self.command, self.path, dict(self.headers), raw, authorized=authorized)
        if not authorized:
            self._refuse(replace(refusal(401), message="the stand-in was shown no token, or another"))
        return authorized

    def _authorized(self) -> bool:
        scheme, _, bearer = self.headers.get("authorization", "").partition(" ")
        shown = bearer if scheme.lower() == "bearer" else self.headers.get("x-api-key", "")
        return same(shown.strip(), self.server.backend.token)

    def _body(self) -> bytes | None:
        """Read the request's body; None when it is too large."""
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            size = int(self.headers.get("content-length") or 0)
            return self.rfile.read(size) if size <= LARGEST_BODY else None
        pieces: list[bytes] = []
        while size := int(self.rfile.readline().split(b";")[0].strip() or b"0", 16):
            if size + sum(map(len, pieces)) > LARGEST_BODY:
                return None
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _refuse(self, fault: Refusal) -> None:
        request_id = stream.new_id("req")
        more = {} if fault.retry_after_s is None else {"retry-after": str(fault.retry_after_s)}
        self._json(fault.status, stream.error(fault, request_id=request_id), {"request-id": request_id, **more})

    def _json(self, status: int, body: Mapping[str, Any], headers: Mapping[str, str] | None = None) -> None:
        data = json.dumps(body).encode()
        self._head(status, {"content-type": "application/json", "content-length": str(len(data)), **(headers or {})})
        self.wfile.write(data)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"request-id": stream.new_id("req"), **headers}.items():
            self.send_header(name, value)
        if self.close_connection:
            self.send_header("connection", "close")
        self.end_headers()
