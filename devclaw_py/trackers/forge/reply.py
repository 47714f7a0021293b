"""One answer of a forge, as it came."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
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


def retry_after(headers: Mapping[str, str], now: datetime) -> datetime | None:
    """Return the time that Retry-After names, in seconds or as a date; None without it or where it says nothing."""
    value = headers.get("retry-after", "").strip()
    if value.isdecimal():
        return now + timedelta(seconds=max(1, int(value)))
    try:
        at = parsedate_to_datetime(value) if value else None
    except ValueError:
        return None
    if at is None:
        return None
    return max(at.replace(tzinfo=at.tzinfo or UTC), now + timedelta(seconds=1))
