"""The program that plays DEV and QA in the demo: it reads its task message and works in its worktree.

Run by the scripted agent as ``[agent] program``, with the message on standard input. What is prepared is only what
DEV writes into files. Whether it works is found out: DEV and QA run the repository's tests, and QA's verdict is what
the tests say. ``--pause`` are the seconds between two steps; what follows ``--`` is the command ``devclaw``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devclaw_py.demo import dev, qa
from devclaw_py.demo.desk import Desk, Lost, ShellDesk, Verdict
from devclaw_py.demo.message import Assignment, Unclear, read_message
from devclaw_py.demo.repository import GIT_S
from devclaw_py.errors import DevClawError
from devclaw_py.kernel import proc
from devclaw_py.model.pipeline import Result, Role
from devclaw_py.work.command import Git

REPORT_S, TRIES, AGAIN_S = 90.0, 6, 2.0
WORK = {Role.DEV: dev.work, Role.QA: qa.work}


@dataclass(frozen=True)
class Options:
    """The program's arguments."""

    pause_s: float
    devclaw: tuple[str, ...]


def options(argv: list[str]) -> Options:
    """Read the program's arguments."""
    parser = argparse.ArgumentParser("devclaw demo's worker")
    parser.add_argument("--pause", type=float, default=0.0)
    parser.add_argument("devclaw", nargs="+")
    found = parser.parse_args(argv)
    return Options(found.pause, tuple(found.devclaw))


def main() -> None:
    """Do one task and report it; exit 1 when the report was not taken."""
    chosen = options(sys.argv[1:])
    desk = ShellDesk(folder=Path.cwd(), git=Git(GIT_S), environ=dict(os.environ), pause_s=chosen.pause_s)
    try:
        task = read_message(sys.stdin.read())
        desk.say(f"#{task.issue}, attempt {task.attempt}: {task.title}")
        verdict = work(desk, task)
        taken = report(desk, chosen.devclaw, {**verdict.fields(), "issueId": task.issue, "attempt": task.attempt})
    except (Unclear, proc.NotAnswered) as error:
        desk.say(str(error))
        sys.exit(1)
    sys.exit(0 if taken else 1)


def work(desk: Desk, task: Assignment) -> Verdict:
    """Do the role's work; what keeps it from being done is a reason to ask for a person, never to fall silent."""
    try:
        return WORK[task.role](desk, task)
    except (DevClawError, proc.NotAnswered, Lost) as error:
        return Verdict(Result.BLOCKED, str(error))


def report(desk: ShellDesk, devclaw: tuple[str, ...], said: dict[str, Any]) -> bool:
    """Send the report, again while the answer says that it may help, and say whether it was taken."""
    desk.say(f"$ devclaw call task_complete - <<< {json.dumps(said, ensure_ascii=False)[:160]}")
    for _ in range(TRIES):
        done = proc.run(
            [*devclaw, "call", "task_complete", "-"], timeout_s=REPORT_S, env=desk.environ, stdin=json.dumps(said)
        )
        try:
            answer = json.loads(done.out)
        except ValueError:
            desk.say(f"devclaw gave no answer (exit code {done.code}): {done.err.strip()[-500:]}")
            return False
        desk.say(answer.get("announcement") or f"refused: {answer['error']['message']}")
        if answer["success"] or not answer["error"]["retryable"]:
            return bool(answer["success"])
        time.sleep(AGAIN_S)
    return False


if __name__ == "__main__":
    main()
