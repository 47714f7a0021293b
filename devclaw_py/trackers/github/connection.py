"""One kept-alive connection to GitHub on PyGithub. Nothing is followed, waited out or, but for reads, sent twice.

Three habits of the library are switched off here. It follows a 301 with any method and without the query, so that a
write to a transferred issue lands in another repository. It sends POST and DELETE again after a 5xx or a lost answer.
And its retry sleeps until a rate limit's reset, for up to an hour, in the caller.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from urllib.parse import urlsplit

from github import Auth, Github
from github.Requester import HTTPRequestsConnectionClass, HTTPSRequestsConnectionClass, Requester
from jwt import PyJWTError
from requests import Response
from urllib3 import Retry

from devclaw_py.errors import TrackerUnavailable
from devclaw_py.trackers.forge.reply import Reply

READS = frozenset({"GET", "HEAD"})
READ_RETRY = Retry(
    total=2,
    allowed_methods=READS,
    status_forcelist=frozenset({500, 502, 503, 504}),
    backoff_factor=0.3,
    backoff_max=2,
    respect_retry_after_header=False,
    raise_on_status=False,
)
WRITE_RETRY = Retry(total=0, read=False)

# 202 is among them because PyGithub would ask again every second until the answer is another one.
NOT_FOLLOWED = frozenset({202, 301, 302, 303, 307, 308})


class _Stayed(Exception):
    """An answer that PyGithub would act upon."""

    def __init__(self, status: int, headers: Mapping[str, str]) -> None:
        self.reply = Reply(status, {name.lower(): value for name, value in headers.items()})
        super().__init__(status)


class Connection:
    """Requests to the interface at ``api`` with one token. Not for several threads at once.

    ``as_app`` says that the token is an App's proof of itself, which GitHub wants to be shown otherwise.
    """

    def __init__(self, api: str, token: str, *, timeout_s: float, as_app: bool = False) -> None:
        timeout = math.ceil(timeout_s)
        self._api = api
        self._requester: Requester = Github(
            base_url=api,
            auth=Auth.AppAuthToken(token) if as_app else Auth.Token(token),
            timeout=timeout,
            user_agent="devclaw",
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
            lazy=True,
        ).requester
        kind = HTTPSRequestsConnectionClass if self._requester.scheme == "https" else HTTPRequestsConnectionClass
        self._wire = kind(self._requester.hostname, urlsplit(api).port, timeout=timeout, retry=WRITE_RETRY)
        self._wire.session.hooks["response"].append(_stay)

    def send(
        self,
        method: str,
        path: str,
        *,
        parameters: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        body: object = None,
    ) -> Reply:
        """Send one request to a path below the interface and return the answer, whatever it says.

        Raises:
            TrackerUnavailable: no answer, or none that can be read. A write may have been carried out all the same.
        """
        self._wire.adapter.max_retries = READ_RETRY if method in READS else WRITE_RETRY
        try:
            status, found, text = self._requester.requestJson(
                method, path, dict(parameters or {}), dict(headers or {}), body, cnx=self._wire
            )
        except _Stayed as stayed:
            return stayed.reply
        except OSError as error:  # the base of everything that requests raises
            raise TrackerUnavailable(
                f"{self._api} gave no answer to {method} {path}: {type(error).__name__}",
                hint="it is tried again later; see that the network and the service are up",
            ) from error
        return Reply(status, found, self._parsed(status, text))

    def close(self) -> None:
        """Close the connection."""
        self._wire.close()

    def _parsed(self, status: int, text: str) -> object:
        if not text:
            return None
        try:
            return json.loads(text)
        except ValueError as error:
            if status >= 400:
                return None
            raise TrackerUnavailable(
                f"{self._api} answered {status} with something that is not JSON",
                hint="see that this is the address of GitHub's interface, and that no proxy answers in its place",
            ) from error


def app_token(app_id: str, key: str) -> str:
    """Return a GitHub App's proof of itself, good for some minutes, made from its private key.

    Raises:
        ValueError: the key is none.
    """
    try:
        return Auth.AppAuth(app_id, key).create_jwt()
    except PyJWTError as error:
        raise ValueError(type(error).__name__) from error


def _stay(response: Response, *_: object, **__: object) -> None:
    if response.status_code in NOT_FOLLOWED:
        headers = dict(response.headers)
        response.close()
        raise _Stayed(response.status_code, headers)
