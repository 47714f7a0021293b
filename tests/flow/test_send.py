"""session_send: a message is typed once, when the session is idle, and never lost in silence."""

from __future__ import annotations

import pytest

from devclaw_py.agents.base import AgentState
from devclaw_py.model.caller import HUMAN
from devclaw_py.night import heartbeat
from tests.conftest import Office

DEV = "shop-dev-medior"


@pytest.fixture
def working(office: Office) -> Office:
    """Dev holds #1 and is at work on it."""
    office.doing()
    office.agent.working.add(DEV)
    return office


def notices(office: Office) -> list[str]:
    return [line.removeprefix("notice ") for line in office.terminal.typed(DEV) if line.startswith("notice ")]


def waiting(office: Office) -> list[str]:
    folder = office.app.sessions.folder(DEV) / "messages"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_an_idle_session_is_told_at_once(office: Office) -> None:
    office.doing()

    answer = office.done("session_send", role="dev", text="Use tabs")

    assert notices(office) == ["Use tabs"]
    assert (answer["session"], answer["tier"], answer["accepted"], answer["waits"]) == (DEV, "medior", True, False)
    assert waiting(office) == []


def test_messages_for_a_session_at_work_come_in_order_when_it_is_idle(working: Office) -> None:
    answers = [working.done("session_send", role="dev", text=f"Message {number}") for number in range(12)]
    assert [answer["waits"] for answer in answers] == [True] * 12
    assert notices(working) == []

    working.agent.working.clear()
    for _ in range(13):
        working.done("task_comment", issueId=1, body="anything")

    assert notices(working) == [f"Message {number}" for number in range(12)]
    assert waiting(working) == []


def test_a_later_message_does_not_overtake_one_that_waits(working: Office) -> None:
    working.done("session_send", role="dev", text="One")
    working.agent.working.clear()

    assert working.done("session_send", role="dev", text="Two")["waits"]
    heartbeat.tick(working.app)

    assert notices(working) == ["One", "Two"]


def test_the_heartbeat_tells_what_waits(working: Office) -> None:
    working.done("session_send", role="dev", text="Use tabs")
    assert heartbeat.tick(working.app).visits[0].spoken == []

    working.agent.working.clear()
    (visit,) = heartbeat.tick(working.app).visits

    assert [told["accepted"] for told in visit.spoken] == [True]
    assert notices(working) == ["Use tabs"]
    assert heartbeat.tick(working.app).visits[0].spoken == []


def test_a_message_that_is_not_heard_fails_with_the_screen_and_is_not_kept(office: Office) -> None:
    office.doing()
    office.agent.unhearing.add(DEV)

    answer = office.call("session_send", role="dev", text="Use tabs")

    assert answer["error"]["code"] == "session_failed"
    assert "notice Use tabs" in answer["error"]["message"]
    assert waiting(office) == []
    assert notices(office) == ["Use tabs"]


def test_the_loss_of_a_message_that_waited_is_told_once(working: Office) -> None:
    heard = working.hear()
    working.done("session_send", role="dev", text="Use tabs")
    working.agent.working.clear()
    working.agent.unhearing.add(DEV)

    heartbeat.tick(working.app)
    heartbeat.tick(working.app)

    assert len([row for row in heard if "Use tabs" in row.announcement.text]) == 1
    assert working.lines("session_send")[-1]["ok"] is False
    assert notices(working) == ["Use tabs"]


def test_a_message_that_cannot_be_typed_waits_on(working: Office) -> None:
    working.done("session_send", role="dev", text="Use tabs")
    working.agent.working.clear()
    working.terminal.fail_next("clear_input")

    heartbeat.tick(working.app)
    assert notices(working) == []
    heartbeat.tick(working.app)

    assert notices(working) == ["Use tabs"]


def test_a_message_whose_enter_failed_is_not_typed_again(working: Office) -> None:
    working.done("session_send", role="dev", text="Use tabs")
    working.agent.working.clear()
    working.terminal.fail_next("send", after_acting=True)

    for _ in range(2):
        heartbeat.tick(working.app)

    assert notices(working) == ["Use tabs"]
    assert [line["ok"] for line in working.lines("session_send")] == [True, False]


def test_a_broken_file_does_not_keep_the_next_message_waiting(working: Office) -> None:
    for text in ("One", "Two"):
        working.done("session_send", role="dev", text=text)
    folder = working.app.sessions.folder(DEV) / "messages"
    (folder / waiting(working)[0]).write_text("{}")
    working.agent.working.clear()

    heartbeat.tick(working.app)

    assert notices(working) == ["Two"]


def test_a_message_outlives_the_session(working: Office) -> None:
    working.done("session_send", role="dev", text="Use tabs")
    working.terminal.kill(DEV)
    working.agent.working.clear()

    heartbeat.tick(working.app)

    assert waiting(working) != []


def test_no_message_goes_between_an_offer_and_its_acceptance(office: Office) -> None:
    office.doing()
    (office.app.sessions.folder(DEV) / "offers" / "2.1").touch()

    assert office.done("session_send", role="dev", text="Use tabs")["waits"]


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"role": "dev", "tier": "senior"}, "not_active"),
        ({"role": "dev", "tier": "qa"}, "role_mismatch"),
        ({"role": "qa"}, "not_active"),
        ({"role": "dev", "text": "x" * 4001}, "invalid_arguments"),
        ({"role": "dev", "text": "\n".join("x" * 60)}, "invalid_arguments"),
        ({"role": "dev", "text": " "}, "invalid_arguments"),
        ({"role": "dev", "text": "devclaw-task 1.1: Read the file `x`"}, "invalid_arguments"),
    ],
)
def test_what_cannot_be_sent_is_refused(office: Office, given: dict[str, str], code: str) -> None:
    office.doing()

    given.setdefault("text", "Use tabs")
    assert office.refused("session_send", HUMAN, **given) == code
    assert notices(office) == []


def test_a_dead_session_and_one_that_asks_something_are_said(office: Office) -> None:
    office.doing()
    office.agent.states[DEV] = AgentState.UNKNOWN
    office.agent.details[DEV] = "asks a person: go on?"
    assert "go on?" in office.call("session_send", role="dev", text="Hi")["error"]["message"]

    office.terminal.kill(DEV)
    assert office.refused("session_send", role="dev", text="Hi") == "session_failed"
    assert waiting(office) == []


def test_a_worker_may_not_speak_to_another(office: Office) -> None:
    office.doing()

    assert office.refused("session_send", office.worker(), role="dev", text="Use tabs") == "not_allowed"


def test_the_same_request_is_not_said_twice(office: Office) -> None:
    office.doing()

    for _ in range(2):
        office.done("session_send", role="dev", text="Use tabs", requestId="r1")

    assert notices(office) == ["Use tabs"]


def test_the_log_holds_the_first_hundred_characters_of_a_message(working: Office) -> None:
    text = "".join(chr(97 + number % 26) for number in range(300))
    working.done("session_send", role="dev", text=text)
    working.agent.working.clear()
    heartbeat.tick(working.app)

    lines = working.lines("session_send")
    assert [line["waits"] for line in lines[:1]] == [True]
    assert [str(line["textPreview"])[:90] for line in lines] == [text[:90]] * 2
    assert text[:101] not in (working.app.workspace / "memory" / "audit.log").read_text(encoding="utf-8")
