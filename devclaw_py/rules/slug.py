"""Names that people give, and the short form of them that folders, tmux and branches can carry."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Container
from itertools import count

from devclaw_py.errors import InvalidArguments

LENGTH = 40
NAME_CHARS = 100


def slug(name: str, taken: Container[str] = ()) -> str:
    """Return ``name`` as lower-case ASCII letters, digits and single dashes; at most 47 characters.

    A name that has none of those, or whose slug is in ``taken``, gets 6 hex digits of its sha256, so two names that
    look alike to a file system stay apart. The same arguments give the same slug on every machine.

    >>> slug("My Web-App!")
    'my-web-app'
    >>> slug("My Web-App!", taken={"my-web-app"})
    'my-web-app-6b4b4e'
    """
    folded = unicodedata.normalize("NFKC", name).lower()
    stem = re.sub(r"[^a-z0-9]+", "-", folded).strip("-")[:LENGTH].rstrip("-")
    if stem and stem not in taken:
        return stem

    # Without a stem there is nothing for the dash to part, and tmux and git read a leading dash as an option.
    return next(found for turn in count() if (found := f"{stem}-{_digits(name, turn)}".lstrip("-")) not in taken)


def _digits(name: str, turn: int) -> str:
    salted = name if turn == 0 else f"{name}\0{turn}"
    return hashlib.sha256(salted.encode("utf-8", "surrogatepass")).hexdigest()[:6]


def check_name(name: str) -> None:
    """Refuse a project name that could not be shown in a chat or would point outside a folder.

    Raises:
        InvalidArguments: empty, over 100 characters, or with a control character, ``/``, ``\\`` or ``..``.
    """
    if not name.strip():
        raise InvalidArguments("the project's name is empty; give it a short one, such as my-webapp")
    if len(name) > NAME_CHARS:
        raise InvalidArguments(f"the project's name has {len(name)} characters; at most {NAME_CHARS} are accepted")
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in name):
        raise InvalidArguments(f"the project's name {name!r} has a control character; leave it out")
    for part in ("/", "\\", ".."):
        if part in name:
            raise InvalidArguments(f"the project's name {name!r} contains {part!r}; leave it out, it names a folder")
