"""tmux's own language: options, formats, targets, and how it says that something is gone."""

from __future__ import annotations

import re
from dataclasses import dataclass

from devclaw_py.errors import SessionFailed
from devclaw_py.rules.cleaning import clean
from devclaw_py.terminals import processes
from devclaw_py.terminals.base import TerminalSession

GONE = re.compile(
    r"no server running on|can't find (session|window|pane)|no current target|error connecting to .*No such file"
)
MARKS = ("project", "role", "tier")
SEPARATOR = "␞"
FIELDS = (
    "session_name",
    "pane_dead",
    "pane_dead_status",
    "pane_dead_signal",
    "pane_pid",
    "@devclaw_workspace",
    *(f"@devclaw_{m}" for m in MARKS),
)
ROW = SEPARATOR.join(f"#{{{field}}}" for field in FIELDS)
# Our pane is the first one, whatever a person has opened beside it.
FIRST_PANE = "#{&&:#{==:#{window_index},0},#{==:#{pane_index},0}}"
# The server outlives its last session: one that is about to exit answers neither "none" nor "started".
# No program's end closes a session; nobody's keys, variables or escape sequences reach one.
OPTIONS = {
    "exit-empty": "off",
    "remain-on-exit": "on",
    "history-limit": "10000",
    "update-environment": "",
    "prefix": "None",
    "prefix2": "None",
    "destroy-unattached": "off",
    "set-clipboard": "off",
    "allow-rename": "off",
    "automatic-rename": "off",
    "status-left-length": "80",
}


@dataclass(frozen=True)
class Row:
    """One line of tmux's list. ``unexplained``: the program ended and tmux does not say how."""

    session: TerminalSession
    workspace: str
    unexplained: bool


def row(line: str) -> Row:
    """Read a line in the format `ROW`.

    Raises:
        SessionFailed: it has another form.
    """
    fields = line.split(SEPARATOR)
    if len(fields) != len(FIELDS) or not fields[4].isdecimal():
        raise SessionFailed(f"tmux listed a session in an unknown form: {line!r}; whether sessions live is unknown")
    name, dead, code, signal, pid, workspace, *marks = fields
    alive = dead == "0" and processes.alive(int(pid))
    session = TerminalSession(
        name=name,
        alive=alive,
        exit_code=int(code) if code else None,
        pid=int(pid),
        marks={mark: value for mark, value in zip(MARKS, marks, strict=True) if value},
    )
    return Row(session, workspace, unexplained=not alive and not code and not signal)


def mark(value: str) -> str:
    """Return a mark's value without what would break the list."""
    return clean(value).replace("\n", " ").replace(SEPARATOR, " ")


def pane(name: str) -> str:
    """Return the target that means this session's own pane and never one of a similar name."""
    return f"={name}:0.0"


def leave_copy_mode(target: str) -> list[str]:
    """Return the command that ends copy mode: what is pasted into a pane in it is lost without a word."""
    return ["if-shell", "-F", "-t", target, "#{pane_in_mode}", f"send-keys -t {target} -X cancel"]


def escaped(word: str) -> str:
    """Return a word that tmux does not take for the end of its command."""
    return word[:-1] + "\\;" if word.endswith(";") else word
