"""What differs from one run of a command to the next, taken out of its output, so that two runs can be compared."""

from __future__ import annotations

import re

RULES = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)"), "<time>"),
    (re.compile(r"(?:/[\w.-]+)+/devclaw-demo-\w+"), "<workspace>"),
    (re.compile(r"\bdevclaw-[0-9a-f]{8}\b"), "<socket>"),
    (re.compile(r"\b(?=[a-f]*\d)(?:[0-9a-f]{64}|[0-9a-f]{40}|[0-9a-f]{32}|[0-9a-f]{16})\b"), "<id>"),
    (re.compile(r"\b\d+(?:\.\d+)? ?s\b"), "<seconds>"),
    (re.compile(r"\bpid \d+\b"), "pid <pid>"),
)


def normalised(text: str, *workspaces: str) -> str:
    """Return ``text`` with paths, sockets, ids, times and durations replaced by their kind.

    ``workspaces`` are folders to replace besides those named devclaw-demo-...; spaces at line ends go as well.
    """
    for folder in sorted(workspaces, key=len, reverse=True):
        text = text.replace(folder, "<workspace>")
    for pattern, kind in RULES:
        text = pattern.sub(kind, text)
    return "\n".join(line.rstrip() for line in text.strip().splitlines()) + "\n"
