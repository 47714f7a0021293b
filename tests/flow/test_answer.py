"""session_answer: a worker's question is told once, answered once, and over for everybody afterwards."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.agents.base import AgentState
from devclaw_py.model.caller import HUMAN, Caller, CallerKind
from devclaw_py.model.question import Asked, Option, Part, QuestionEnd, QuestionKind
from devclaw_py.night import heartbeat
from tests.conftest import GROUP, Office

DEV, ID = "shop-dev-medior", "0a1b2c3d"
COLOUR = Part(text="Which colour?", options=(Option(label="Red"), Option(label="Blue, dark", about="navy")), free=True)
PARTS = Part(text="Which parts?", options=(Option(label="Top"), Option(label="Left, right")), several=True, free=True)
ONE = Asked(kind=QuestionKind.QUESTION, tool="AskUserQuestion", parts=(COLOUR,))
BOTH = ONE.model_copy(update={"parts": (COLOUR, PARTS)})
MAY = Asked(
    kind=QuestionKind.PERMISSION,
    tool="Bash",
    parts=(Part(text="May it use Bash? curl x", options=(Option(label="allow"), Option(label="deny"))),),
)
ORCHESTRATOR = Caller(kind=CallerKind.ORCHESTRATOR, group_id=GROUP)


def ask(office: Office, asked: Asked = ONE, name: str = ID, *, minutes: float = 30) -> Path:
    now = office.clock.now().timestamp()
    return office.agent.ask(DEV, name, asked, at=now, expires=now + 60 * minutes)


def read(path: Path) -> list[str]:
    """Return the answers that the agent's side gets."""
    found: list[str] = json.loads(path.read_text().splitlines()[0])["answers"]
    return found


@pytest.fixture
def asking(office: Office) -> Office:
    """Dev holds #1 and asks which colour."""
    office.doing()
    office.agent.working.add(DEV)
    ask(office)
    return office


def answer_of(office: Office) -> Path:
    return office.app.sessions.folder(DEV) / "answers" / ID


def told(office: Office, word: str) -> list[str]:
    return [row.announcement.text for row in office.app.store.journal.outbox() if word in row.announcement.text]


def test_a_question_is_told_once_with_its_options(asking: Office) -> None:
    heard = asking.hear()

    for _ in range(3):
        heartbeat.tick(asking.app)

    (row,) = heard
    assert ID in row.announcement.text
    assert "Which colour?" in row.announcement.text
    assert "#1" in row.announcement.text
    assert any("2. Blue, dark — navy" in note for note in row.announcement.notes)
    assert any(f"--question-id {ID}" in note and "30 min" in note for note in row.announcement.notes)
    assert [line["questionId"] for line in asking.lines("session_question")] == [ID]


def test_any_call_of_the_project_tells_it_too(asking: Office) -> None:
    heard = asking.hear()
    asking.done("task_comment", issueId=1, body="anything")

    assert any(ID in row.announcement.text for row in heard)


def test_a_devclaw_killed_between_telling_and_noting_tells_nothing_twice(asking: Office) -> None:
    heartbeat.tick(asking.app)
    (asking.app.sessions.folder(DEV) / "questions" / f"{ID}.told").unlink()
    heard = asking.hear()

    heartbeat.tick(asking.app)

    assert heard == []
    assert len(asking.lines("session_question")) == 1


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("Red", "Red"),
        ("red", "Red"),
        ("1", "Red"),
        ("2", "Blue, dark"),
        ("blue,  dark", "Blue, dark"),
        ("mauve, please; $(id) `id`\n\\", "mauve, please; $(id) `id`\n\\"),
    ],
)
def test_a_label_a_number_or_words_answer_it(asking: Office, given: str, expected: str) -> None:
    answer = asking.done("session_answer", ORCHESTRATOR, questionId=ID, answer=given)

    assert read(answer_of(asking)) == [expected]
    assert (answer["session"], answer["issueId"], answer["groupId"]) == (DEV, 1, GROUP)
    assert asking.lines("session_answer")[-1]["caller"] == "orchestrator"


@pytest.mark.parametrize(
    ("given", "expected"),
    [("1,2", "Top, Left, right"), ("Left, right", "Left, right"), ("top\n2\n1", "Top, Left, right"), ("No", "No")],
)
def test_several_choices_of_several_parts_are_all_answered(office: Office, given: str, expected: str) -> None:
    office.doing()
    path = ask(office, BOTH)

    office.done("session_answer", questionId=ID, answers=["Red", given])

    assert read(path) == ["Red", expected]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"answer": ""},
        {"answer": " \n"},
        {"answer": "\u200b\u00a0"},
        {"answer": "3"},
        {"answer": "0"},
        {"answer": "x" * 4001},
        {"answers": []},
        {"answers": ["Red", "Top"]},
        {"answer": "Red", "message": "why"},
    ],
)
def test_what_is_no_answer_leaves_the_question_open(asking: Office, given: dict[str, Any]) -> None:
    assert asking.refused("session_answer", questionId=ID, **given) == "invalid_arguments"
    assert not answer_of(asking).exists()


