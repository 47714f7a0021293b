"""``devclaw webhook``: listen to what GitHub and GitLab tell of."""

from __future__ import annotations

import os
import sys

import typer

from devclaw_py.faces.cli.heartbeat import lines_of
from devclaw_py.faces.cli.options import Command, Workspace
from devclaw_py.faces.cli.output import say
from devclaw_py.faces.opening import open_workspace, require_person
from devclaw_py.faces.webhook import PATH, Ear, Server, secret_of, serve
from devclaw_py.night.heartbeat import Visit


def add_to(cli: typer.Typer) -> None:
    """Add the command."""
    cli.command("webhook", cls=Command)(webhook)


def webhook(workspace: Workspace = None) -> None:
    """Listen for events of GitHub and GitLab, and look at their projects at once. It goes on until it is stopped."""
    app = open_workspace(workspace, os.environ)
    require_person(app, os.environ, "serve webhooks")
    settings = app.settings.webhook
    ear = Ear(app, secret_of(settings, app.workspace), frozenset(name.casefold() for name in settings.ignore))
    server = Server(settings.host, settings.port, ear)
    print(f"Listening at http://{settings.host}:{server.server_port}{PATH}", file=sys.stderr, flush=True)
    try:
        serve(app, server, _tell)
    except KeyboardInterrupt:
        print("stopped; events are looked into by the heartbeat", file=sys.stderr)


def _tell(visit: Visit) -> None:
    for line in lines_of(visit):
        say(line)
