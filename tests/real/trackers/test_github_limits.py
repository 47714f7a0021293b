"""Limits of an emulated GitHub: nobody sleeps through them, and no process asks again before their time."""

from __future__ import annotations

import time
from datetime import timedelta

import pytest

from devclaw_py.errors import RateLimited, TrackerUnavailable
from devclaw_py.kernel.clock import VirtualClock
from tests.forge.emulated import GitHub
from tests.forge.proxy import Fault, said

SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}


def test_a_reset_in_fifty_minutes_is_told_at_once_and_to_every_process(github: GitHub) -> None:
    tracker = github.tracker()
    number = tracker.create("An issue", "", labels=["To Do"]).number
    at = int(time.time()) + 3000
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(at)}
    primary = said(403, {"message": "API rate limit exceeded for user ID 1."}, headers)
    github.proxy.faults.append(Fault("^GET", instead=primary))
    github.proxy.log.clear()

    for asked in (tracker, github.tracker(), github.tracker()):
        with pytest.raises(RateLimited) as raised:
            asked.get(number)
        assert abs(raised.value.retry_at.timestamp() - at) <= 1

    assert len(github.proxy.log) == 1


@pytest.mark.parametrize("status", [403, 429])
def test_a_secondary_limit_without_a_time_is_a_pause_of_a_minute(github: GitHub, status: int) -> None:
    github.clock = VirtualClock()
    tracker = github.tracker()
    number = tracker.create("An issue", "", labels=["To Do"]).number
    github.proxy.faults.append(Fault("^POST", instead=said(status, SECONDARY)))

    with pytest.raises(RateLimited) as raised:
        tracker.put(number, "Doing")

    assert raised.value.retry_at == github.clock.now() + timedelta(seconds=60)
    github.clock.sleep(61)
    assert tracker.put(number, "Doing") == {"To Do", "Doing"}


def test_a_retry_after_is_not_slept_through(github: GitHub) -> None:
    tracker = github.tracker()
    github.proxy.faults.append(Fault("^GET", instead=said(429, SECONDARY, {"Retry-After": "600"}), times=9))

    with pytest.raises(RateLimited):
        tracker.list_all(newest=5)

    assert len(github.proxy.log) == 1


def test_the_last_request_of_the_hour_is_answered_and_no_further_one_is_made(github: GitHub) -> None:
    tracker = github.tracker()
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 3000)}
    github.proxy.faults.append(Fault("^GET", instead=said(200, [], headers)))

    assert tracker.list_all(newest=5) == []
    with pytest.raises(RateLimited):
        tracker.list_all(newest=5)

    assert len(github.proxy.log) == 1


def test_a_server_that_does_not_answer_is_given_up(github: GitHub) -> None:
    tracker = github.tracker(github.client(timeout_s=0.2))
    number = tracker.create("An issue", "", labels=["To Do"]).number
    github.proxy.faults.append(Fault("^DELETE", before=lambda: time.sleep(3)))

    with pytest.raises(TrackerUnavailable, match="ReadTimeout"):
        tracker.take(number, "To Do")


def test_nobody_at_the_address_is_unavailable(github: GitHub) -> None:
    github.forge = github.forge.model_copy(update={"api": "http://127.0.0.1:9"})

    with pytest.raises(TrackerUnavailable):
        github.tracker().get(1)