@pytest.mark.parametrize("given", [["Red"], ["Red", "Top", "Top"], ["Red", ""], ["Red", "1,7"]])
def test_parts_that_are_not_all_answered_leave_the_question_open(office: Office, given: list[str]) -> None:
    office.doing()
    path = ask(office, BOTH)

    assert office.refused("session_answer", questionId=ID, answers=given) == "invalid_arguments"
    assert not path.exists()


@pytest.mark.parametrize(("given", "expected"), [("allow", "allow"), ("2", "deny"), ("DENY", "deny")])
def test_a_permission_is_allowed_or_denied(office: Office, given: str, expected: str) -> None:
    office.doing()
    path = ask(office, MAY)

    office.done("session_answer", questionId=ID, answer=given)

    assert read(path) == [expected]


@pytest.mark.parametrize("given", [{"answer": "maybe"}, {"answer": "allow", "message": "but be careful"}])
def test_a_permission_is_answered_by_nothing_else(office: Office, given: dict[str, Any]) -> None:
    office.doing()
    path = ask(office, MAY)

    assert office.refused("session_answer", questionId=ID, **given) == "invalid_arguments"
    assert not path.exists()


def test_a_denial_carries_words_for_the_worker(office: Office) -> None:
    office.doing()
    path = ask(office, MAY)

    office.done("session_answer", questionId=ID, answer="deny", message="use the mirror")

    assert json.loads(path.read_text().splitlines()[0])["message"] == "use the mirror"


@pytest.mark.parametrize("settled", [False, True])
def test_a_second_answer_is_told_what_was_decided_and_by_whom(asking: Office, settled: bool) -> None:
    asking.done("session_answer", ORCHESTRATOR, questionId=ID, answer="Red")
    if settled:
        heartbeat.tick(asking.app)

    answer = asking.call("session_answer", questionId=ID, answer="2")

    assert answer["error"]["code"] == "conflict"
    assert "orchestrator answered 'Red'" in answer["error"]["message"]
    assert read(answer_of(asking)) == ["Red"]


def test_the_question_is_gone_once_its_answer_stands(asking: Office) -> None:
    asking.done("session_answer", questionId=ID, answer="Red")

    assert list((asking.app.sessions.folder(DEV) / "questions").iterdir()) == []
    assert asking.done("queue_status")["projects"][0]["questions"] == []


def test_of_many_answers_at_once_exactly_one_stands(asking: Office) -> None:
    answers: list[dict[str, Any]] = []

    def call(number: int) -> None:
        given = {"questionId": ID, "answer": f"words {number}", "projectGroupId": GROUP}
        answers.append(catalogue.call(asking.app, "session_answer", given, HUMAN))

    threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    (winner,) = [answer for answer in answers if answer["success"]]
    assert read(answer_of(asking)) == winner["answers"]
    assert {answer["error"]["code"] for answer in answers if not answer["success"]} == {"conflict"}


@pytest.mark.parametrize("by", ["the agent", "devclaw"])
def test_an_expired_question_is_told_once_and_answered_by_nobody(asking: Office, by: str) -> None:
    heartbeat.tick(asking.app)
    heard = asking.hear()
    asking.clock.sleep(60 * 31)
    if by == "the agent":
        answer_of(asking).hardlink_to(asking.app.sessions.folder(DEV) / "questions" / f"{ID}.json")

    for _ in range(2):
        heartbeat.tick(asking.app)
    late = asking.call("session_answer", questionId=ID, answer="Red")

    assert [row.announcement.text for row in heard if "nobody answered" in row.announcement.text] != []
    assert len(heard) == 1
    assert late["error"]["code"] == "not_active"
    assert "nobody answered" in late["error"]["message"]
    assert [line["reason"] for line in asking.lines("session_question_ended")] == ["expired"]


def test_a_late_answer_before_any_tick_is_told_so_as_well(asking: Office) -> None:
    asking.clock.sleep(60 * 31)

    assert asking.refused("session_answer", questionId=ID, answer="Red") == "not_active"
    decision = asking.app.sessions.decision(ID)
    assert decision is not None
    assert decision.end is QuestionEnd.EXPIRED


def test_a_question_whose_asker_is_gone_is_withdrawn(asking: Office) -> None:
    heartbeat.tick(asking.app)
    path = asking.app.sessions.folder(DEV) / "questions" / f"{ID}.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "pid": 2**22 + 1}))
    heard = asking.hear()

    heartbeat.tick(asking.app)

    assert len([row for row in heard if "no longer waits" in row.announcement.text]) == 1
    assert asking.refused("session_answer", questionId=ID, answer="Red") == "not_active"


