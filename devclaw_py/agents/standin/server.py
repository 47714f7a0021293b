"""The stand-in Messages API: it records what it is sent and answers by script."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from devclaw_py.agents.standin.directives import BadDirective, follow_directives, refusal
from devclaw_py.agents.standin.record import Kind, Record, Request
from devclaw_py.agents.standin.script import Answer, Conversation, Script, conversation
from devclaw_py.agents.standin.wire import LOOPBACK, Server
from devclaw_py.errors import ConfigError
from devclaw_py.kernel.secrets import new_token

WAIT_S = 20.0
POLL_S = 0.05
SIDE_ANSWER = Answer(json.dumps({"title": "Stand-in", "isNewTopic": False}))


class StandIn:
    """A Messages API at ``url`` for who shows ``token``, as bearer or as API key; a context manager.

    Every request is written into ``folder`` before it is answered. ``port`` 0 lets the kernel choose. A script that
    raises `BadDirective` makes the client see its message; any other exception of a script is printed on stderr and
    the connection closed.
    """

    def __init__(
        self, *, folder: Path, script: Script = follow_directives, token: str | None = None, port: int = 0
    ) -> None:
        self.token = token or new_token()
        self.script = script
        self._record = Record(folder, secrets=(self.token,))
        self._asked: Counter[tuple[str, int, str]] = Counter()
        self._lock = threading.Lock()
        try:
            self._server = Server(port, self)
        except OSError as error:
            raise ConfigError(f"the stand-in cannot listen on {LOOPBACK}:{port}: {error.strerror}") from error
        self._thread = threading.Thread(target=self._server.serve_forever, args=(POLL_S,), name="stand-in")

    def __enter__(self) -> Self:
        """Answer from here on."""
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections, also those that wait, and return when the last thread has ended."""
        self._server.end()
        self._thread.join()

    @property
    def url(self) -> str:
        """What ANTHROPIC_BASE_URL has to be."""
        return f"http://{LOOPBACK}:{self._server.server_address[1]}"

    @property
    def requests(self) -> list[Request]:
        """All requests, in the order in which they came."""
        return self._record.all()

    @property
    def turns(self) -> list[Request]:
        """The requests for a message in a turn, without the client's own for titles and the like."""
        return [request for request in self.requests if request.kind is Kind.TURN]

    def wait_for(self, count: int, *, timeout_s: float = WAIT_S) -> list[Request]:
        """Wait until there are ``count`` in ``turns``, and return all there are.

        Raises:
            TimeoutError: there are fewer; the message says how many.
        """
        return self._record.wait(count, Kind.TURN, timeout_s=timeout_s)

    def note(self, method: str, path: str, headers: Mapping[str, str], raw: bytes, *, authorized: bool) -> None:
        """Write a request down."""
        self._record.add(method, path, headers, raw, authorized=authorized)

    def answer(self, body: Mapping[str, Any], *, session: str) -> Answer:
        """Return what the model says to a request."""
        asked = conversation(body, session=session)
        if asked.side:
            return SIDE_ANSWER
        try:
            return self.script(replace(asked, tries=self._tries(asked)))
        except BadDirective as error:
            return Answer(fault=replace(refusal(400), message=str(error)))

    def _tries(self, asked: Conversation) -> int:
        position = (asked.session, len(asked.messages), asked.turn.prompt)
        with self._lock:
            self._asked[position] += 1
            return self._asked[position] - 1
