"""One answer of GitHub, as it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass(frozen=True)
class Reply:
    """An answer: header names in lower case, the body as parsed JSON or None."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


def next_page(reply: Reply) -> dict[str, str] | None:
    """Return the query of the page that follows, or None after the last one.

    Only the query is used: the address in the answer may name another host or the repository's former name.
    """
    for link in reply.headers.get("link", "").split(","):
        address, _, relation = link.partition(";")
        if 'rel="next"' in relation:
            return dict(parse_qsl(urlsplit(address.strip(" <>")).query))
    return None
