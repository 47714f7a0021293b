"""Many live sessions: one look at all of them, and coming back after a restart."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from devclaw_py.agents import mailbox, tokens
from devclaw_py.kernel import proc
from tests.bench.control import ControlClient
from tests.bench.measure import Goal, Row, Scale, ms_of
from tests.bench.office import Office, bytecode, office, python

PANE = "#{session_name} #{pane_dead} #{pane_pid}"
# A hundred processes take long.
FEW = 10
BACK = """
import os, sys
from devclaw_py.agents.look import LookStatus
from devclaw_py.faces.opening import open_workspace
from devclaw_py.night.heartbeat import visit_all
app = open_workspace(sys.argv[1], os.environ)
looks = app.sessions.looks()
visits = visit_all(app, force=True)
live = sum(look.status in (LookStatus.WORKING, LookStatus.IDLE) for look in looks.values())
assert (live, len(visits)) == (int(sys.argv[2]), int(sys.argv[2])), (looks, visits)
assert not any(visit.error for visit in visits), visits
"""


def rows(scale: Scale) -> list[Row]:
    """Measure with real tmux."""
    return [_looks(scale), _back(scale)]


def _looks(scale: Scale) -> Row:
    row = Row("status_of_panes", f"status of {scale.panes} panes in real tmux, one `Sessions.looks()`", Goal(20))
    with office() as found:
        for number in range(scale.panes):
            _cheap_session(found, f"shop-{number}-dev-medior")
        socket = found.app.settings.terminal.socket
        listing = ["tmux", "-L", socket, "list-panes", "-a", "-F", "#{session_name}"]
        names = [f"shop-{number}-dev-medior" for number in range(scale.panes)]
        with ControlClient(socket, names[0]) as client:
            ways: dict[str, Callable[[], object]] = {
                "`tmux list-panes` alone, one process": lambda: proc.run(listing, timeout_s=10),
                f"`tmux display-message` for each of {scale.panes} panes": lambda: [
                    _one(socket, name) for name in names
                ],
                "`list-panes` of a control-mode client": lambda: client.ask(f'list-panes -a -F "{listing[-1]}"'),
                f"`display-message` for each of {scale.panes} panes by a control-mode client": lambda: [
                    client.ask(f'display-message -p -t "={name}:" "{PANE}"') for name in names
                ],
            }
            for turn in range(scale.repeats + 1):
                took = ms_of(lambda: _look_at_all(found, scale.panes))
                if turn:
                    row.values.append(took)
                for what, way in ways.items():
                    if turn and (turn <= FEW or "`list-panes`" in what or "alone" in what):
                        row.compared.setdefault(what, []).append(ms_of(way))
    return row


def _one(socket: str, name: str) -> str:
    return proc.run(["tmux", "-L", socket, "display-message", "-p", "-t", f"={name}:", PANE], timeout_s=10).out


def _look_at_all(found: Office, panes: int) -> None:
    looks = Counter(look.status for look in found.app.sessions.looks().values())
    if looks != {"idle": panes}:
        raise RuntimeError(f"of {panes} idle panes were seen: {dict(looks)}")


def _cheap_session(found: Office, name: str) -> None:
    """Start a session of a program that only waits, with the token and the state that an agent's has."""
    marks = {"project": "shop", "role": "dev", "tier": "medior"}
    session = found.app.sessions.terminal.start(
        name, cwd=found.folder, argv=["sleep", "3600"], env=found.environ, marks=marks
    )
    folder = found.app.sessions.folder(name)
    mailbox.make(folder)
    mailbox.put(folder / tokens.TOKEN, "a token of nobody")
    mailbox.put(folder / mailbox.STATE, json.dumps({"status": "idle", "offer": None, "pid": session.pid, "at": 0.0}))


def _back(scale: Scale) -> Row:
    row = Row(
        "back_in_control",
        f"back in control of {scale.workers} workers at work, as a whole new process: open, look, recover",
        Goal(2000),
    )
    with office(("sleep", "3600")) as found, bytecode() as env:
        for number in range(scale.workers):
            group = str(-1000 - number)
            found.register(group, f"shop{number}")
            found.call("task_create", projectGroupId=group, title="Add a footer", label="To Do")
            found.call("task_pickup", projectGroupId=group, role="dev", model="medior")
        words = ("-c", BACK, str(found.folder), str(scale.workers))
        python(*words, env=env, cwd=Path(os.sep))  # compiles
        for _ in range(max(1, scale.processes // 2)):
            row.values.append(ms_of(lambda: python(*words, env=env, cwd=Path(os.sep))))
    return row
