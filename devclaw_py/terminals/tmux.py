"""Worker sessions in a tmux server of the workspace's own; the only module that knows tmux and libtmux.

libtmux starts tmux without a time limit, and its lists of sessions answer "empty" when tmux failed. All its commands
leave through `Server.cmd`, so `bounded_server` replaces that one method: the command line stays libtmux's, the
program is run by `kernel.proc` with a limit and a clean environment, and the answer is judged here. What libtmux looks
up by itself (``server.sessions`` ...) bypasses ``cmd`` and is not used.

Measured on tmux 3.3a: ``window-size manual`` as a global option ends the server when the first session is created, so
it is set for each window; ``new-session -c`` expands formats, ``#(command)`` too; a word that ends in ``;`` ends the
command. A client sends a chain of commands as one message: killed at any time, all of the chain is done or nothing.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from devclaw_py.errors import SessionFailed
from devclaw_py.kernel import proc
from devclaw_py.kernel.config import socket_name
from devclaw_py.model.finding import Finding
from devclaw_py.model.settings import TerminalSettings, TimeoutSettings
from devclaw_py.rules.cleaning import clean
from devclaw_py.terminals import processes, tmux_doctor
from devclaw_py.terminals import tmux_words as words
from devclaw_py.terminals.base import Key, TerminalSession

if TYPE_CHECKING:
    from libtmux.common import tmux_cmd

NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
TERM = "screen-256color"
PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TMUX_TMPDIR", "TZ")


class Commands(Protocol):
    """The one method of libtmux's `Server` that is used here."""

    def cmd(self, cmd: str, *args: object, stdin: str | None = None) -> tmux_cmd:
        """Run one chain of tmux commands; ``stdin`` is the text for ``load-buffer -``."""
        ...


def bounded_server(socket: str, *, timeout_s: float, env: Mapping[str, str]) -> Commands:
    """Return libtmux's `Server` with a time limit on every command; see the module's first lines."""
    from libtmux import Server
    from libtmux.common import tmux_cmd

    class BoundedServer(Server):
        def cmd(self, cmd: str, *args: object, target: str | int | None = None, stdin: str | None = None) -> tmux_cmd:
            aim = ["-t", str(target)] if target is not None else []
            argv = [self.tmux_bin or "tmux", f"-L{self.socket_name}", f"-f{self.config_file}", cmd, *aim]
            argv += [str(word) for word in args]
            done = proc.run(argv, timeout_s=timeout_s, env=env, stdin=stdin)
            answer = tmux_cmd.__new__(tmux_cmd)
            answer.cmd, answer.returncode = argv, done.code
            answer.stdout = done.out.removesuffix("\n").split("\n") if done.out else []
            answer.stderr = [line for line in done.err.split("\n") if line]
            return answer

    return BoundedServer(socket_name=socket, config_file=os.devnull, tmux_bin=shutil.which("tmux", path=env["PATH"]))


