"""The scripted agent in real tmux, with programs that behave and programs that do not."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest

from devclaw_py.errors import SessionFailed, WorkerBusy
from devclaw_py.model.pipeline import SessionAction
from devclaw_py.terminals.base import TerminalSession

if TYPE_CHECKING:
    from tests.real.conftest import Office

WaitFor = Callable[..., None]


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def in_foreground(pid: int) -> bool:
    """Whether the terminal is the program's: its group is the terminal's."""
    _, _, group, _, _, terminals_group = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:6]
    return group == terminals_group


def number_in(file: Path, wait_for: WaitFor) -> int:
    wait_for(lambda: file.exists() and file.read_text().strip(), f"{file.name} was written")
    return int(file.read_text())


def test_a_program_gets_the_message_and_knows_its_task(office: Office) -> None:
    assert office.run("42.3", "env > seen; pwd > where\n") == "its program ended with exit code 0"

    seen = dict(line.split("=", 1) for line in (office.place.worktree / "seen").read_text().splitlines())
    wanted = {
        "DEVCLAW_WORKSPACE": str(office.place.workspace),
        "DEVCLAW_GROUP_ID": "-1001",
        "DEVCLAW_PROJECT": "shop",
        "DEVCLAW_ISSUE": "42",
        "DEVCLAW_ATTEMPT": "3",
        "DEVCLAW_ROLE": "dev",
        "DEVCLAW_TIER": "medior",
        "DEVCLAW_TOKEN_FILE": str(office.place.token_file),
        "DEVCLAW_TOKEN": office.sessions.token(office.name),
    }
    assert {name: seen.get(name) for name in wanted} == wanted
    assert seen["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
    assert "PYTHONPATH" not in seen
    assert (office.place.worktree / "where").read_text().strip() == str(office.place.worktree)


def test_a_hundred_kilobytes_of_message_arrive_byte_for_byte(office: Office) -> None:
    body = 'ümläut 漢字 🦀 "quotes" $(x) `y`;\n' * 2500

    office.run("1.1", f"cat > got <<'END'\n{body}END\n")

    assert (office.place.worktree / "got").read_text(encoding="utf-8") == body


def test_the_next_task_goes_to_the_same_process(office: Office) -> None:
    assert office.ensure() is SessionAction.SPAWN
    pid = office.tmux.pane_pid(office.name)
    office.run("1.1", "true")

    assert office.ensure() is SessionAction.SEND
    office.run("2.1", "touch second")

    assert office.tmux.pane_pid(office.name) == pid
    assert (office.place.worktree / "second").exists()


@pytest.mark.parametrize(
    ("script", "ending"),
    [
        ("exit 3", "its program ended with exit code 3"),
        ("kill -9 $$", "its program was ended by SIGKILL"),
        ("kill -HUP $$", "its program was ended by SIGHUP"),
        ("head -c 1000000 /dev/zero | tr '\\0' x; exit 4", "its program ended with exit code 4"),
        ("exec <&- >&- 2>&-; exit 5", "its program ended with exit code 5"),
        ("stty raw -echo < /dev/tty; printf '\\033[?2004h\\033[?1049h'; exit 6", "its program ended with exit code 6"),
        ("sleep 0.3; kill -STOP $$; exit 7", "its program ended with exit code 7"),
        ("stty -icanon < /dev/tty; stty intr ^C isig < /dev/tty; exit 8", "its program ended with exit code 8"),
    ],
    ids=["fails", "killed", "hung-up", "megabyte", "closes-terminal", "changes-modes", "stops", "stty-twice"],
)
def test_the_loop_outlives_what_its_program_does(office: Office, script: str, ending: str) -> None:
    assert office.run("1.1", script) == ending

    assert office.run("2.1", "touch after") == "its program ended with exit code 0"
    assert (office.place.worktree / "after").exists()


def test_a_program_that_is_not_there_ends_the_task_and_not_the_loop(office: Office) -> None:
    office.ensure()
    office.place.worktree.rename(office.place.worktree.with_name("moved"))

    ending = office.run("1.1", "true")

    assert "could not be started" in ending or ending.startswith("its program ended")
    assert office.status() == "idle"


def test_a_task_in_a_worktree_that_was_deleted_has_an_end(office: Office) -> None:
    office.ensure()
    shutil.rmtree(office.place.worktree)

    assert "could not be started" in office.run("1.1", "true")
    assert office.status() == "idle"


def test_a_worktree_that_was_deleted_and_made_again_is_worked_in(office: Office) -> None:
    office.ensure()
    shutil.rmtree(office.place.worktree)
    office.place.worktree.mkdir()

    assert office.run("1.1", "touch here") == "its program ended with exit code 0"
    assert (office.place.worktree / "here").exists()


def test_while_a_program_hangs_the_session_is_working_and_takes_nothing(office: Office, wait_for: WaitFor) -> None:
    office.ensure()
    office.give("1.1", "sleep 600")

    wait_for(lambda: office.status() == "working", "the session works")
    with pytest.raises(WorkerBusy):
        office.ensure()


@pytest.mark.parametrize("detached", ["", "setsid "], ids=["same-group", "daemon"])
def test_what_a_program_leaves_behind_does_not_work_beside_the_next_one(
    office: Office, wait_for: WaitFor, detached: str
) -> None:
    office.run(
        "1.1", f"{detached}sh -c 'trap \"\" HUP TERM; echo $$ > orphan; sleep 600' & \nuntil test -s orphan; do :; done"
    )
    orphan = number_in(office.place.worktree / "orphan", wait_for)

    office.run("2.1", "true")

    assert not lives(orphan)


STUBBORN = "sh -c 'trap \"\" HUP TERM; echo $$ > pid; while :; do sleep 1; done'"
DETACHED = f"setsid {STUBBORN} & sleep 600"


@pytest.mark.parametrize("program", [STUBBORN, DETACHED], ids=["stubborn", "detached"])
def test_stopping_the_session_ends_loop_and_program(office: Office, wait_for: WaitFor, program: str) -> None:
    office.ensure()
    office.give("1.1", program)
    pid = number_in(office.place.worktree / "pid", wait_for)
    loop = office.tmux.pane_pid(office.name)

    office.sessions.stop(office.name)

    assert not lives(pid)
    assert not lives(loop)
    assert office.status() == "absent"


@pytest.mark.parametrize("program", [STUBBORN, DETACHED], ids=["stubborn", "detached"])
def test_a_killed_loop_is_replaced_and_its_program_does_not_go_on(
    office: Office, wait_for: WaitFor, program: str
) -> None:
    office.ensure()
    office.give("1.1", program)
    pid = number_in(office.place.worktree / "pid", wait_for)
    os.kill(office.tmux.pane_pid(office.name), signal.SIGKILL)
    wait_for(lambda: office.status() == "dead", "the session died")
    assert lives(pid)

    assert office.ensure() is SessionAction.SPAWN

    assert not lives(pid)
    assert office.run("2.1", "touch after") == "its program ended with exit code 0"


def test_an_ordinary_program_ends_with_its_loop_before_devclaw_looks(office: Office, wait_for: WaitFor) -> None:
    office.ensure()
    office.give("1.1", "echo $$ > pid; sleep 600; :")
    pid = number_in(office.place.worktree / "pid", wait_for)
    wait_for(lambda: in_foreground(pid), "the program has the terminal")

    os.kill(office.tmux.pane_pid(office.name), signal.SIGKILL)

    wait_for(lambda: not lives(pid), "the kernel hung the program up")


def test_the_screen_is_an_ordinary_one_again_after_a_program_that_took_it_over(office: Office) -> None:
    office.run("1.1", "printf '\\033[?1049h\\033[?25l'")
    office.run("2.1", "true")

    shown = office.tmux.run("display-message", "-p", "-t", f"={office.name}:0.0", "#{alternate_on} #{cursor_flag}")

    assert shown == "0 1"


def test_garbage_half_lines_and_notices_start_nothing(office: Office, wait_for: WaitFor) -> None:
    office.ensure()
    terminal = office.sessions.terminal
    mail = office.folder / "tasks" / "1.1.md"
    for line in (
        "hello",
        "devclaw-task",
        "devclaw-task 1.1",
        f"devclaw-task 1.1 {mail}.x",
        "devclaw-task ../x /etc/passwd",
    ):
        terminal.send(office.name, line)
    terminal.send(office.name, f"devclaw-task 1.1 {mail}")
    assert office.sessions.tell(office.name, "the task was\nwithdrawn")
    office.tmux.run("send-keys", "-t", f"={office.name}:0.0", "-l", "devclaw-task 9.9 /half")

    assert office.run("2.1", "touch after") == "its program ended with exit code 0"

    screen = office.screen()
    assert "notice: the task was withdrawn" in screen
    assert "task 1.1 is no longer offered; nothing was started" in screen
    assert screen.count("ignored") == 5
    assert sorted(path.name for path in (office.folder / "events").iterdir()) == ["ended-2.1.json"]


def test_an_offer_that_was_made_void_starts_nothing(office: Office, wait_for: WaitFor) -> None:
    office.ensure()
    (office.folder / "tasks" / "1.1.md").write_text("touch never")
    (office.folder / "offers" / "1.1").touch()
    assert office.sessions.void(office.name, "1.1")

    office.sessions.terminal.send(office.name, f"devclaw-task 1.1 {office.folder}/tasks/1.1.md")

    wait_for(lambda: "no longer offered" in office.screen(), "the loop says so")
    assert not (office.place.worktree / "never").exists()


def test_a_task_that_is_typed_twice_is_done_once(office: Office, wait_for: WaitFor) -> None:
    office.run("1.1", "echo done >> log")

    office.sessions.terminal.send(office.name, f"devclaw-task 1.1 {office.folder}/tasks/1.1.md")

    wait_for(lambda: "no longer offered" in office.screen(), "the loop says so")
    assert (office.place.worktree / "log").read_text() == "done\n"


def test_of_offers_made_void_while_the_loop_takes_them_each_has_one_end(office: Office, wait_for: WaitFor) -> None:
    office.ensure()
    offers = [f"5.{number}" for number in range(15)]
    voided = []
    for offer in offers:
        office.sessions.offer(office.name, offer, f"touch ran-{offer}")
        if office.sessions.void(office.name, offer):
            voided.append(offer)
        else:
            wait_for(lambda offer=offer: office.ended(offer), f"{offer} ended")

    office.run("6.1", "true")
    ran = {path.name.removeprefix("ran-") for path in office.place.worktree.glob("ran-*")}
    assert ran == set(offers) - set(voided)


def test_no_argument_list_holds_the_token(office: Office, wait_for: WaitFor) -> None:
    office.ensure()
    office.give("1.1", "touch running; sleep 600")
    wait_for((office.place.worktree / "running").exists, "the program runs")
    token = office.sessions.token(office.name)

    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]

    assert not any(token.encode() in line for line in lines)
    assert token not in office.tmux.run("list-panes", "-a", "-F", "#{pane_start_command}")
    assert token not in office.tmux.run("show-environment", "-t", f"={office.name}")


def test_a_process_below_the_pane_is_that_worker_whatever_its_environment(office: Office, wait_for: WaitFor) -> None:
    office.ensure()
    office.give("1.1", "env -i /bin/sh -c 'echo $$ > pid; sleep 600; :'")
    pid = number_in(office.place.worktree / "pid", wait_for)

    assert office.sessions.worker_above(pid) == office.place
    assert office.sessions.worker_above(os.getpid()) is None


def test_a_module_of_the_worktree_is_not_taken_for_pythons(office: Office) -> None:
    (office.place.worktree / "json.py").write_text("raise SystemExit('taken in')")

    assert office.run("1.1", "true") == "its program ended with exit code 0"


def test_what_the_loop_says_of_itself_is_not_believed_after_its_death(office: Office, wait_for: WaitFor) -> None:
    office.ensure()
    record = json.loads((office.folder / "state.json").read_text())
    assert record["pid"] == office.tmux.pane_pid(office.name)
    os.kill(record["pid"], signal.SIGKILL)
    wait_for(lambda: not lives(record["pid"]), "the loop is dead")

    wait_for(lambda: office.status() == "dead", "the terminal says so")
    session = TerminalSession(name=office.name, alive=True)
    wait_for(
        lambda: office.sessions.agent.state(office.folder, session, office.screen).state.value == "unknown",
        "and so does the agent",
    )


def test_a_session_whose_agent_cannot_start_says_why_and_is_gone(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("devclaw_py.agents.scripted.LOOP", "devclaw_py.no_such_module")

    with pytest.raises(SessionFailed, match="no_such_module"):
        office.ensure()

    assert office.status() == "absent"