def test_an_answer_whose_devclaw_was_killed_has_its_audit_line(asking: Office) -> None:
    (question,) = asking.app.sessions.questions()
    decision = question.ends(QuestionEnd.ANSWERED, asking.clock.now(), op="op1", caller="human", answers=("Red",))
    asking.app.sessions.decide(question, decision)

    for _ in range(2):
        heartbeat.tick(asking.app)

    (line,) = asking.lines("session_answer")
    assert (line["op"], line["caller"], line["answers"], line["ok"]) == ("op1", "human", ["Red"], True)


def test_an_answer_leaves_one_audit_line(asking: Office) -> None:
    asking.done("session_answer", questionId=ID, answer="Red")
    heartbeat.tick(asking.app)

    (line,) = asking.lines("session_answer")
    assert (line["ok"], line["questionId"], line["groupId"]) == (True, ID, GROUP)


def test_an_unknown_id_lists_the_open_questions(asking: Office) -> None:
    for name in ("ffffffff", "../../x", "*"):
        answer = asking.call("session_answer", questionId=name, answer="Red")

        assert answer["error"]["code"] == "invalid_arguments"
        assert f"{ID} ({DEV}: Which colour?)" in answer["error"]["message"]


def test_neither_a_worker_nor_another_group_answers(asking: Office) -> None:
    assert asking.refused("session_answer", asking.worker(), questionId=ID, answer="Red") == "not_allowed"
    assert asking.refused("session_answer", asking.worker("qa", "qa"), questionId=ID, answer="1") == "not_allowed"

    stranger = Caller(kind=CallerKind.ORCHESTRATOR, group_id="-2002")
    answer = catalogue.call(asking.app, "session_answer", {"questionId": ID, "answer": "Red"}, stranger)

    assert answer["error"]["code"] == "invalid_arguments"
    assert "colour" not in answer["error"]["message"]
    assert not answer_of(asking).exists()


def test_a_person_need_not_name_the_group(asking: Office) -> None:
    answer = catalogue.call(asking.app, "session_answer", {"questionId": ID, "answer": "Red"}, HUMAN)

    assert answer["success"]
    assert asking.lines("session_answer")[-1]["groupId"] == GROUP


def test_the_same_answer_again_is_repeated_not_refused(asking: Office) -> None:
    (question,) = asking.app.sessions.questions()
    decision = question.ends(QuestionEnd.ANSWERED, asking.clock.now(), op="op1", caller="human", answers=("Red",))
    asking.app.sessions.decide(question, decision)

    assert asking.done("session_answer", questionId=ID, answer="1")["repeated"]
    assert asking.done("session_answer", questionId=ID, answer="Red")["repeated"]


def test_queue_status_shows_what_is_asked(asking: Office) -> None:
    (shown,) = asking.done("queue_status")["projects"][0]["questions"]

    assert (shown["id"], shown["session"], shown["issueId"], shown["kind"]) == (ID, DEV, 1, "question")
    assert shown["parts"][0]["options"] == ["Red", "Blue, dark"]
    assert ID in asking.done("queue_status")["announcement"]


def test_text_of_a_worker_stays_text(office: Office) -> None:
    office.doing()
    hostile = "\x1b[2J\x1b]0;x\x07[bold]*_`$(id)\n\u202e" + "a" * 200_000
    ask(office, ONE.model_copy(update={"parts": (Part(text=hostile, options=(Option(label=hostile),), free=True),)}))

    heard = office.hear()
    heartbeat.tick(office.app)
    shown = office.done("queue_status")

    assert len(heard) == 1
    assert "\x1b" not in shown["announcement"]
    assert len(str(heard[0].announcement)) < 5000
    assert "more characters" in heard[0].announcement.text


def test_a_broken_question_keeps_no_other_waiting(asking: Office) -> None:
    folder = asking.app.sessions.folder(DEV) / "questions"
    for name, text in {"aaaaaaaa": "{", "bbbbbbbb": "{}", "cccccccc": '{"id": 5, "at": "x", "asked": []}'}.items():
        (folder / f"{name}.json").write_text(text)

    asking.done("session_answer", questionId=ID, answer="Red")

    assert read(answer_of(asking)) == ["Red"]


def test_an_answer_that_cannot_be_written_is_said_and_the_question_stays(asking: Office) -> None:
    answer_of(asking).parent.rmdir()

    assert asking.refused("session_answer", questionId=ID, answer="Red") == "session_failed"
    answer_of(asking).parent.mkdir()
    asking.done("session_answer", questionId=ID, answer="Red")


def test_a_session_that_asks_at_its_terminal_is_told_once_and_never_answered(office: Office) -> None:
    office.doing()
    heard = office.hear()
    office.agent.states[DEV] = AgentState.UNKNOWN
    office.agent.details[DEV] = "asks a person: trust this folder?"
    before = list(office.terminal.typed(DEV))

    for _ in range(3):
        heartbeat.tick(office.app)

    (row,) = heard
    assert "trust this folder?" in row.announcement.text
    assert any("devclaw attach shop dev medior --write" in note for note in row.announcement.notes)
    assert office.terminal.typed(DEV) == before
    assert len(office.lines("session_stuck")) == 1
