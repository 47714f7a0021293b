"""Requests to a forge as devclaw makes them: within the budget, each refusal as an error of devclaw's own."""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from threading import local
from typing import Protocol, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from devclaw_py.errors import RateLimited, TrackerError, TrackerUnavailable
from devclaw_py.kernel.clock import Clock
from devclaw_py.trackers.forge.budget import Budget, Pace, Spend
from devclaw_py.trackers.forge.reply import Reply, next_page

T = TypeVar("T")

PAGE = 100


def fingerprint_of(token: str) -> str:
    """Return eight characters that tell tokens apart and give nothing away.

    >>> fingerprint_of("ghp_example")
    '3a3a21c6'
    """
    return hashlib.sha256(token.encode()).hexdigest()[:8]


def segments(*parts: str | int) -> str:
    """Return the parts as a path, each quoted as a whole: a label may hold a slash.

    >>> segments("issues", 7, "labels", "needs/review")
    '/issues/7/labels/needs%2Freview'
    """
    return "".join(f"/{quote(str(part), safe='')}" for part in parts)


class Connection(Protocol):
    """One kept-alive connection, on the library of the forge. Not for several threads at once."""

    def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: object = None,
    ) -> Reply:
        """Send one request and return the answer, whatever it says.

        Raises:
            TrackerUnavailable: no answer, or none that can be read. A write may have been carried out all the same.
        """
        ...

    def close(self) -> None:
        """Close the connection."""
        ...


class ForgeClient(ABC):
    """One account at the interface ``api``, such as ``https://api.github.com``. Threads may share it.

    ``token`` is asked at every request: one of an App changes each hour. ``login`` tells the account's name where the
    token cannot be asked for it, and ``account`` what the budget belongs to where that is not the token. ``folder`` is
    where processes share budget and lists; ``pace`` is what devclaw allows itself, which may be more at a server of
    one's own without limits.
    """

    usual_pace = Pace()

    def __init__(
        self,
        api: str,
        token: Callable[[], str],
        *,
        folder: Path,
        clock: Clock,
        timeout_s: float,
        login: Callable[[], str] | None = None,
        account: str | None = None,
        pace: Pace | None = None,
    ) -> None:
        self.api, self.folder, self.clock, self.pace = api.rstrip("/"), folder, clock, pace or self.usual_pace
        self._token, self._timeout_s, self._named, self._account = token, timeout_s, login, account
        self._login: str | None = None
        self._threads = local()

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the token as it is now."""
        return fingerprint_of(self._token())

    @property
    def budget(self) -> Budget:
        """What the account may still do."""
        key = hashlib.sha256(f"{self.api} {self._account or self._token()}".encode()).hexdigest()[:16]
        return Budget(self.folder, key, where=self.where, clock=self.clock, pace=self.pace)

    @property
    @abstractmethod
    def where(self) -> str:
        """The service's name for messages."""

    @abstractmethod
    def connect(self, token: str, timeout_s: float) -> Connection:
        """Return a connection for one thread; the library is imported here and not before."""

    @abstractmethod
    def refusal(self, reply: Reply, wish: str, token: str) -> TrackerError:
        """Return the error of an answer that refuses ``wish``, without the token."""

    @abstractmethod
    def pause(self, reply: Reply, otherwise_s: Callable[[], float]) -> tuple[datetime, str] | None:
        """Return until when an answer asks for silence and why; None where it is about something else.

        ``otherwise_s`` says for how many seconds where the answer names no time.
        """

    @abstractmethod
    def ask_login(self) -> str:
        """Ask for the account's name."""

    def ask(
        self,
        method: str,
        path: str,
        wish: str,
        *,
        spend: Spend = Spend.READ,
        parameters: Mapping[str, str] | None = None,
        body: object = None,
        etag: str = "",
        told: frozenset[int] = frozenset(),
    ) -> Reply:
        """Make one request and return an answer of success, a 304 to ``etag``, or one of the statuses ``told``.

        ``wish`` completes "refused to ..." in a message.

        Raises:
            RateLimited: now or until later; nobody waits here.
            TrackerError: any other refusal, or no answer.
        """
        token, budget = self._token(), self.budget
        fingerprint = fingerprint_of(token)
        budget.admit(spend, fingerprint)
        headers = {"If-None-Match": etag} if etag else {}
        reply = self._connection(token).send(method, path, parameters=parameters, headers=headers, body=body)
        self._heed(reply, budget, wish)
        if reply.status < 300 or reply.status == 304 or reply.status in told:
            return reply
        if reply.status == 401:
            budget.refuse(fingerprint)
        raise self.refusal(reply, wish, token)

    def read(self, form: type[T], path: str, wish: str, *, parameters: Mapping[str, str] | None = None) -> T:
        """Return what one GET answers, in the form that is expected.

        Raises:
            TrackerError: a refusal, no answer, or one of another form.
        """
        return self.shaped(form, self.ask("GET", path, wish, parameters=parameters))

    def pages(
        self, form: type[T], path: str, wish: str, *, parameters: Mapping[str, str] | None = None
    ) -> Iterator[list[T]]:
        """Yield the pages of a list, each a request that is made when it is wanted."""
        for reply in self.replies(path, wish, parameters=parameters):
            yield self.shaped(list[form], reply)  # type: ignore[valid-type]  # a form given at run time

    def replies(
        self, path: str, wish: str, *, parameters: Mapping[str, str] | None = None, told: frozenset[int] = frozenset()
    ) -> Iterator[Reply]:
        """Yield the answers of a list's pages; one with a status of ``told`` is the last."""
        asked = {"per_page": str(PAGE), **(parameters or {})}
        while True:
            reply = self.ask("GET", path, wish, parameters=asked, told=told)
            yield reply
            following = next_page(reply)
            if following is None:
                return
            asked |= following

    def shaped(self, form: type[T], reply: Reply) -> T:
        """Return the body of an answer in the form that is expected.

        Raises:
            TrackerUnavailable: it has another one.
        """
        try:
            return TypeAdapter(form).validate_python(reply.body)
        except ValidationError as error:
            first = error.errors()[0]
            found = f"{self.where} answered in an unknown form: {first['msg']} at {'.'.join(map(str, first['loc']))}"
            raise TrackerUnavailable(found) from error

    def login(self) -> str:
        """Return the name of the account, asked once.

        Raises:
            TrackerDenied: the token cannot be asked.
        """
        if self._login is None and self._named is not None:
            self._login = self._named()
        if self._login is None:
            self._login = self.ask_login()
        return self._login

    def close(self) -> None:
        """Close this thread's connection."""
        connection: Connection | None = getattr(self._threads, "connection", None)
        if connection is not None:
            connection.close()
            del self._threads.connection

    def _heed(self, reply: Reply, budget: Budget, wish: str) -> None:
        """Note a limit for all processes, and raise where this request met it."""
        asked = self.pause(reply, budget.next_pause_s)
        if asked is None:
            return
        until, reason = asked
        budget.pause(until, reason)
        if reply.status >= 400:
            raise RateLimited(f"{self.where} was asked to {wish} and asks for a pause: {reason}", until)

    def _connection(self, token: str) -> Connection:
        if getattr(self._threads, "token", None) != token:
            self.close()
            self._threads.connection = self.connect(token, self._timeout_s)
            self._threads.token = token
        found: Connection = self._threads.connection
        return found
