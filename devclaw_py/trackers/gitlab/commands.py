"""Quick actions: lines of a text that GitLab carries out instead of showing them."""

from __future__ import annotations

import re

ACTION = re.compile(r"^([ \t]*)/(?=[A-Za-z_])", re.MULTILINE)


def plain_text(text: str) -> str:
    r"""Return ``text`` so that GitLab carries nothing of it out: it is a worker's, and nobody has read it.

    >>> plain_text("Done.\n/close\nSee /etc/hosts")
    'Done.\n\\/close\nSee /etc/hosts'
    """
    return ACTION.sub(r"\1\\/", text)
