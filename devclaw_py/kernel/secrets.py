"""Tokens: made, compared, taken out of texts."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable

SHORTEST = 8
MASK = "[secret]"


def new_token() -> str:
    """Return an unguessable token of 43 characters that are safe in a URL and a file."""
    return secrets.token_urlsafe(32)


def same(left: str, right: str) -> bool:
    """Compare two tokens in a time that does not tell where they differ."""
    return hmac.compare_digest(left.encode("utf-8", "surrogatepass"), right.encode("utf-8", "surrogatepass"))


def scrub(text: str, secrets: Iterable[str]) -> str:
    """Return ``text`` with every secret masked; what is shorter than eight characters is no secret.

    >>> scrub("token=abcdefgh!", ["abcdefgh"])
    'token=[secret]!'
    """
    # The longest first: one secret may be the beginning of another.
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST:
            text = text.replace(secret, MASK)
    return text
