"""What becomes of a real Claude Code whose turn ended without a report."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from devclaw_py.errors import SessionFailed
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.following import Followed
from devclaw_py.operations.following import follow

if TYPE_CHECKING:
    from tests.real.claude.agent.conftest import Shop

GROUP = "-1001"
DEV = "shop-dev-medior"


class Later(SystemClock):
    """The machine's clock, ahead by some seconds."""

    def __init__(self, seconds: float) -> None:
        self._ahead = timedelta(seconds=seconds)

    def now(self) -> datetime:
        return super().now() + self._ahead


def passes(shop: Shop, seconds: float) -> list[dict[str, Any]]:
    """Follow up, as it would be in some seconds."""
    return follow(replace(shop.app(), clock=Later(seconds)), GROUP)


def did(shop: Shop, seconds: float) -> list[str]:
    return [done["did"] for done in passes(shop, seconds)]


def work(shop: Shop, body: str) -> None:
    """Give the worker a task and wait for the end of its turn."""
    pick_up(shop, body)
    shop.wait_for(shop.idle, "the worker is idle", within_s=60)


def pick_up(shop: Shop, body: str) -> None:
    issue = shop.create("Add a footer", body)
    shop.done("task_pickup", issueId=issue, role="dev", model="medior")


def notices(shop: Shop) -> list[str]:
    """Return the notices in what the API was sent last; after an error they share their message with a result."""
    asked = shop.standin.turns[-1].conversation.messages if shop.standin.turns else ()
    return re.findall(r"devclaw-notice: [^\"\\]*", json.dumps(asked))


def followed(shop: Shop) -> Followed:
    (attempt,) = shop.app().store.journal.attempts(GROUP, 1)
    return attempt.followed or Followed()


def told(shop: Shop) -> list[str]:
    return [row.announcement.text for row in shop.app().store.journal.outbox(GROUP)]


def pane(shop: Shop) -> int:
    return int(shop.tmux("display-message", "-p", "-t", f"={DEV}:0.0", "#{pane_pid}"))


def keys(shop: Shop, *words: str) -> None:
    shop.tmux("send-keys", "-t", f"={DEV}:0.0", *words)


def found_types(shop: Shop) -> list[str]:
    return [found["type"] for found in shop.call("session_health")["issues"]]


def gone(shop: Shop) -> bool:
    with suppress(SessionFailed):  # a server that is just ending does not answer
        return shop.app().sessions.look(DEV).status.value in ("dead", "absent")
    return False


def busy(shop: Shop) -> None:
    shop.wait_for(lambda: shop.app().sessions.look(DEV).status.value == "working", "the worker works")


def test_a_turn_without_a_report_is_reminded_three_times_and_then_announced(shop: Shop) -> None:
    work(shop, "[[standin: say I think I am done]]")
    assert did(shop, 0) == []
    shop.wait_for(shop.idle, "the worker is idle")

    for number in range(3):
        (done,) = passes(shop, 200 * (number + 1))
        assert (done["did"], done["heard"]) == ("worker_reminded", True)
        shop.wait_for(shop.idle, "the worker is idle")

    assert did(shop, 900) == ["worker_needs_help"]
    assert did(shop, 2000) == []
    shop.wait_for(lambda: len(notices(shop)) == 3, "the API was told three times")
    assert any("needs a person" in text for text in told(shop))


@pytest.mark.parametrize("fault", ["429", "529", "500", "drop"])
def test_after_an_error_that_passes_the_worker_is_told_to_go_on(shop: Shop, fault: str) -> None:
    work(shop, f"[[standin: fault {fault}]]")

    (found,) = shop.call("session_health")["issues"]
    assert found["type"] == "worker_failing"
    (done,) = passes(shop, 15)
    assert (done["did"], done["heard"]) == ("worker_told_on", True)
    assert followed(shop).retries == 1
    shop.wait_for(lambda: len(notices(shop)) == 1, "the API was asked again")


@pytest.mark.parametrize("fault", ["402", "403"])
def test_an_error_that_a_person_must_mend_is_announced_and_costs_no_request(shop: Shop, fault: str) -> None:
    work(shop, f"[[standin: fault {fault}]]")
    shop.wait_for(lambda: did(shop, 15) == ["worker_needs_help"], "it is announced")
    asked = len(shop.standin.turns)
    assert did(shop, 9000) == []

    assert len(shop.standin.turns) == asked
    (found,) = shop.call("session_health", autoFix=True)["issues"]
    assert found["type"] == "worker_failing"
    assert "Doing" in shop.labels(1)


def test_a_conversation_that_does_not_fit_any_more_is_announced_and_asked_nothing(shop: Shop) -> None:
    work(shop, "[[standin: say done]]")
    keys(shop, "-l", "[[standin: fault full]] [[standin: fault full]]")
    time.sleep(0.3)
    keys(shop, "Enter")

    shop.wait_for(lambda: found_types(shop) == ["context_full"], "the context is full", within_s=40)
    asked = len(shop.standin.turns)
    assert did(shop, 15) == ["worker_needs_help"]
    assert did(shop, 9000) == []
    assert len(shop.standin.turns) == asked