class TmuxTerminal:
    """Implements `Terminal` with one tmux server for each workspace.

    The server stays when its last session ends. It is started with an environment of a few harmless variables, and each
    program gets its own through ``env -i``, so nothing of the caller's environment reaches a worker.
    """

    def __init__(
        self,
        workspace: Path,
        settings: TerminalSettings,
        timeouts: TimeoutSettings,
        *,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self._workspace = str(workspace.resolve())
        self._settings = settings
        self._timeout_s = timeouts.tmux_s
        self._env = _client_environment(os.environ if environ is None else environ)
        self._server: Commands | None = None
        self.socket = socket_name(workspace, settings.socket)

    def sessions(self) -> list[TerminalSession]:
        """Return all sessions of this workspace, asked with one tmux command."""
        return [session for session, workspace in self._list() if workspace == self._workspace]

    def find(self, name: str) -> TerminalSession | None:
        """Return one session, or None; a session without this workspace's mark is `SessionFailed`."""
        _check(name)
        for session, workspace in self._list():
            if session.name != name:
                continue
            if workspace != self._workspace:
                whose = f"the workspace {workspace}" if workspace else "somebody else (it has no mark of devclaw)"
                raise SessionFailed(
                    f"the tmux session {name} on socket {self.socket} belongs to {whose}; it was not touched",
                    hint="choose another [terminal] socket",
                )
            return session
        return None

    def start(
        self, name: str, *, cwd: Path, argv: Sequence[str], env: Mapping[str, str], marks: Mapping[str, str]
    ) -> TerminalSession:
        """Start ``argv`` with ``env`` and tmux's own TERM; session, options and marks come to be at once."""
        existing = self.find(name)
        whole = {**env, "TERM": TERM}
        if existing is not None and existing.alive:
            raise SessionFailed(f"a live tmux session has the name {name}; it was not started again")
        if not cwd.is_dir():
            raise SessionFailed(f"{name} could not be started: {cwd} is not a folder")
        if shutil.which(argv[0], path=whole.get("PATH")) is None:
            raise SessionFailed(f"{name} could not be started: {argv[0]} is not an executable program")

        if existing is not None and existing.pid is not None:
            processes.end(processes.below(existing.pid), grace_s=0)
        program = ["env", "-i", *(f"{key}={value}" for key, value in whole.items()), *argv]
        chain = self._birth(name, cwd, program, marks)
        if existing is not None:
            chain.insert(1, ["kill-session", "-t", f"={name}"])
        self._tell(chain, f"start {name}")

        started = self.find(name)
        if started is None:
            raise SessionFailed(f"the tmux session {name} was gone as soon as it was started")
        return started

    def send(self, name: str, text: str) -> None:
        """Paste ``text``, then press Enter in a second command."""
        self._check_live(name)
        self._paste(name, text)
        self._press(name, Key.ENTER)

    def paste(self, name: str, text: str) -> None:
        """Paste ``text`` through a buffer of the session's own."""
        self._check_live(name)
        self._paste(name, text)

    def press(self, name: str, key: Key) -> None:
        """Press one key, by its name in tmux."""
        self._check_live(name)
        self._press(name, key)

    def clear_input(self, name: str) -> None:
        """Press C-u once, out of copy mode; several in a row are taken for pasted text by Claude Code."""
        session, target = self.find(name), words.pane(name)
        if session is not None and session.alive:
            self._try(
                [words.leave_copy_mode(target), ["send-keys", "-t", target, "C-u"]], f"clear the input line of {name}"
            )

    def screen(self, name: str, *, lines: int = 200) -> str:
        """Return the last lines, blank ones at the end left out."""
        if self.find(name) is None:
            raise SessionFailed(f"there is no tmux session {name} to look at")
        answer = self._tell(
            [["capture-pane", "-p", "-t", words.pane(name), "-S", f"-{lines}"]], f"read the screen of {name}"
        )
        return "\n".join("\n".join(answer).rstrip().split("\n")[-lines:])

    def view(self, name: str) -> str:
        """Return the visible rows with their colours."""
        if self.find(name) is None:
            raise SessionFailed(f"there is no tmux session {name} to look at")
        return "\n".join(self._tell([["capture-pane", "-p", "-e", "-t", words.pane(name)]], f"look at {name}"))

    def stop(self, name: str) -> None:
        """Hang up the session, then kill what is left of its processes, those that ignore the signal too."""
        session = self.find(name)
        if session is None:
            return
        family = processes.below(session.pid) if session.pid is not None else []
        self._try([["kill-session", "-t", f"={name}"]], f"stop {name}")
        left = processes.end(family)
        if left:
            raise SessionFailed(f"processes of {name} live on after SIGKILL: {', '.join(map(str, left))}")

    def close(self) -> None:
        """Let the server end as soon as it is empty; tmux itself looks, so no session can slip in between."""
        self._try([["set-option", "-g", "exit-empty", "on"]], "let the server end with its last session")

    def attach_command(self, name: str) -> list[str]:
        """Return ``tmux attach``, read-only and without a say in the window's size; F12 leaves.

        Sessions have no prefix key, so that none is kept from a worker, and a reader's Ctrl-C goes nowhere.
        """
        leave = ["bind-key", "-n", "F12", "detach-client", ";"]
        return ["tmux", "-L", self.socket, *leave, "attach", "-r", "-t", f"={name}", "-f", "ignore-size"]

    def diagnose(self) -> list[Finding]:
        """Look for tmux, its version, whether the server answers, and a UTF-8 locale for people who attach."""
        return tmux_doctor.diagnose(self.sessions, self._env, timeout_s=self._timeout_s)

    def _check_live(self, name: str) -> None:
        session = self.find(name)
        if session is None or not session.alive:
            raise SessionFailed(f"nothing was typed into {name}: it {'has ended' if session else 'does not exist'}")

    def _paste(self, name: str, text: str) -> None:
        target, buffer, cleaned = words.pane(name), f"devclaw-{name}", clean(text)
        if cleaned:
            load = ["load-buffer", "-b", buffer, "-"]
            paste = ["paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", target]
            self._tell([words.leave_copy_mode(target), load, paste], f"type into {name}", stdin=cleaned)

    def _press(self, name: str, key: Key) -> None:
        target = words.pane(name)
        self._tell([words.leave_copy_mode(target), ["send-keys", "-t", target, key.value]], f"press {key} in {name}")

    def _birth(self, name: str, cwd: Path, program: Sequence[str], marks: Mapping[str, str]) -> list[list[str]]:
        width, height = str(self._settings.width), str(self._settings.height)
        options = {**words.OPTIONS, "default-size": f"{width}x{height}"}
        place = ["-d", "-s", name, "-x", width, "-y", height, "-c", str(cwd).replace("#", "##")]
        return [
            ["start-server"],
            *(["set-option", "-g", option, value] for option, value in options.items()),
            ["new-session", *place, "--", *program],
            ["set-option", "-w", "-t", f"={name}:", "window-size", "manual"],
            ["set-option", "-t", f"={name}:", "@devclaw_workspace", self._workspace],
            *(
                ["set-option", "-t", f"={name}:", f"@devclaw_{mark}", words.mark(marks.get(mark, ""))]
                for mark in words.MARKS
            ),
        ]

    def _list(self) -> list[tuple[TerminalSession, str]]:
        rows = self._rows()
        if any(row.unexplained for row in rows):
            # tmux 3.3a now and then misses the end of a child until the next one ends: let one end.
            self._try([["run-shell", "true"]], "wait for ended programs")
            rows = self._rows()
        return [(row.session, row.workspace) for row in rows]

    def _rows(self) -> list[words.Row]:
        answer = self._try([["list-panes", "-a", "-f", words.FIRST_PANE, "-F", words.ROW]], "list the sessions")
        return [words.row(line) for line in answer or []]

    def _tell(self, chain: Sequence[Sequence[str]], what: str, *, stdin: str | None = None) -> list[str]:
        answer = self._try(chain, what, stdin=stdin)
        if answer is None:
            raise SessionFailed(f"tmux could not {what}: the session is gone")
        return answer

    def _try(self, chain: Sequence[Sequence[str]], what: str, *, stdin: str | None = None) -> list[str] | None:
        """Run a chain of tmux commands; None means that the session or the whole server is gone."""
        line = [word for command in chain for word in (*map(words.escaped, command), ";")][:-1]
        try:
            answer = self._ask(line, stdin)
        except proc.NotAnswered as error:
            raise SessionFailed(f"tmux could not {what}: {error}; whether sessions live is unknown") from error
        if answer.returncode == 0 and not answer.stderr:
            return answer.stdout
        said = "; ".join(answer.stderr) or f"exit code {answer.returncode}"
        if words.GONE.search(said):
            return None
        hint = tmux_doctor.too_old(self._env, timeout_s=self._timeout_s)
        raise SessionFailed(f"tmux could not {what}: {said}; whether sessions live is unknown", hint=hint)

    def _ask(self, line: Sequence[str], stdin: str | None) -> tmux_cmd:
        if self._server is None:
            self._server = bounded_server(self.socket, timeout_s=self._timeout_s, env=self._env)
        return self._server.cmd(*line, stdin=stdin)


def _client_environment(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: environ[name] for name in PASSED_ON if name in environ}
    # tmux writes "_" for every letter beyond ASCII unless the client's locale says UTF-8.
    return {"PATH": os.defpath, **kept, "LC_ALL": "C.UTF-8", "TERM": TERM}


def _check(name: str) -> None:
    if not NAME.fullmatch(name):
        raise SessionFailed(f"{name!r} is no session name: a-z, 0-9 and - only")
