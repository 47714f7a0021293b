"""Tasks one after another into a conversation that fills up, from To Do to the report, through the tools."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.real.claude.agent.conftest import Compactions, Shop

WINDOW = 200_000
NOTE = "Your conversation is new."


def work(shop: Shop, number: int, *, percent: int = 0) -> dict[str, Any]:
    """Have a task picked up and reported, after which so much of the context is used; return the pickup's answer."""
    report = {"result": "done", "summary": f"Footer {number} stands", "issueId": number, "attempt": 1}
    body = f"[[standin: tool mcp__devclaw__task_complete {json.dumps(report)}]]\n"
    body += f"[[standin: usage {WINDOW * percent // 100}]]\n[[standin: say the secret word is plum{number}]]\n"
    assert shop.create(f"Footer {number}", body) == number
    picked = shop.done("task_pickup", issueId=number, role="dev", model="medior")
    shop.wait_for(lambda: "To Test" in shop.labels(number), f"report {number} was applied", within_s=60)
    shop.wait_for(shop.idle, "the worker is idle")
    return picked


def sessions(shop: Shop) -> list[str]:
    return list(dict.fromkeys(turn.session for turn in shop.standin.turns))


def lines(shop: Shop, event: str) -> list[dict[str, Any]]:
    log = (shop.workspace / "memory" / "audit.log").read_text().splitlines()
    return [line for line in map(json.loads, log) if line["event"] == event]


@pytest.fixture
def filled(shop: Shop, compactions: Compactions) -> Callable[[int], dict[str, Any]]:
    """Return a function that fills the conversation with one task and gives the session the next."""

    def fill(percent: int) -> dict[str, Any]:
        work(shop, 1, percent=percent)
        return work(shop, 2)

    return fill


def test_a_task_for_a_rather_full_conversation_begins_with_a_compact(
    shop: Shop, filled: Callable[[int], dict[str, Any]]
) -> None:
    picked = filled(71)

    assert picked["sessionAction"] == "send"
    assert picked["context"] == {"used": 0.71, "action": "compact", "compaction": "done"}
    assert len(sessions(shop)) == 1
    assert "devclaw-task 1.1" not in shop.standin.turns[-1].raw.decode()
    assert NOTE not in (shop.session / "tasks" / "2.1.md").read_text()


def test_a_task_for_a_full_conversation_begins_a_new_one_that_is_handed_over_to(
    shop: Shop, filled: Callable[[int], dict[str, Any]]
) -> None:
    picked = filled(90)

    assert (picked["sessionAction"], picked["context"]) == ("spawn", {"used": 0.9, "action": "fresh"})
    old, new = sessions(shop)
    assert json.loads((shop.session / "conversation.json").read_text())["former"] == [old]
    told = [turn.raw.decode() for turn in shop.standin.turns if turn.session == new]
    assert "plum1" not in "".join(told)
    (first, *_) = [body for body in told if NOTE in body]
    assert "#1 Footer 1 (attempt 1, branch devclaw/1-footer-1): done. Footer 1 stands" in first


def test_each_task_has_its_own_tokens_in_the_audit_log(shop: Shop) -> None:
    work(shop, 1, percent=10)
    work(shop, 2, percent=20)

    first, second = lines(shop, "task_usage")

    (counted,) = first["tokens"].items()
    assert counted[0] == "claude-sonnet-4-5"
    assert counted[1]["output"] > 0
    # The words after the first report stand with the second task.
    assert second["tokens"]["claude-sonnet-4-5"]["cacheRead"] > WINDOW * 10 // 100
    assert [line["attempt"] for line in (first, second)] == [1, 1]


def test_a_worker_whose_tmux_server_died_goes_on_in_its_conversation(shop: Shop) -> None:
    work(shop, 1)
    assert shop.create("Footer 2", "[[standin: stall]]") == 2
    shop.done("task_pickup", issueId=2, role="dev", model="medior")
    shop.tmux("kill-server")
    shop.wait_for(lambda: not shop.tmux("list-sessions"), "the server is gone")

    answer = shop.done("session_health", autoFix=True)

    assert answer["fixesApplied"] == 1, answer
    shop.wait_for(lambda: "devclaw-notice" in shop.standin.turns[-1].raw.decode(), "the worker was told to go on")
    assert len(sessions(shop)) == 1
    assert "Doing" in shop.labels(2)
    assert shop.call("task_complete", role="dev", result="done", issueId=2, attempt=1)["success"]