def test_a_usage_limit_parks_the_account_until_it_ends(shop: Shop) -> None:
    work(shop, f"[[standin: fault 429 resets-at={int(time.time()) + 600}]]")

    assert did(shop, 15) == ["worker_parked"]
    assert did(shop, 300) == []
    assert [text for text in told(shop) if "usage limit is reached until" in text]

    other = shop.create("Another")
    refused = shop.call("task_pickup", issueId=other, role="dev")
    assert refused["error"]["code"] == "worker_busy"
    last = json.loads((shop.session / "states.log").read_text().splitlines()[-1])
    assert (last["state"], last["until"] is None) == ("limited", False)

    assert did(shop, 700) == ["worker_told_on"]
    shop.wait_for(lambda: len(notices(shop)) == 1, "the API was asked again")


def test_while_the_account_is_parked_nothing_is_picked_up(shop: Shop) -> None:
    work(shop, f"[[standin: fault 429 resets-at={int(time.time()) + 600}]]")
    passes(shop, 15)
    other = shop.create("Another")
    shop.done("task_update", issueId=1, state="Planning")

    refused = shop.call("task_pickup", issueId=other, role="dev")

    assert (refused["error"]["code"], refused["error"]["retryable"]) == ("usage_limited", True)
    assert "retryAt" in refused["error"]
    assert "To Do" in shop.labels(other)


def test_a_person_who_pressed_escape_is_not_reminded_for_a_while(shop: Shop) -> None:
    pick_up(shop, "[[standin: stall]]")
    busy(shop)
    time.sleep(1)
    keys(shop, "Escape")
    shop.wait_for(shop.idle, "the worker is idle")

    assert did(shop, 300) == []
    assert did(shop, 1000) == ["worker_reminded"]


def test_a_cleared_conversation_is_told_the_task_again_once(shop: Shop) -> None:
    work(shop, "[[standin: say done]]")
    keys(shop, "-l", "/clear")
    time.sleep(0.3)
    keys(shop, "Enter")
    starts = (shop.session / "events").glob
    shop.wait_for(lambda: len(list(starts("*-SessionStart.json"))) == 2, "the conversation is a new one")
    shop.wait_for(lambda: did(shop, 100) == ["worker_told_again"], "it is told again")

    assert did(shop, 130) == []
    shop.wait_for(lambda: "tasks/1.1.md" in "".join(notices(shop)), "the API was told")
    assert len({turn.session for turn in shop.standin.turns}) == 2


@pytest.mark.parametrize("how", ["claude", "pane", "server"])
def test_a_worker_that_died_in_its_turn_is_resumed_and_told_to_go_on_once(shop: Shop, how: str) -> None:
    work(shop, "[[standin: say done]]")
    shop.wait_for(lambda: did(shop, 100) == ["worker_reminded"], "it is reminded")
    shop.wait_for(shop.idle, "the worker is idle")
    if how == "claude":
        os.kill(pane(shop), signal.SIGKILL)
    else:
        shop.tmux(*(["kill-pane", "-t", f"={DEV}:0.0"] if how == "pane" else ["kill-server"]))
    shop.wait_for(lambda: gone(shop), "it is gone")

    for _ in range(2):
        shop.done("session_health", autoFix=True)
        shop.wait_for(shop.idle, "the worker is idle")

    assert len([notice for notice in notices(shop) if "was cut off" in notice]) == 1
    assert (followed(shop).restarts, followed(shop).reminders) == (1, 1)
    assert len({turn.session for turn in shop.standin.turns}) == 1


def test_a_stream_that_stalls_is_ended_and_the_worker_goes_on(shop: Shop) -> None:
    pick_up(shop, "[[standin: fault stall times=1]]")
    busy(shop)
    assert did(shop, 600) == []

    # As long as the count of tokens on the screen still moves, nothing is pressed.
    shop.wait_for(lambda: did(shop, 1000) == ["worker_interrupted"], "its turn is ended")
    shop.wait_for(shop.idle, "the worker is idle")
    assert did(shop, 1000) == ["worker_told_on"]

    assert any("was stuck" in text for text in told(shop))
    shop.wait_for(lambda: notices(shop), "the API was asked again")


def test_a_tool_that_runs_for_long_is_work(shop: Shop) -> None:
    pick_up(shop, '[[standin: tool Bash {"command": "git -c alias.wait=\\"!sleep 20\\" wait"}]]')
    shop.wait_for(lambda: "sleep 20" in shop.tree(pane(shop)), "the command runs")

    assert did(shop, 9000) == []


def test_a_worker_whose_events_could_not_be_written_is_followed_up_all_the_same(shop: Shop) -> None:
    pick_up(shop, "[[standin: delay 3]][[standin: say done]]")
    events, aside = shop.session / "events", shop.session / "was-events"
    for path in events.iterdir():
        if "UserPromptSubmit" in path.name:
            path.unlink()
    events.rename(aside)
    events.write_text("no folder, so no event can be written")
    shop.wait_for(lambda: len(shop.standin.turns) >= 2, "the turn goes on")
    time.sleep(5)
    events.unlink()
    aside.rename(events)
    shop.wait_for(shop.idle, "the worker is idle")

    assert did(shop, 300) == []
    assert did(shop, 1000) == ["worker_reminded"]
