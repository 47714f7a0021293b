"""What devclaw's sessions are to tmux itself and to the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from devclaw_py.errors import SessionFailed
from devclaw_py.model.finding import Severity
from devclaw_py.terminals import processes

if TYPE_CHECKING:
    from tests.real.conftest import Tmux

WaitFor = Callable[..., None]
PATH = {"PATH": os.environ.get("PATH", os.defpath)}


def fake_tmux(folder: Path, script: str) -> dict[str, str]:
    folder.mkdir()
    (folder / "tmux").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "tmux").chmod(0o755)
    return {"PATH": f"{folder}{os.pathsep}{PATH['PATH']}"}


def gone(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def running(pid: int | None) -> list[str]:
    return psutil.Process(pid).cmdline()


@pytest.mark.parametrize(
    "script",
    [
        "echo lost server >&2; exit 1",
        "echo 'server exited unexpectedly' >&2; exit 1",
        "exit 1",
        "echo garbage",
        "exec sleep 600",
    ],
    ids=["lost-server", "unexpected", "silent", "garbage", "hangs"],
)
def test_a_tmux_that_cannot_answer_is_an_error_and_never_no_sessions(
    tmux: Tmux, workspace: Path, tmp_path: Path, script: str
) -> None:
    environ = fake_tmux(tmp_path / "bin", script)
    terminal = tmux.terminal(workspace, tmux_s=0.5, environ=environ)

    with pytest.raises(SessionFailed, match="unknown"):
        terminal.sessions()
    with pytest.raises(SessionFailed, match="unknown"):
        terminal.find("a")


def test_a_machine_without_tmux_is_an_error_and_a_finding(tmux: Tmux, workspace: Path, tmp_path: Path) -> None:
    terminal = tmux.terminal(workspace, environ={"PATH": str(tmp_path)})

    with pytest.raises(SessionFailed, match="tmux"):
        terminal.sessions()
    assert terminal.diagnose()[0].severity is Severity.CRITICAL


def test_an_old_tmux_is_a_finding(tmux: Tmux, workspace: Path, tmp_path: Path) -> None:
    environ = fake_tmux(
        tmp_path / "bin", 'test "$1" = -V && echo tmux 3.1c && exit; echo no server running on x >&2; exit 1'
    )

    findings = tmux.terminal(workspace, environ=environ).diagnose()

    assert [finding.severity for finding in findings if "3.1c" in finding.message] == [Severity.CRITICAL]


def test_when_the_server_was_killed_there_are_no_sessions(tmux: Tmux, workspace: Path, wait_for: WaitFor) -> None:
    terminal = tmux.terminal(workspace)
    terminal.start("a", cwd=workspace, argv=["cat"], env=PATH, marks={})
    server = int(tmux.run("display-message", "-p", "#{pid}"))

    os.kill(server, signal.SIGKILL)
    wait_for(lambda: gone(server), "the server is gone")

    assert terminal.sessions() == []
    assert terminal.start("a", cwd=workspace, argv=["cat"], env=PATH, marks={}).alive


def test_a_program_that_ends_leaves_its_exit_code(tmux: Tmux, workspace: Path, wait_for: WaitFor) -> None:
    terminal = tmux.terminal(workspace)
    terminal.start("a", cwd=workspace, argv=["sh", "-c", "exit 3"], env=PATH, marks={})

    wait_for(lambda: [session.alive for session in terminal.sessions()] == [False], "it is dead")
    wait_for(lambda: terminal.sessions()[0].exit_code == 3, "its exit code is known")


def test_a_program_ended_by_a_signal_has_no_exit_code(tmux: Tmux, workspace: Path, wait_for: WaitFor) -> None:
    terminal = tmux.terminal(workspace)
    terminal.start("a", cwd=workspace, argv=["sh", "-c", "kill -9 $$"], env=PATH, marks={})

    wait_for(lambda: [session.alive for session in terminal.sessions()] == [False], "it is dead")
    assert terminal.sessions()[0].exit_code is None


def test_marks_are_session_options_that_tmux_itself_shows(tmux: Tmux, workspace: Path) -> None:
    marks = {"project": "Shöp #(touch x); 'y'", "role": "dev", "tier": "senior"}
    tmux.terminal(workspace).start("a", cwd=workspace, argv=["cat"], env=PATH, marks=marks)

    shown = {name: tmux.run("show-options", "-v", "-t", "=a:", f"@devclaw_{name}") for name in [*marks, "workspace"]}

    assert shown == {**marks, "workspace": str(workspace.resolve())}
    assert not (workspace / "x").exists()


def test_another_workspace_on_the_same_socket_is_invisible_and_untouched(
    tmux: Tmux, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = tmux.terminal(tmp_path / "other")
    other.start("a", cwd=workspace, argv=["cat"], env=PATH, marks={})
    pid = tmux.pane_pid("a")
    terminal = tmux.terminal(workspace)

    assert terminal.sessions() == []
    for call in (terminal.find, terminal.stop, terminal.screen, lambda name: terminal.send(name, "x")):
        with pytest.raises(SessionFailed, match="other"):
            call("a")
    assert tmux.pane_pid("a") == pid
    assert tmux.run("capture-pane", "-p", "-t", "=a:0.0") == ""


def test_nothing_of_the_callers_environment_reaches_a_session(
    tmux: Tmux, workspace: Path, monkeypatch: pytest.MonkeyPatch, wait_for: WaitFor
) -> None:
    monkeypatch.setenv("CANARY", "secret-bird")
    terminal = tmux.terminal(workspace)

    session = terminal.start("a", cwd=workspace, argv=["cat"], env={**PATH, "WANTED": "x;y;"}, marks={})

    wait_for(lambda: running(session.pid) == ["cat"], "the program took the place of env")
    environ = Path(f"/proc/{session.pid}/environ").read_bytes().split(b"\0")
    assert sorted(entry.split(b"=")[0] for entry in environ if entry) == [b"PATH", b"TERM", b"WANTED"]
    assert b"WANTED=x;y;" in environ
    server = int(tmux.run("display-message", "-p", "#{pid}"))
    assert b"CANARY" not in Path(f"/proc/{server}/environ").read_bytes()
    assert "CANARY" not in tmux.run("show-environment", "-g")
    assert "CANARY" not in tmux.run("show-environment", "-t", "=a")


def test_a_folder_name_is_not_obeyed_by_tmux(tmux: Tmux, workspace: Path) -> None:
    folder = workspace / "#(touch never) #{pane_pid};"
    folder.mkdir()

    session = tmux.terminal(workspace).start("a", cwd=folder, argv=["cat"], env=PATH, marks={})

    assert Path(f"/proc/{session.pid}/cwd").resolve() == folder.resolve()
    assert sorted(path.name for path in workspace.iterdir()) == [folder.name]


def test_the_program_is_the_panes_own_process_without_a_shell_around_it(
    tmux: Tmux, workspace: Path, wait_for: WaitFor
) -> None:
    session = tmux.terminal(workspace).start("a", cwd=workspace, argv=["sleep", "600"], env=PATH, marks={})

    wait_for(lambda: running(session.pid) == ["sleep", "600"], "the program took the place of env")


@pytest.mark.parametrize("argv", [["no-such-program"], ["/etc/passwd"]], ids=["missing", "not-executable"])
def test_a_program_that_cannot_be_run_is_said_so_at_once(tmux: Tmux, workspace: Path, argv: list[str]) -> None:
    terminal = tmux.terminal(workspace)

    with pytest.raises(SessionFailed, match=argv[0]):
        terminal.start("a", cwd=workspace, argv=argv, env=PATH, marks={})

    assert terminal.sessions() == []


STUBBORN = """
import os, signal, sys, time
signal.signal(signal.SIGHUP, signal.SIG_IGN)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = os.fork()
if child == 0:
    os.setsid()
