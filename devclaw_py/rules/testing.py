"""The command that runs a project's tests: what it may be, what a worker may run for it, and which one is likely."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Annotated

from pydantic import AfterValidator

from devclaw_py.model.project import TEST_COMMAND

# By a file that stands in the repository's root; the first that is there.
LIKELY = {
    "pyproject.toml": "pytest",
    "package.json": "npm test",
    "Cargo.toml": "cargo test",
    "go.mod": "go test ./...",
    "Makefile": "make test",
}


def rule(command: str) -> str:
    """Return the permission rule that lets Claude Code run the command, whatever arguments follow.

    >>> rule("pytest -q")
    'Bash(pytest -q:*)'
    """
    return f"Bash({command}:*)"


def likely(names: Collection[str]) -> str | None:
    """Return the command that a repository with these files in its root probably has; None for an unknown kind."""
    return next((command for name, command in LIKELY.items() if name in names), None)


def _command(text: str) -> str:
    words = text.strip()
    if words and not re.fullmatch(TEST_COMMAND, words):
        raise ValueError(
            f"{text[:100]!r} is no plain command of at most ten words; write one such as pytest -q, without quotes, "
            "variables, wildcards and other signs of a shell, or put a script into the repository"
        )
    return words


TestCommand = Annotated[str, AfterValidator(_command)]
"""A command with its arguments, one blank between words; blank means none."""
