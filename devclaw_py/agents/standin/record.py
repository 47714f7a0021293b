"""What the stand-in was sent: files, two a request, in the order of arrival.

``00001.body`` holds the bytes as they came, ``00001.json`` the rest; the second is written last, so where it stands
the request is whole. The token is in neither: headers that carry one are left out, and where a body or a path holds it
a mask stands in its place and the record says ``"masked": true``.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from devclaw_py.agents import mailbox
from devclaw_py.agents.standin.script import Conversation, conversation
from devclaw_py.kernel import files
from devclaw_py.kernel.clock import SystemClock, timestamp
from devclaw_py.kernel.secrets import scrub

MESSAGES, COUNT = "/v1/messages", "/v1/messages/count_tokens"
SESSION = "x-claude-code-session-id"
CREDENTIALS = frozenset({"authorization", "x-api-key", "proxy-authorization", "cookie"})


class Kind(StrEnum):
    """What a request is for."""

    TURN = "turn"
    """A message of the model in a turn."""
    SIDE = "side"
    """Something of the client's own, such as a title: no tools."""
    COUNT = "count"
    """How many tokens something is."""
    OTHER = "other"


@dataclass(frozen=True)
class Request:
    """One recorded request; its body is read from the file when it is asked for. Header names are in lower case."""

    number: int
    at: str
    method: str
    path: str
    headers: Mapping[str, str]
    kind: Kind
    authorized: bool
    masked: bool
    file: Path

    @property
    def raw(self) -> bytes:
        """The body as it came."""
        return self.file.read_bytes()

    @property
    def body(self) -> dict[str, Any]:
        """The body's JSON object; empty when there is none."""
        return parsed(self.raw) or {}

    @property
    def conversation(self) -> Conversation:
        """The body as a script gets it."""
        return conversation(self.body, session=self.session)

    @property
    def session(self) -> str:
        """The client's session id, empty when it names none."""
        return self.headers.get(SESSION, "")


class Record:
    """Writes requests into a folder, after those that are already there; any thread may add."""

    def __init__(self, folder: Path, *, secrets: Iterable[str]) -> None:
        self._folder = files.private_folder(folder)
        self._secrets = tuple(secrets)
        self._requests: list[Request] = []
        self._changed = threading.Condition()
        self._before = max((int(path.stem) for path in folder.glob("*.body") if path.stem.isdigit()), default=0)

    def add(self, method: str, path: str, headers: Mapping[str, str], raw: bytes, *, authorized: bool) -> Request:
        """Write a request down.

        Raises:
            OSError: the machine refused.
        """
        # Undecodable bytes survive the way there and back as surrogates.
        came = raw.decode("utf-8", errors="surrogateescape")
        body, where = scrub(came, self._secrets), scrub(path, self._secrets)
        with self._changed:
            number = self._before + len(self._requests) + 1
            request = Request(
                number=number,
                at=timestamp(SystemClock().now()),
                method=method,
                path=where,
                headers=self._safe(headers),
                kind=kind_of(method, path, raw),
                authorized=authorized,
                masked=(body, where) != (came, path),
                file=self._folder / f"{number:05d}.body",
            )
            mailbox.put(request.file, body)
            head = {**asdict(request), "file": request.file.name}
            mailbox.put(request.file.with_suffix(".json"), json.dumps(head, ensure_ascii=False, indent=1) + "\n")
            self._requests.append(request)
            self._changed.notify_all()
        return request

    def all(self) -> list[Request]:
        """Return what was added, in order."""
        with self._changed:
            return list(self._requests)

    def wait(self, count: int, kind: Kind, *, timeout_s: float) -> list[Request]:
        """Wait until there are ``count`` requests of a kind, and return all of that kind.

        Raises:
            TimeoutError: there are fewer; the message says how many.
        """
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while len(found := [each for each in self._requests if each.kind is kind]) < count:
                left = deadline - time.monotonic()
                if left <= 0:
                    raise TimeoutError(f"{len(found)} of {count} {kind} requests came within {timeout_s:g} s")
                self._changed.wait(left)
        return found

    def _safe(self, headers: Mapping[str, str]) -> dict[str, str]:
        kept = {name.lower(): value for name, value in headers.items() if name.lower() not in CREDENTIALS}
        return {name: scrub(value, self._secrets) for name, value in kept.items()}


def kind_of(method: str, path: str, raw: bytes) -> Kind:
    """Say what a request is for."""
    where = urlsplit(path).path
    if method != "POST" or where not in (MESSAGES, COUNT):
        return Kind.OTHER
    if where == COUNT:
        return Kind.COUNT
    return Kind.TURN if (parsed(raw) or {}).get("tools") else Kind.SIDE


def parsed(raw: bytes) -> dict[str, Any] | None:
    """Return the JSON object of a body, or None when it is none."""
    try:
        found = json.loads(raw)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
