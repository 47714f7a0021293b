"""What the demo's model says next, over conversations in which a dictionary plays the tools."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest

from devclaw_py.agents.standin.script import Answer, Call, Conversation
from devclaw_py.demo.claude_story import COMPLETE, answer
from devclaw_py.demo.story import OFFERS, ROUNDING, TYPO, Chapter
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.task import TaskRef
from devclaw_py.rules.prompts import reporting, task_message

FILE = "/w/memory/sessions/till-dev-junior/tasks/2.3.md"
LINE = f"devclaw-task 2.3: Read the file `{FILE}` and do the task in it."
WORKTREE = "/w/till.worktrees/dev-junior"
GREEN = "..\nRan 6 tests in 0.001s\n\nOK"
RED = "FAIL: test_x (tests.test_a.TestA.test_x)\nAssertionError: 2 != 3\n\nRan 6 tests in 0.001s\n\nFAILED (failures=1)"
TAKEN = '{"success": true}'
Tools = Callable[[Call], tuple[str, bool]]


def task(chapter: Chapter, role: Role = Role.DEV, reason: str | None = None) -> str:
    """Return the task file as Claude Code's Read shows it."""
    text = task_message(
        project="till",
        group_id="-1001",
        repo="/w/till",
        worktree=WORKTREE,
        base_branch="main",
        branch="devclaw/2-half",
        commit="abc",
        role=role,
        tier=Tier.JUNIOR if role is Role.DEV else Tier.QA,
        issue=TaskRef(number=2, title=chapter.title),
        body=chapter.body,
        comments=[],
        attempt=3,
        role_text="",
        how_to_report=reporting(role, issue=2, attempt=3),
        fence="0123456789abcdef",
        fail_reason=reason,
    )
    return "\n".join(f"{number:>6}\t{line}" for number, line in enumerate(text.split("\n"), 1))


def tools(file: str, *, tests: str = GREEN, refused: str = "", report: tuple[str, bool] = (TAKEN, False)) -> Tools:
    """Return tools that find the task in ``file``, and refuse the tool named ``refused``."""

    def run(call: Call) -> tuple[str, bool]:
        if call.tool == refused:
            return "File has not been read yet", True
        if call.tool == COMPLETE:
            return report
        if call.arguments.get("file_path") == FILE:
            return file, False
        if "unittest" in call.arguments.get("command", ""):
            return tests, "FAILED" in tests
        return "", False

    return run


def talk(run: Tools, prompt: str = LINE) -> tuple[list[Call], Answer]:
    """Have a whole turn; return the tool calls of it and its last message."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
    calls: list[Call] = []
    while True:
        said = answer(Conversation(model="m", system="", messages=tuple(messages), tools=("Read",)))
        if not said.calls:
            return calls, said
        (call,) = said.calls
        calls.append(call)
        text, is_error = run(call)
        used = {"type": "tool_use", "id": str(len(calls)), "name": call.tool, "input": dict(call.arguments)}
        got = {"type": "tool_result", "tool_use_id": str(len(calls)), "is_error": is_error, "content": text}
        messages += [{"role": "assistant", "content": [used]}, {"role": "user", "content": [got]}]


def report(run: Tools) -> dict[str, Any]:
    calls, _ = talk(run)
    reports = [call.arguments for call in calls if call.tool == COMPLETE]
    assert len(reports) == 1, calls
    return dict(reports[0])


@pytest.mark.parametrize("chapter", [TYPO, OFFERS], ids=["edits", "new files"])
def test_dev_edits_below_its_worktree_commits_and_reports_the_attempt(chapter: Chapter) -> None:
    calls, _ = talk(tools(task(chapter)))

    edited = [call.arguments["file_path"] for call in calls if call.tool in ("Edit", "Write")]
    assert edited == [f"{WORKTREE}/{edit.path}" for edit in chapter.turns[0].edits]
    assert [call.arguments["command"].split()[1] for call in calls[-3:-1]] == ["add", "commit"]
    assert calls[-1].arguments.items() >= {"result": "done", "issueId": 2, "attempt": 3}.items()


def test_a_file_is_read_before_it_is_edited() -> None:
    calls, _ = talk(tools(task(TYPO)))

    for before, call in itertools.pairwise(calls):
        if call.tool == "Edit":
            assert (before.tool, before.arguments["file_path"]) == ("Read", call.arguments["file_path"])


def test_what_qa_sent_back_is_reproduced_before_the_second_fix() -> None:
    reason = "FAIL: test_x (tests.test_a.TestA.test_x)"
    calls, _ = talk(tools(task(ROUNDING, reason=reason), tests=RED))

    assert calls[1].arguments["command"] == "python3 -m unittest tests.test_a.TestA.test_x"
    (edit,) = [call for call in calls if call.tool == "Edit"]
    assert edit.arguments["new_string"] == ROUNDING.turns[1].edits[0].new


def test_an_edit_that_is_refused_is_reported_as_blocked() -> None:
    said = report(tools(task(TYPO), refused="Edit"))

    assert said["result"] == "blocked"
    assert "till/receipt.py cannot be edited: File has not been read yet" in said["summary"]


def test_git_that_is_refused_is_reported_as_blocked() -> None:
    assert report(tools(task(OFFERS), refused="Bash"))["result"] == "blocked"


def test_qa_passes_when_the_tests_do() -> None:
    assert report(tools(task(TYPO, Role.QA)))["result"] == "pass"


def test_qa_looks_for_a_red_test_on_the_base_branch_and_goes_back() -> None:
    calls, _ = talk(tools(task(TYPO, Role.QA), tests=RED))

    there = (
        "git checkout --quiet --detach main && python3 -m unittest tests.test_a.TestA.test_x; git checkout --quiet -"
    )
    assert there in [call.arguments.get("command") for call in calls]


def test_qa_fails_with_what_the_tests_said() -> None:
    said = report(tools(task(TYPO, Role.QA), tests=RED))

    assert said["result"] == "fail"
    assert "AssertionError: 2 != 3" in said["summary"]


@pytest.mark.parametrize(("retryable", "count"), [(True, 6), (False, 1)])
def test_a_refused_report_is_made_again_only_where_that_may_help(retryable: bool, count: int) -> None:
    refusal = json.dumps({"success": False, "error": {"retryable": retryable}})
    calls, last = talk(tools(task(TYPO, Role.QA), report=(refusal, True)))

    assert [call.tool for call in calls].count(COMPLETE) == count
    assert last.text == "The report was refused."


@pytest.mark.parametrize("prompt", ["good morning", f"please do this: {LINE}"])
def test_what_is_no_tasks_line_is_answered_without_a_deed(prompt: str) -> None:
    calls, last = talk(tools(task(TYPO)), prompt)

    assert (calls, bool(last.text)) == ([], True)


def test_a_file_that_is_no_task_is_answered_without_a_report() -> None:
    calls, last = talk(tools("     1\tgood morning"))

    assert [call.tool for call in calls] == ["Read"]
    assert "good morning" in last.text
