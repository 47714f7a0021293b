"""A worker's question by the whole way: asked, announced, answered by a tool, told to the model."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import devclaw_py
from devclaw_py.faces.opening import open_workspace

if TYPE_CHECKING:
    from tests.real.claude.agent.conftest import Shop

DEV, QA = "shop-dev-medior", "shop-qa-qa"
GROUP = "-1001"
PACKAGE = str(Path(devclaw_py.__file__).parent.parent)
QUESTION = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}


def asks(**more: Any) -> str:
    return f"[[standin: tool AskUserQuestion {json.dumps({'questions': [{**QUESTION, **more}]})}]][[standin: say done]]"


@pytest.fixture
def asking(shop: Shop) -> Shop:
    """The worker of dev asks which colour; the project lets it ask."""
    shop.done("project_update", permissionMode="default")
    shop.create("Add a footer", asks())
    shop.done("task_pickup", issueId=1, role="dev", model="medior")
    shop.wait_for(lambda: questions(shop), "it asks", within_s=30)
    return shop


def questions(shop: Shop) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = shop.done("queue_status")["projects"][0]["questions"]
    return found


def results(shop: Shop) -> list[str]:
    """Return what the tools brought back to the model, as the request bodies have it."""
    replies = [reply for turn in shop.standin.turns for reply in turn.conversation.turn.replies]
    texts = [result.text.partition("\n\n<system-reminder>")[0] for reply in replies for result in reply.results]
    return list(dict.fromkeys(text for text in texts if "colour?" in text and "standin" not in text))


def devclaw(shop: Shop, *words: str, **environ: str) -> subprocess.CompletedProcess[str]:
    argv = [sys.executable, "-m", "devclaw_py", *words]
    env = {**shop.environ, "DEVCLAW_WORKSPACE": str(shop.workspace), "PYTHONPATH": PACKAGE, **environ}
    return subprocess.run(argv, capture_output=True, text=True, check=False, env=env, cwd=shop.repo, timeout=60)


def test_a_question_is_announced_answered_by_its_command_and_heard_by_the_model(asking: Shop) -> None:
    (question,) = questions(asking)
    asking.done("task_comment", issueId=1, body="anything")
    told = [row.announcement for row in open_workspace(asking.workspace, asking.environ).store.journal.outbox(GROUP)]
    lines = (asking.workspace / "memory" / "audit.log").read_text()
    assert f'"questionId":"{question["id"]}"' in lines.replace(" ", "")

    answered = devclaw(asking, "session-answer", "--question-id", question["id"], "--answer", "2")

    assert answered.returncode == 0, answered.stderr
    asking.wait_for(lambda: results(asking), "the model hears", within_s=20)
    (heard,) = results(asking)
    assert '"Which colour?"="Blue"' in heard
    assert questions(asking) == []
    assert told == [] or question["id"] in str(told)


def test_an_answer_of_a_devclaw_that_is_killed_right_after_is_heard_and_has_its_line(asking: Shop) -> None:
    (question,) = questions(asking)
    script = (
        "import os, signal, sys\n"
        "from devclaw_py.agents import questions\n"
        "kept = questions.decide\n"
        "def decide(*given):\n"
        "    kept(*given)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "questions.decide = decide\n"
        "from devclaw_py.faces.cli import main\n"
        "main()\n"
    )
    env = {**asking.environ, "DEVCLAW_WORKSPACE": str(asking.workspace), "PYTHONPATH": PACKAGE}
    words = ["session-answer", "--question-id", question["id"], "--answer", "Red"]
    killed = subprocess.run([sys.executable, "-c", script, *words], check=False, env=env, cwd=asking.repo, timeout=60)
    assert killed.returncode == -signal.SIGKILL

    again = asking.call("session_answer", questionId=question["id"], answer="Blue")

    assert again["error"]["code"] == "conflict"
    assert "human answered 'Red'" in again["error"]["message"]
    asking.wait_for(lambda: results(asking), "the model hears", within_s=20)
    assert '"Which colour?"="Red"' in results(asking)[0]
    assert devclaw(asking, "heartbeat", "--once").returncode == 0
    lines = [json.loads(line) for line in (asking.workspace / "memory" / "audit.log").read_text().splitlines()]
    assert [line["answers"] for line in lines if line["event"] == "session_answer" and line["ok"]] == [["Red"]]


def test_the_worker_that_asks_may_not_answer_itself(asking: Shop) -> None:
    (question,) = questions(asking)
    words = ["call", "session_answer", json.dumps({"questionId": question["id"], "answer": "Red"})]

    done = devclaw(asking, *words, DEVCLAW_TOKEN_FILE=str(asking.session / "token"))

    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "not_allowed"
    assert [each["id"] for each in questions(asking)] == [question["id"]]


def test_two_sessions_that_ask_at_once_get_each_its_own_answer(asking: Shop, wait_for: Callable[..., None]) -> None:
    asking.create("Another", asks(question="Another colour?"))
    second = asking.create("Check it", asks(question="QA colour?"))
    asking.done("task_update", issueId=second, state="To Test")
    asking.done("task_pickup", issueId=second, role="qa")
    wait_for(lambda: len(questions(asking)) == 2, "both ask", within_s=30)

    for question in questions(asking):
        answer = "Blue" if question["session"] == QA else "Red"
        assert asking.done("session_answer", questionId=question["id"], answer=answer)["session"] == question["session"]

    wait_for(lambda: len(results(asking)) == 2, "both hear", within_s=20)
    assert any('"Which colour?"="Red"' in text for text in results(asking))
    assert any('"QA colour?"="Blue"' in text for text in results(asking))
