"""The hand-over note: what the conversation worked on that a worker's new one was begun in place of."""

from __future__ import annotations

from collections.abc import Sequence

from devclaw_py.model.base import Value

SUMMARY_CHARS = 400
NOTE = (
    "Your conversation is new. An earlier one at this desk was full; these were its last tasks, oldest first, as "
    "devclaw recorded them. What they changed is on their branches. They are background, not part of this task:"
)


class Earlier(Value):
    """One task of an earlier conversation. ``result`` is how its attempt ended, ``summary`` what its report said."""

    issue: int
    title: str
    attempt: int
    branch: str | None
    result: str
    summary: str = ""


def text(tasks: Sequence[Earlier]) -> str:
    """Return one line a task. Titles and summaries are other people's words.

    >>> text([Earlier(issue=7, title="A footer", attempt=1, branch="devclaw/7-x", result="done", summary="It stands")])
    '#7 A footer (attempt 1, branch devclaw/7-x): done. It stands'
    """
    return "\n".join(_line(task) for task in tasks)


def _line(task: Earlier) -> str:
    branch = f", branch {task.branch}" if task.branch else ""
    summary = " ".join(task.summary.split())
    if len(summary) > SUMMARY_CHARS:
        summary = summary[:SUMMARY_CHARS] + "…"
    head = f"#{task.issue} {' '.join(task.title.split())} (attempt {task.attempt}{branch}): {task.result}"
    return f"{head}. {summary}" if summary else head
