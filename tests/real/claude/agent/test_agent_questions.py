"""What the real Claude Code asks reaches people as a question, and its answer the model: judged from request bodies."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from devclaw_py.agents import questions
from devclaw_py.model.question import Question, QuestionEnd

if TYPE_CHECKING:
    from tests.real.claude.agent.conftest import Desk

NAME = "shop-dev-medior"
COLOUR = {
    "question": "Which colour?",
    "header": "Colour",
    "multiSelect": False,
    "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}],
}
PARTS = {
    "question": 'Which "parts" $(id) `id`?',
    "header": "Parts",
    "multiSelect": True,
    "options": [{"label": "Top", "description": "t"}, {"label": "Bottom", "description": "b"}],
}
# Not one of the commands that pass in acceptEdits.
TOUCH = {"command": "python3 -c \"open('made-it', 'w')\" && echo made"}
END = "[[standin: say done]]"


def directive(tool: str, arguments: dict[str, Any]) -> str:
    return f"[[standin: tool {tool} {json.dumps(arguments)}]]"


def ask(*parts: dict[str, Any]) -> str:
    return directive("AskUserQuestion", {"questions": list(parts)}) + END


@dataclass
class Asker:
    """A desk whose worker asks."""

    desk: Desk

    def give(self, message: str, offer: str = "42.1") -> Question:
        self.desk.ensure()
        self.desk.give(offer, message)
        return self.question()

    def question(self) -> Question:
        self.desk.wait_for(lambda: self.desk.sessions.open_questions(), "it asks", within_s=20)
        (found,) = self.desk.sessions.open_questions()
        return found

    def answer(self, question: Question, *answers: str, message: str = "") -> None:
        at = questions.at(time.time())
        decision = question.ends(QuestionEnd.ANSWERED, at, op="op1", caller="human", answers=answers, message=message)
        assert self.desk.sessions.decide(question, decision) == decision

    def choose_first(self) -> None:
        """Answer in the terminal; a dialog that has just come up may miss a key."""

        def gone() -> bool:
            if "Enter to select" in self.desk.screen():
                self.desk.keys("Enter")
                time.sleep(1)
                return False
            return self.desk.status() == "idle"

        self.desk.wait_for(gone, "the dialog is answered", within_s=40)

    def results(self) -> list[tuple[str, bool]]:
        """Return what the tools of the newest turn brought back, as the newest request has it."""
        replies = self.desk.standin.turns[-1].conversation.turn.replies
        return [(result.text.partition("\n\n<system-reminder>")[0], result.is_error) for result in replies[-1].results]


@pytest.fixture
def asker(make_desk: Callable[..., Desk]) -> Asker:
    return Asker(make_desk(permission_mode="default"))


def test_each_part_of_a_question_is_answered_as_a_person_would(asker: Asker) -> None:
    question = asker.give(ask(COLOUR, PARTS))
    assert [part.text for part in question.asked.parts] == [COLOUR["question"], PARTS["question"]]
    assert [part.several for part in question.asked.parts] == [False, True]
    assert asker.desk.status() == "working"

    asker.answer(question, "mauve; 'quoted' \"twice\" $(id)", "Top, Bottom")

    asker.desk.wait_idle()
    ((text, is_error),) = asker.results()
    assert not is_error
    assert '"Which colour?"="mauve; \'quoted\' "twice" $(id)"' in text
    assert f'"{PARTS["question"]}"="Top, Bottom"' in text


def test_the_state_names_the_question_while_it_is_open(asker: Asker) -> None:
    question = asker.give(ask(COLOUR))
    session = asker.desk.sessions.terminal.find(NAME)
    assert session is not None

    def detail() -> str:
        return asker.desk.sessions.agent.state(asker.desk.folder, session, asker.desk.screen).detail

    asker.desk.wait_for(lambda: detail() == f"asks {question.id}: Which colour?", "the state names it")
    asker.answer(question, "Red")
    asker.desk.wait_idle()
    assert detail() == ""


@pytest.mark.parametrize("mode", ["default", "acceptEdits"])
def test_a_permission_that_is_allowed_lets_the_tool_run(make_desk: Callable[..., Desk], mode: str) -> None:
    asker = Asker(make_desk(permission_mode=mode))
    question = asker.give(directive("Bash", TOUCH) + END)
    assert "made-it" in question.asked.parts[0].text
    made = asker.desk.place.worktree / "made-it"
    assert not made.exists()

    asker.answer(question, "allow")

    asker.desk.wait_idle()
    assert made.exists()
    assert asker.results() == [("made", False)]


def test_a_permission_that_is_denied_keeps_the_tool_from_running_and_says_why(asker: Asker) -> None:
    question = asker.give(directive("Bash", TOUCH) + END)

    asker.answer(question, "deny", message="Use the mirror.")

    asker.desk.wait_idle()
    assert not (asker.desk.place.worktree / "made-it").exists()
    assert asker.results() == [("devclaw: human did not allow this. Use the mirror.", True)]


@pytest.mark.parametrize("message", [ask(COLOUR), directive("Bash", TOUCH) + END], ids=["question", "permission"])
def test_after_the_limit_the_worker_is_told_and_goes_on(make_desk: Callable[..., Desk], message: str) -> None:
    asker = Asker(make_desk(permission_mode="default", answer_min=0.05))
    question = asker.give(message)

    asker.desk.wait_idle()

    ((text, is_error),) = asker.results()
    assert is_error
    assert "nobody answered" in text
    assert not (asker.desk.place.worktree / "made-it").exists()
    decision = asker.desk.sessions.decision(question.id)
    assert decision is not None
    assert decision.end is QuestionEnd.EXPIRED


def test_an_answer_in_the_terminal_withdraws_the_question(asker: Asker) -> None:
    question = asker.give(ask(COLOUR))

    asker.choose_first()

    assert '"Which colour?"="Red"' in asker.results()[0][0]
    asker.desk.wait_for(lambda: not asker.desk.sessions.waits(question), "nobody waits")
    decision = asker.desk.sessions.outcome(question)
    assert decision is not None
    assert decision.end is QuestionEnd.WITHDRAWN


@pytest.mark.parametrize("how", ["escape", "claude killed"])
def test_a_question_whose_turn_is_broken_off_is_withdrawn(asker: Asker, how: str) -> None:
    question = asker.give(ask(COLOUR))

    if how == "escape":
        asker.desk.wait_for(lambda: "Which colour?" in asker.desk.screen(), "the dialog is there")
        asker.desk.keys("Escape")
    else:
        os.kill(int(asker.desk.tmux.pane_pid(NAME)), signal.SIGKILL)

    asker.desk.wait_for(lambda: not asker.desk.sessions.waits(question), "nobody waits")
    decision = asker.desk.sessions.outcome(question)
    assert decision is not None
    assert decision.end is QuestionEnd.WITHDRAWN


def test_without_room_for_the_question_a_person_at_the_terminal_is_needed(asker: Asker) -> None:
    asker.desk.ensure()
    (asker.desk.folder / "questions").rmdir()
    asker.desk.give("42.1", ask(COLOUR))

    asker.desk.wait_for(lambda: asker.desk.status() == "unknown", "it is seen to ask", within_s=20)

    (stuck,) = asker.desk.sessions.stuck()
    assert "Which colour?" in stuck.screen
    asker.choose_first()
    assert '"Which colour?"="Red"' in asker.results()[0][0]


def test_in_dont_ask_nothing_is_asked(make_desk: Callable[..., Desk]) -> None:
    asker = Asker(make_desk(permission_mode="dontAsk"))
    asker.desk.ensure()
    asker.desk.finish("42.1", ask(COLOUR))

    assert asker.results()[0][1]
    assert asker.desk.sessions.questions() == []


def test_two_questions_of_one_message_are_told_apart(asker: Asker) -> None:
    asker.desk.ensure()
    second = {"command": "touch second"}
    also = f"[[standin: also Bash {json.dumps(second)}]]"
    asker.desk.give("42.1", directive("Bash", TOUCH) + also + END)
    answers = {"made-it": "allow", "touch second": "deny"}

    for _ in range(2):
        question = asker.question()
        said = next(answer for word, answer in answers.items() if word in question.asked.parts[0].text)
        asker.answer(question, said)
        asker.desk.wait_for(lambda known=question: not asker.desk.sessions.waits(known), "it is decided")

    asker.desk.wait_idle()
    worktree = asker.desk.place.worktree
    assert ((worktree / "made-it").exists(), (worktree / "second").exists()) == (True, False)


def test_the_question_of_a_session_costs_little_while_it_waits(asker: Asker) -> None:
    question = asker.give(ask(COLOUR))
    (record,) = questions.records(asker.desk.folder)
    before = _cpu_s(record["pid"])
    time.sleep(3)

    assert _cpu_s(record["pid"]) - before < 0.3
    asker.answer(question, "Red")
    asker.desk.wait_idle()


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(int(fields[place]) for place in (11, 12, 13, 14)) / os.sysconf("SC_CLK_TCK")
