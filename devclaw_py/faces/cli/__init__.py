"""The command line. ``devclaw call`` is what agents use, so nothing but what it needs is imported for it.

``devclaw worker-mcp`` stays beside every worker, so it is leaner still: see `faces.worker`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

WORKSPACE = "--workspace"


def main() -> None:
    """Run the command line of this process and exit."""
    argv = sys.argv[1:]
    given, words = leading_workspace(argv)
    if words[:1] == ["call"]:
        from devclaw_py.faces.cli.call import run as run_call

        sys.exit(run_call([*given, *words[1:]]))

    if words[:1] == ["worker-mcp"]:
        from devclaw_py.faces.worker import run as run_worker

        sys.exit(run_worker(given, words[1:]))

    if words[:2] == ["openclaw", "child"]:
        from devclaw_py.faces.openclaw.child import run as run_child

        sys.exit(run_child())

    from devclaw_py.faces.cli.app import run

    sys.exit(run(argv))


def leading_workspace(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the workspace option in front of the command, and the words from the command on.

    >>> leading_workspace(["--workspace", "w", "call", "queue_status"])
    (['--workspace', 'w'], ['call', 'queue_status'])
    """
    words = list(argv)
    if words[:1] == [WORKSPACE]:
        return words[:2], words[2:]
    if words and words[0].startswith(f"{WORKSPACE}="):
        return words[:1], words[1:]
    return [], words
