"""task_pickup when the outside fails, or a human is faster: nothing is left behind, and theirs stays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.agents import mailbox
from devclaw_py.errors import SessionFailed
from devclaw_py.model.pipeline import State
from tests.conftest import Flaky, Office


def ready(office: Office, *, warm: bool) -> int:
    """Seed the issue to fail on; a warm office has had the tier's session at work before."""
    if warm:
        office.doing("Earlier")
        office.done("task_complete", role="dev", result="done")
    return office.seed("Fails")


def flaky_port(office: Office, port: str) -> Flaky:
    """Return the port that will fail."""
    ports: dict[str, Callable[[], Flaky]] = {
        "tracker": office.flaky_tracker,
        "terminal": office.flaky_terminal,
        "work": office.flaky_work,
    }
    return ports[port]()


PORTS = {"tracker": "tracker_unavailable", "terminal": "session_failed", "work": "config_error"}


@pytest.mark.parametrize("warm", [False, True], ids=["cold", "warm"])
@pytest.mark.parametrize("after", [False, True], ids=["before-acting", "after-acting"])
@pytest.mark.parametrize("port", PORTS)
@pytest.mark.parametrize("number", range(1, 15))
def test_a_pickup_is_whole_or_leaves_no_trace_whichever_call_fails(
    office: Office, port: str, number: int, after: bool, warm: bool
) -> None:
    issue = ready(office, warm=warm)
    flaky = flaky_port(office, port)
    before = office.snapshot()
    flaky.fail(number, after_acting=after)

    answer = office.call("task_pickup", issueId=issue, role="dev", model="medior")

    if len(flaky.calls) < number:
        assert answer["success"], "the pickup makes fewer calls and must succeed"
    elif answer["success"]:
        assert office.seat("dev").holds(issue, answer["attempt"]), flaky.calls[-1]
        assert office.states(issue) == (State.DOING,)
    else:
        assert answer["error"]["code"] in (PORTS[port], "delivery_unconfirmed"), flaky.calls
        assert office.snapshot() == before, flaky.calls
        flaky.fails = None
        office.done("task_pickup", issueId=issue, role="dev", model="medior")


def test_a_pickup_makes_fewer_calls_than_the_failure_test_tries(office: Office) -> None:
    issue = ready(office, warm=False)
    ports = [flaky_port(office, port) for port in PORTS]

    office.done("task_pickup", issueId=issue, role="dev", model="medior")

    assert all(0 < len(port.calls) < 15 for port in ports), [port.calls for port in ports]


@pytest.mark.parametrize("to", [State.PLANNING, State.REFINING, State.DONE, State.TO_IMPROVE])
@pytest.mark.parametrize("number", range(2, 7))
def test_a_humans_move_between_two_tracker_calls_wins(office: Office, number: int, to: State) -> None:
    issue = office.seed()
    flaky = office.flaky_tracker()
    flaky.before[number] = lambda: office.tracker.human_moves(issue, to)

    answer = office.call("task_pickup", issueId=issue, role="dev", model="medior")

    if len(flaky.calls) < number:
        return
    assert answer["error"]["code"] == "conflict", (flaky.calls, answer)
    assert office.states(issue) == (to,)
    assert not office.seat("dev").active
    assert office.agent.received == []


@pytest.mark.parametrize("number", range(2, 7))
def test_a_human_who_takes_every_state_off_wins(office: Office, number: int) -> None:
    issue = office.seed()
    flaky = office.flaky_tracker()
    flaky.before[number] = lambda: office.tracker.human_labels(issue, [])

    answer = office.call("task_pickup", issueId=issue, role="dev", model="medior")

    if flaky.calls[number - 1 :] and answer["success"]:
        # After our take there is no label to take off: the human saw an issue without one and did nothing.
        assert flaky.calls[number - 1] == "put"
    elif len(flaky.calls) >= number:
        assert answer["error"]["code"] == "conflict"
        assert office.states(issue) == ()
        assert not office.seat("dev").active


def test_an_offer_that_nobody_accepts_is_undone(office: Office) -> None:
    issue = office.seed()
    office.agent.accepts = False
    before = office.snapshot()

    answer = office.call("task_pickup", issueId=issue, role="dev", model="medior")

    assert answer["error"]["code"] == "delivery_unconfirmed"
    assert answer["error"]["retryable"]
    assert office.snapshot() == before


def test_the_next_pickup_after_an_unaccepted_offer_has_a_new_attempt_number(office: Office) -> None:
    issue = office.seed()
    office.agent.accepts = False
    office.call("task_pickup", issueId=issue, role="dev", model="medior")
    office.agent.accepts = True

    assert office.done("task_pickup", issueId=issue, role="dev", model="medior")["attempt"] == 2


def test_a_worker_that_accepts_in_the_last_moment_has_the_task(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    issue = office.seed()
    office.agent.accepts = False
    void = mailbox.void

    def late(folder: Any, offer: str) -> bool:
        mailbox.accept(folder, offer)
        return void(folder, offer)

    monkeypatch.setattr(mailbox, "void", late)

    answer = office.done("task_pickup", issueId=issue, role="dev", model="medior")

    assert office.seat("dev").holds(issue, answer["attempt"])


def test_a_worker_cannot_accept_an_offer_that_was_taken_back(office: Office) -> None:
    issue = office.seed()
    office.agent.accepts = False
    office.call("task_pickup", issueId=issue, role="dev", model="medior")

    assert not mailbox.accept(office.app.sessions.folder("shop-dev-medior"), f"{issue}.1")


def test_a_role_text_that_cannot_be_read_is_a_config_error(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    issue, path, read = office.seed(), office.app.workspace / "roles" / "default" / "dev.md", Path.read_bytes

    def refused(self: Path) -> bytes:
        if self == path:
            raise PermissionError(13, "Permission denied", str(self))
        return read(self)

    monkeypatch.setattr(Path, "read_bytes", refused)
    answer = office.call("task_pickup", issueId=issue, role="dev")

    assert answer["error"]["code"] == "config_error"
    assert str(path) in answer["error"]["message"]


def test_an_offer_that_cannot_be_taken_back_is_a_failure_of_the_session(office: Office) -> None:
    office.doing()
    folder = office.app.sessions.folder("shop-dev-medior")
    (folder / "void").rmdir()
    (folder / "void").touch()
    (folder / "offers" / "7.1").touch()

    with pytest.raises(SessionFailed, match="shop-dev-medior"):
        office.app.sessions.void("shop-dev-medior", "7.1")
