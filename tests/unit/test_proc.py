"""Starting programs."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

import psutil
import pytest

from devclaw_py.kernel.proc import Done, NotAnswered, run


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_code_output_and_errors_come_back() -> None:
    done = run(python("import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"), timeout_s=30)
    assert done == Done(3, "out\n", "err\n")


def test_standard_input_is_handed_in_and_else_empty() -> None:
    echo = python("import sys; print(sys.stdin.read())")
    assert run(echo, timeout_s=30, stdin="grüß").out == "grüß\n"
    assert run(echo, timeout_s=30).out == "\n"


def test_arguments_are_not_read_by_a_shell() -> None:
    assert run(["echo", "$HOME; exit 1", "a b"], timeout_s=30).out == "$HOME; exit 1 a b\n"


def test_bytes_that_are_no_text_are_escaped() -> None:
    assert run(["printf", r"a\377"], timeout_s=30).out == r"a\xff"


def test_folder_and_environment_are_the_given_ones(tmp_path: Path) -> None:
    code = "import os; print(os.getcwd(), os.environ.get('A'), 'HOME' in os.environ)"
    assert run(python(code), timeout_s=30, cwd=tmp_path, env={"A": "1"}).out == f"{tmp_path} 1 False\n"


def test_a_missing_program_is_named() -> None:
    with pytest.raises(NotAnswered, match="no-such-program could not be started: it is in no folder of PATH"):
        run(["no-such-program"], timeout_s=30)


def test_a_folder_that_is_missing_is_not_taken_for_a_missing_program(tmp_path: Path) -> None:
    with pytest.raises(NotAnswered, match="could not be started: No such file"):
        run(["echo"], timeout_s=30, cwd=tmp_path / "gone")


def test_a_program_that_does_not_end_is_killed_with_its_children(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    write = f"open({str(note)!r}, 'w').write(str(os.getpid()))"
    code = f"import os, time; os.fork() or {write}; time.sleep(600)"
    with pytest.raises(NotAnswered, match="did not end within 2 s"):
        run(python(code), timeout_s=2)
    child = int(note.read_text())
    deadline = time.monotonic() + 30
    while psutil.pid_exists(child) and psutil.Process(child).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_program_has_a_process_group_of_its_own() -> None:
    assert int(run(python("import os; print(os.getpgid(0))"), timeout_s=30).out) != os.getpgid(0)
    assert signal.getsignal(signal.SIGINT) is not None


def test_a_child_that_left_the_group_cannot_hold_up_a_time_out(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    script = f"setsid sh -c 'echo $$ > {pid_file}; exec sleep 60' & wait"

    with pytest.raises(NotAnswered):
        run(["sh", "-c", script], timeout_s=0.5)

    os.kill(int(pid_file.read_text()), signal.SIGKILL)
