"""The demo's DEV: applies the edits of the story, runs tests, commits."""

from __future__ import annotations

from devclaw_py.demo.desk import Desk, Lost, Verdict
from devclaw_py.demo.message import Assignment, failed_tests
from devclaw_py.demo.story import Chapter, Turn, chapter_of
from devclaw_py.model.pipeline import Result


def work(desk: Desk, task: Assignment) -> Verdict:
    """Do one attempt at an issue: reproduce, edit, test, commit. Blocked when something is not as it should be."""
    try:
        turn = _turn(task)
        red_before = _reproduce(desk, task)
        _apply(desk, turn)
    except Lost as lost:
        return Verdict(Result.BLOCKED, str(lost))

    tested = desk.tests(turn.checks)
    new_red = set(tested.red) - red_before
    if new_red or (tested.red and turn.checks) or not (tested.passed or tested.red):
        return Verdict(Result.BLOCKED, f"I cannot get it green: {tested.words}\n{tested.output}")

    desk.step(f"commit: {turn.commit}")
    desk.run("add", "--", *(edit.path for edit in turn.edits))
    desk.run("commit", "--quiet", "-m", f"{turn.commit} (#{task.issue})")
    what = " ".join(turn.checks) or "all tests"
    before = " (red before, too)" if tested.red else ""
    return Verdict(Result.DONE, f"{turn.summary} Ran {what}: {tested.words}{before}.")


def _turn(task: Assignment) -> Turn:
    chapter: Chapter | None = chapter_of(task.title)
    if chapter is None:
        raise Lost(f'nobody has told me how to do "{task.title}"; I know the issues of the demo only')
    if task.sent_back is None:
        return chapter.turns[0]
    if len(chapter.turns) == 1:
        raise Lost(f"QA sent this back and I know no better: {task.sent_back}")
    return chapter.turns[1]


def _reproduce(desk: Desk, task: Assignment) -> set[str]:
    """Return which tests are red before anything is changed; what QA found must be among them.

    Raises:
        Lost: QA names tests, and none of them is red here.
    """
    if task.sent_back is None:
        return set(desk.tests().red)
    named = failed_tests(task.sent_back)
    desk.step(f"QA sent it back; the tests it names: {', '.join(named) or 'none'}")
    if named and not desk.tests(named).red:
        raise Lost(f"QA says that {', '.join(named)} fail; here they pass")
    return set()


def _apply(desk: Desk, turn: Turn) -> None:
    """Edit the files.

    Raises:
        Lost: a file is not as the story left it.
    """
    for edit in turn.edits:
        desk.step(f"edit {edit.path}")
        desk.edit(edit)
    desk.run("diff", "--stat")
