"""The command line. ``devclaw call`` is what agents use, so nothing but what it needs is imported for it."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line of this process and exit."""
    if sys.argv[1:2] == ["call"]:
        from devclaw_py.faces.cli.call import run

        sys.exit(run(sys.argv[2:]))
    if sys.argv[1:2] == ["demo"]:
        import typer

        from devclaw_py.faces.cli.demo import demo

        sys.argv = ["devclaw demo", *sys.argv[2:]]
        typer.run(demo)
