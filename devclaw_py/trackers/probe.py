"""What a host without a known name is: asked once, without a token, for three seconds."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from email.message import Message
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

from devclaw_py.model.pipeline import Provider
from devclaw_py.trackers.remotes import Address, Known

PROBE_S = 3.0
MOST_BYTES = 65_536


class _Stay(HTTPRedirectHandler):
    """A sign-in page is no answer."""

    def redirect_request(self, *args: object, **kwargs: object) -> None:
        """Follow nothing."""


class Probe:
    """Asks hosts what they are, each once in the life of this process."""

    def __init__(self, timeout_s: float = PROBE_S) -> None:
        self._timeout_s = timeout_s
        self._known: dict[str, Known | None] = {}

    def ask(self, address: Address) -> Known | None:
        """Return the forge that answers at an address's host, at its top or below the first part of the path."""
        roots = [address.web, f"{address.web}/{address.path.partition('/')[0]}"]
        for web in roots[: 2 if address.path.count("/") > 1 and address.scheme in ("http", "https") else 1]:
            if web not in self._known:
                self._known[web] = self._look(web)
            if self._known[web] is not None:
                return self._known[web]
        return None

    def _look(self, web: str) -> Known | None:
        for path, provider in (("/api/v4/version", Provider.GITLAB), ("/api/v3/meta", Provider.GITHUB)):
            try:
                status, headers, body = self._get(web + path)
            except (OSError, HTTPException, ValueError):
                return None  # nobody is there; the other questions would wait for the same nobody
            if provider in _signs(status, headers, body):
                return Known(provider, web.lower())
        return None

    def _get(self, url: str) -> tuple[int, Mapping[str, str], object]:
        request = Request(url, headers={"Accept": "application/json", "User-Agent": "devclaw"})
        try:
            with build_opener(_Stay).open(request, timeout=self._timeout_s) as answer:
                return answer.status, dict(_lower(answer.headers)), _parsed(answer.read(MOST_BYTES))
        except HTTPError as refusal:
            with refusal:
                return refusal.code, dict(_lower(refusal.headers)), _parsed(refusal.read(MOST_BYTES))


def _lower(headers: Message) -> Iterator[tuple[str, str]]:
    return ((name.lower(), value) for name, value in headers.items())


def _signs(status: int, headers: Mapping[str, str], body: object) -> Iterator[Provider]:
    fields = body if isinstance(body, dict) else {}
    if "x-gitlab-meta" in headers or (status == 200 and {"version", "revision"} <= fields.keys()):
        yield Provider.GITLAB
    if "installed_version" in fields or "x-github-enterprise-version" in headers:
        yield Provider.GITHUB


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:
        return None
