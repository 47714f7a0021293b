"""A task reaches the real Claude Code once, as it was sent, whatever stands in its box."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from devclaw_py.agents import mailbox
from devclaw_py.errors import DeliveryUnconfirmed

if TYPE_CHECKING:
    from tests.real.claude.agent.conftest import Desk

MakeDesk = Callable[..., "Desk"]


def accepted(desk: Desk) -> list[str]:
    return sorted(path.name for path in (desk.folder / "accepted").iterdir())


def test_a_task_is_accepted_and_reaches_the_model_as_it_was_typed(desk: Desk) -> None:
    desk.ensure()

    desk.finish("42.1", "# Task\n\n[[standin: say it is done]]")

    assert desk.prompts() == [desk.line("42.1")]
    assert accepted(desk) == ["42.1"]
    ended = desk.ended("42.1")
    assert ended == "its turn ended without a report; its last words: it is done"


def test_two_tasks_go_to_one_conversation(desk: Desk) -> None:
    desk.ensure()
    pid, conversation = desk.tmux.pane_pid(desk.place.session), desk.presence()["sessionId"]

    desk.finish("42.1")
    desk.ensure()
    desk.finish("43.1")

    assert desk.prompts() == [desk.line("42.1"), desk.line("43.1")]
    assert (desk.tmux.pane_pid(desk.place.session), desk.presence()["sessionId"]) == (pid, conversation)
    assert {turn.session for turn in desk.standin.turns} == {conversation}


def test_a_void_offer_starts_no_turn_and_the_next_task_arrives(desk: Desk) -> None:
    desk.ensure()
    console, line = desk.sessions._console(desk.place.session), desk.line("42.1")
    mailbox.put_offer(desk.folder, "42.1", line)
    assert desk.sessions.void(desk.place.session, "42.1")

    desk.sessions.agent.submit(console, line)
    desk.wait_for(lambda: "blocked by hook" in desk.screen(), "the prompt was blocked")

    assert desk.standin.turns == []
    desk.ensure()
    desk.finish("42.2")
    assert desk.prompts() == [desk.line("42.2")]
    assert accepted(desk) == ["42.2"]


def test_a_task_that_a_person_sends_again_starts_no_second_turn(desk: Desk) -> None:
    desk.ensure()
    desk.finish("42.1")
    before = len(desk.standin.turns)

    desk.keys("-l", desk.line("42.1"))
    time.sleep(0.3)
    desk.keys("Enter")
    desk.wait_for(lambda: "blocked by hook" in desk.screen(), "the prompt was blocked")

    assert len(desk.standin.turns) == before


def test_a_line_with_a_persons_text_before_it_starts_no_turn(desk: Desk) -> None:
    desk.ensure()
    mailbox.put_offer(desk.folder, "42.1", desk.line("42.1"))

    desk.keys("-l", "please " + desk.line("42.1"))
    time.sleep(0.3)
    desk.keys("Enter")
    desk.wait_for(lambda: "blocked by hook" in desk.screen(), "the prompt was blocked")

    assert desk.standin.turns == []
    assert accepted(desk) == []


@pytest.mark.parametrize("draft", ["half typed", "two\nlines; 漢字", "/help", "look at @a", "!ls"])
def test_a_persons_draft_is_put_back_behind_the_task(desk: Desk, draft: str) -> None:
    desk.ensure()
    (desk.place.worktree / "a").touch()
    for number, line in enumerate(draft.split("\n")):
        desk.keys(*(["M-Enter"] if number else []))
        desk.keys("-l", line)
    first = re.sub("^!", "", draft.split("\n")[0])
    desk.wait_for(lambda: first in desk.box(), "the draft is in the box")

    desk.finish("42.1")

    assert desk.prompts() == [desk.line("42.1")]
    desk.wait_for(lambda: first in desk.box(), "the draft is in the box again")


def test_a_person_who_goes_on_typing_is_not_interrupted(make_desk: MakeDesk) -> None:
    desk = make_desk(receipt_s=3)
    desk.ensure()
    desk.keys("-l", "I am typing ")
    desk.wait_for(lambda: "I am typing" in desk.box(), "the draft is in the box")
    over = threading.Event()

    def types() -> None:
        while not over.wait(0.4):
            desk.keys("-l", "x")

    typist = threading.Thread(target=types)
    typist.start()
    try:
        with pytest.raises(DeliveryUnconfirmed, match="a person's text"):
            desk.sessions.offer(desk.place.session, "42.1", "[[standin: say no]]")
    finally:
        over.set()
        typist.join()

    assert "I am typing xx" in desk.box()
    assert desk.standin.turns == []


def test_a_session_in_copy_mode_gets_its_task(desk: Desk) -> None:
    desk.ensure()
    desk.tmux.run("copy-mode", "-t", f"={desk.place.session}:0.0")

    desk.finish("42.1")

    assert desk.prompts() == [desk.line("42.1")]


def test_a_task_longer_than_a_paste_may_be_arrives_by_its_file(desk: Desk) -> None:
    desk.ensure()
    message = "!rm -rf / \x1b[201~ @x /clear\n" * 2000 + "[[standin: say read it all]]"

    desk.finish("42.1", message)

    assert desk.prompts() == [desk.line("42.1")]
    assert "pasted_content" not in desk.standin.turns[-1].raw.decode().partition(desk.line("42.1"))[2][:300]


def test_a_turn_that_a_person_breaks_off_is_known_as_such(desk: Desk) -> None:
    desk.ensure()
    desk.give("42.1", "[[standin: stall]]")
    desk.wait_for(lambda: desk.presence()["status"] == "busy", "it works")
    assert desk.status() == "working"

    desk.keys("Escape")
    desk.wait_idle()

    assert desk.ended("42.1") == "its turn was broken off"
    desk.ensure()
    desk.finish("42.2")
    assert accepted(desk) == ["42.1", "42.2"]


@pytest.mark.parametrize(("fault", "named"), [("403", "authentication_failed"), ("429", "rate_limit")])
def test_an_error_of_the_api_ends_the_turn_and_is_named(desk: Desk, fault: str, named: str) -> None:
    desk.ensure()

    desk.finish("42.1", f"[[standin: fault {fault}]]")

    ended = desk.ended("42.1")
    assert ended is not None
    assert named in ended
    states = [json.loads(line)["state"] for line in (desk.folder / "states.log").read_text().splitlines()]
    assert (states[-1] == "limited") is (named == "rate_limit")


def test_a_worker_at_work_is_told_something_with_its_next_request(desk: Desk) -> None:
    desk.ensure()
    wait = '[[standin: delay 3]][[standin: tool Bash {"command": "ls"}]][[standin: say done]]'
    desk.give("42.1", wait)
    desk.wait_for(lambda: desk.status() == "working", "it works")

    assert desk.sessions.tell(desk.place.session, "task 42 was taken back; stop\n/clear")

    desk.wait_idle()
    told = "devclaw-notice: task 42 was taken back; stop /clear"
    desk.wait_for(lambda: any(told in turn.raw.decode() for turn in desk.standin.turns), "the model was told")


def test_events_that_cannot_be_written_cost_no_acceptance(desk: Desk) -> None:
    desk.ensure()
    (desk.folder / "events").rename(desk.folder / "was-events")
    (desk.folder / "events").write_text("no folder, so no event can be written")
    mailbox.put_offer(desk.folder, "42.1", desk.line("42.1"))

    desk.sessions.terminal.send(desk.place.session, desk.line("42.1"))

    desk.standin.wait_for(1)
    assert accepted(desk) == ["42.1"]
