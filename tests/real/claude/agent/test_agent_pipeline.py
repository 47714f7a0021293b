"""A task from To Do through task_pickup into the real Claude Code, and its report back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.real.claude.agent.conftest import Shop

GROUP = "-1001"
DEV = "shop-dev-medior"


def directive(tool: str, **arguments: Any) -> str:
    return f"[[standin: tool {tool} {json.dumps(arguments)}]]\n"


def test_a_task_is_picked_up_worked_on_and_reported_by_its_tools(shop: Shop) -> None:
    worktree = shop.folder / "shop.worktrees" / "dev-medior"
    body = (
        directive("Write", file_path=str(worktree / "footer.txt"), content="a footer\n")
        + directive("Bash", command="git add -A && git commit -qm 'Add a footer'")
        + directive("mcp__devclaw__task_complete", result="done", summary="It stands", issueId=1, attempt=1)
    )
    issue = shop.create("Add a footer", body)

    picked = shop.done("task_pickup", issueId=issue, role="dev", model="medior")

    assert picked["sessionAction"] == "spawn"
    shop.wait_for(lambda: "To Test" in shop.labels(issue), "the report was applied", within_s=60)
    assert "a footer" in shop.git("show", f"devclaw/{issue}-add-a-footer:footer.txt")


def test_a_second_task_goes_to_the_session_that_has_the_context_of_the_first(shop: Shop) -> None:
    report = {"result": "done", "summary": "It stands", "attempt": 1}
    for number in (1, 2):
        body = directive("mcp__devclaw__task_complete", issueId=number, **report)
        assert shop.create(f"Task {number}", body) == number

    first = shop.done("task_pickup", issueId=1, role="dev", model="medior")
    shop.wait_for(lambda: "To Test" in shop.labels(1), "the first report was applied", within_s=60)
    shop.wait_for(shop.idle, "the worker is idle")
    second = shop.done("task_pickup", issueId=2, role="dev", model="medior")
    shop.wait_for(lambda: "To Test" in shop.labels(2), "the second report was applied", within_s=60)

    assert (first["sessionAction"], second["sessionAction"]) == ("spawn", "send")
    assert len({turn.session for turn in shop.standin.turns}) == 1


@pytest.mark.parametrize(
    "title", ["!rm -rf ~", "/clear", "@README.md", "x\x1b[201~\r!ls", "done; touch /tmp/$(id) `id`", "漢字 🦀 \\'\""]
)
def test_no_title_reaches_the_terminal(shop: Shop, title: str) -> None:
    issue = shop.create(title, "[[standin: say heard]]")

    shop.done("task_pickup", issueId=issue, role="dev", model="medior")

    shop.wait_for(lambda: len(shop.standin.turns) >= 2, "the task file was read")
    line = f"devclaw-task {issue}.1: Read the file `{shop.session / 'tasks' / f'{issue}.1.md'}` and do the task in it."
    assert {turn.conversation.turn.prompt for turn in shop.standin.turns} == {line}


def test_a_worker_that_never_gets_ready_leaves_the_task_in_its_queue(shop: Shop) -> None:
    (Path(shop.environ["HOME"]) / ".claude.json").unlink()
    (shop.workspace / "devclaw.toml").write_text(
        (shop.workspace / "devclaw.toml").read_text() + "[timeouts]\nready_s = 8\n"
    )
    issue = shop.create("Add a footer")

    answer = shop.call("task_pickup", issueId=issue, role="dev", model="medior")

    assert answer["error"]["code"] == "session_failed"
    assert "To Do" in shop.labels(issue)
    assert shop.standin.turns == []


def test_without_the_program_a_pickup_is_a_config_error_and_nothing_changes(shop: Shop) -> None:
    (shop.workspace / "devclaw.toml").write_text("[agent]\nclaude_bin = '/no/such/claude'\n")
    issue = shop.create("Add a footer")

    answer = shop.call("task_pickup", issueId=issue, role="dev", model="medior")

    assert answer["error"]["code"] == "config_error"
    assert "claude_bin" in answer["error"]["hint"]
    assert "To Do" in shop.labels(issue)


def test_the_projects_test_command_may_be_run_and_no_other_program(shop: Shop) -> None:
    shop.done("project_update", testCommand="python3 -m json.tool")
    body = directive("Bash", command="python3 -m json.tool --help") + directive("Bash", command="python3 -m this")
    issue = shop.create("Add a footer", body)

    shop.done("task_pickup", issueId=issue, role="dev", model="medior")
    shop.wait_for(shop.idle, "the turn has ended", within_s=60)

    replies = shop.standin.turns[-1].conversation.turn.replies
    read, allowed, refused = [result for reply in replies for result in reply.results]
    assert "Tests: run them with `python3 -m json.tool`" in read.text
    assert (allowed.is_error, "usage" in allowed.text) == (False, True)
    assert (refused.is_error, "don't ask mode" in refused.text) == (True, True)