open(sys.argv[1] + ("/child" if child == 0 else "/parent"), "w").write(str(os.getpid()))
time.sleep(600)
"""


@pytest.mark.parametrize("how", ["stop", "replace"])
def test_a_program_that_ignores_hangup_does_not_outlive_its_session(
    tmux: Tmux, workspace: Path, wait_for: WaitFor, how: str
) -> None:
    terminal = tmux.terminal(workspace)
    terminal.start("a", cwd=workspace, argv=[sys.executable, "-c", STUBBORN, str(workspace)], env=PATH, marks={})
    files = [workspace / "child", workspace / "parent"]
    wait_for(lambda: all(file.exists() and file.read_text() for file in files), "both run")
    pids = [int(file.read_text()) for file in files]

    if how == "stop":
        terminal.stop("a")
    else:
        # The pane dies while what it forked into the same Unix session ignores the hang-up.
        terminal.stop("a")
        script = "trap '' HUP; (trap '' HUP; exec sleep 600) & echo $! > orphan; kill -9 $$"
        terminal.start("a", cwd=workspace, argv=["sh", "-c", script], env=PATH, marks={})
        wait_for(lambda: not terminal.sessions()[0].alive, "the pane died")
        pids.append(int((workspace / "orphan").read_text()))
        assert not gone(pids[-1])
        terminal.start("a", cwd=workspace, argv=["cat"], env=PATH, marks={})

    assert all(gone(pid) for pid in pids)


def test_a_person_attaches_read_only_and_the_size_stays(tmux: Tmux, workspace: Path) -> None:
    terminal = tmux.terminal(workspace)
    terminal.start("a", cwd=workspace, argv=["cat"], env=PATH, marks={})

    command = terminal.attach_command("a")

    assert command[:3] == ["tmux", "-L", tmux.socket]
    assert {"-r", "ignore-size"} <= set(command)
    assert tmux.run("display-message", "-p", "-t", "=a:0.0", "#{window_width}x#{window_height}") == "200x50"


def test_a_session_stopped_and_started_in_quick_turns_is_always_there(tmux: Tmux, workspace: Path) -> None:
    terminal = tmux.terminal(workspace)

    for _ in range(25):
        assert terminal.start("a", cwd=workspace, argv=["cat"], env=PATH, marks={}).alive
        terminal.stop("a")
        assert terminal.find("a") is None


def test_a_client_killed_at_any_moment_leaves_no_session_without_a_mark(tmux: Tmux, workspace: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from devclaw_py.model.settings import *;"
        "from devclaw_py.terminals.tmux import TmuxTerminal;"
        "t = TmuxTerminal(Path(sys.argv[1]), TerminalSettings(socket=sys.argv[2]), TimeoutSettings());"
        "t.find('x'); print('go', flush=True);"
        "t.start('a', cwd=Path(sys.argv[1]), argv=['cat'], env={'PATH': '/usr/bin:/bin'}, marks={})"
    )
    terminal = tmux.terminal(workspace)
    root = str(Path(__file__).parents[2])
    for round_ in range(12):
        child = subprocess.Popen(  # the test needs a process that it can kill
            [sys.executable, "-c", program, str(workspace), tmux.socket], stdout=subprocess.PIPE, cwd=root, text=True
        )
        with child:
            assert child.stdout is not None
            assert child.stdout.readline() == "go\n"
            try:
                child.wait(timeout=0.001 * round_)
            except subprocess.TimeoutExpired:
                child.kill()
        session = terminal.find("a")
        assert session is None or session.alive
        terminal.stop("a")


def test_the_socket_is_named_after_the_workspaces_real_path(workspace: Path, tmp_path: Path) -> None:
    from devclaw_py.model.settings import TerminalSettings, TimeoutSettings
    from devclaw_py.terminals.tmux import TmuxTerminal

    (tmp_path / "link").symlink_to(workspace)

    sockets = {
        TmuxTerminal(path, TerminalSettings(), TimeoutSettings()).socket for path in (workspace, tmp_path / "link")
    }

    assert len(sockets) == 1
    assert sockets.pop().startswith("devclaw-")


def test_libtmux_is_not_imported_before_tmux_is_asked() -> None:
    program = "import sys, devclaw_py.terminals.tmux, devclaw_py.agents.sessions; print('libtmux' in sys.modules)"

    done = subprocess.run(  # a fresh interpreter is the point
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )

    assert done.stdout == "False\n"


def test_a_number_that_was_given_to_another_process_has_no_family_of_ours() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        family = processes.below(child.pid)
        child.kill()

    assert family == []
