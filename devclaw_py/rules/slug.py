"""The form of a name that folders, tmux sessions and branches can carry."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container

MAX_CHARS = 40


def slug(name: str, taken: Container[str] = ()) -> str:
    """Return ``name`` in lower case, runs of anything but a-z and 0-9 as one dash, at most 40 characters.

    An empty or taken form gets six hex digits of the name's sha256.

    >>> slug("My  Web/App")
    'my-web-app'
    """
    folded = unicodedata.normalize("NFKC", name).lower()
    short = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")[:MAX_CHARS].strip("-")
    if short and short not in taken:
        return short
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{short}-{digest}".strip("-")
