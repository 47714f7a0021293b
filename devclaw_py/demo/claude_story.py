"""The model of the demo's Claude Code workers: a policy without a model, which plays DEV and QA as the programs do.

It is asked by Claude Code as an API is, and knows nothing but the conversation: the typed line names the task's file,
the file says who it is and what is wanted, and the tools say whether it works.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from devclaw_py.agents.standin.script import Answer, Conversation
from devclaw_py.demo.claude_desk import TESTS, Next, ToolDesk
from devclaw_py.demo.desk import Lost
from devclaw_py.demo.message import Unclear, read_message
from devclaw_py.demo.worker import AGAIN_S, TRIES, work

COMPLETE = "mcp__devclaw__task_complete"
# What the workers may do beside what every worker may.
ALLOWED = (f"Bash({TESTS}:*)",)
LINE = re.compile(r"devclaw-task [\d.]+: Read the file `([^`]+)` and do the task in it\.")
RETRYABLE = re.compile(r'"retryable": ?true')
WORKTREE = re.compile(r"^Worktree: (.+) \(work here and nowhere else\)$", re.MULTILINE)


def answer(conversation: Conversation, *, pause_s: float = 0.0) -> Answer:
    """Return the model's next message in a worker's turn; ``pause_s`` passes before each step of its work."""
    desk = ToolDesk(conversation.turn.replies, pause_s)
    line = LINE.fullmatch(conversation.turn.prompt.strip())
    if line is None:
        return Answer("I am the demo's stand-in for a model: I do the tasks of the demo, and they come by devclaw.")
    try:
        return Answer(_turn(desk, line[1]))
    except Next as due:
        return due.answer


def _turn(desk: ToolDesk, task_file: str) -> str:
    """Do the task and report it; return the turn's last words."""
    try:
        text = desk.read(task_file)
        task, place = read_message(text), WORKTREE.search(text)
    except (Lost, Unclear) as error:
        return str(error)
    desk.worktree = place[1] if place else "."
    verdict = work(desk, task)
    return _report(desk, {**verdict.fields(), "issueId": task.issue, "attempt": task.attempt})


def _report(desk: ToolDesk, said: Mapping[str, Any]) -> str:
    """Report, again while the answer says that it may help."""
    for number in range(TRIES):
        done = desk.call(COMPLETE, after_s=AGAIN_S if number else 0.0, **said)
        if not RETRYABLE.search(done.text):
            break
    return "The report was refused." if done.is_error else f"#{said['issueId']} is reported: {said['result']}."
