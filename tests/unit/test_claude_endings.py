"""How a turn ended, and until when a limit lasts, from what Claude Code told."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from devclaw_py.agents.claude import failures
from devclaw_py.agents.claude.endings import ended
from devclaw_py.agents.claude.events import BLOCKED, Event
from devclaw_py.model.following import End

NOW = 1000.0
LINE = "devclaw-task 4.1: Read the file `/x` and do the task in it."
AT = datetime(2026, 11, 30, 13, 30, tzinfo=UTC)


def event(name: str, ago: float = 10, **payload: Any) -> Event:
    return Event(name=name, at=NOW - ago, file=f"{NOW - ago}-{name}", given=payload)


START = event("SessionStart", 60, source="startup")
PROMPT = event("UserPromptSubmit", 10, prompt=LINE)
ASKED = event("PermissionRequest", 5, tool_name="Bash")
STOP = event("Stop", 5, last_assistant_message="done", background_tasks=[])
COMPACT = event("SessionStart", 4, source="compact")


def failed(error: str, said: str = "") -> Event:
    return event("StopFailure", 5, error=error, last_assistant_message=said)


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([START, PROMPT, STOP], "its turn ended without a report; its last words: done"),
        ([START, PROMPT], "its turn was broken off"),
        ([START, PROMPT, ASKED], "its turn was broken off"),
        ([START, PROMPT, failed("server_error")], "its turn failed with the API error server_error"),
        ([START, PROMPT, event("SessionStart", 1, source="resume")],
         "its session was started again in the middle of its turn"),
        ([START, PROMPT, failed("x"), event("UserPromptSubmit", 3, prompt="go on"), event("Stop", 1)],
         "its turn ended without a report; its last words: none"),
    ],
)  # fmt: skip
def test_how_the_turn_of_a_task_ended_is_told_in_words(events: list[Event], words: str) -> None:
    found = ended(events, LINE + " ")
    assert found is not None
    assert found.words == words


@pytest.mark.parametrize("events", [[START], [START, event("UserPromptSubmit", 9, prompt="hello"), STOP]])
def test_a_task_that_was_never_submitted_has_no_end(events: list[Event]) -> None:
    assert ended(events, LINE) is None


@pytest.mark.parametrize(
    ("last", "how"),
    [
        (STOP, End.QUIET),
        (event("SessionStart", 1, source="resume"), End.RESTARTED),
        (event("SessionStart", 1, source="clear"), End.CLEARED),
        (event("SessionStart", 1, source="startup"), End.CLEARED),
        (failed("server_error", "API Error: 529 overloaded"), End.FAILED),
        (failed("overloaded"), End.FAILED),
        (failed("rate_limit", "API Error: Request rejected (429)"), End.FAILED),
        (failed("rate_limit", "You've hit your session limit · resets 3pm (UTC)"), End.LIMITED),
        (failed("authentication_failed", "Please run /login · API Error: 403"), End.REFUSED),
        (failed("unknown", "API Error: 402 billing_error"), End.REFUSED),
        (failed("unknown", "API Error: 400 invalid_request_error"), End.REFUSED),
        (failed("unknown", "something new"), End.FAILED),
        (failed("invalid_request", "Prompt is too long"), End.FULL),
        (failed("max_output_tokens"), End.FAILED),
    ],
)
def test_each_end_of_a_turn_has_a_kind(last: Event, how: End) -> None:
    found = ended([START, PROMPT, last], LINE)
    assert found is not None
    assert (found.how, found.key) == (how, last.file)


def test_a_compacted_conversation_goes_on() -> None:
    assert (found := ended([PROMPT, STOP, COMPACT], LINE)) is not None
    assert found.how is End.QUIET


def test_a_task_that_a_person_sends_again_changes_nothing() -> None:
    again = event("UserPromptSubmit", 3, prompt=LINE)
    assert (found := ended([PROMPT, STOP, again, event(BLOCKED, 2)], LINE)) is not None
    assert found.key == STOP.file


@pytest.mark.parametrize(("prompt", "theirs"), [("what is this?", True), ("devclaw-notice: go on", False)])
def test_a_turn_that_a_person_began_is_known(prompt: str, theirs: bool) -> None:
    words = event("UserPromptSubmit", 3, prompt=prompt)
    assert (found := ended([PROMPT, STOP, words, event("Stop", 1)], LINE)) is not None
    assert found.by_person is theirs


def test_a_task_whose_prompt_could_not_be_written_down_is_known_by_its_acceptance() -> None:
    before, after = event("Stop", 50), event("Stop", 5)
    assert (found := ended([START, before, after], LINE, accepted=NOW - 20)) is not None
    assert found.key == after.file
    assert (found := ended([START, before], LINE, accepted=NOW - 20, idle_since=NOW - 9)) is not None
    assert (found.how, found.key, found.at.timestamp()) == (End.BROKEN_OFF, "idle-991.000", NOW - 9)


def test_a_turn_that_no_event_ends_because_the_context_is_full_was_not_broken_off_by_a_person() -> None:
    assert (found := ended([PROMPT], LINE, full=True)) is not None
    assert found.how is End.FULL


@pytest.mark.parametrize(
    ("words", "until"),
    [
        ("You've hit your session limit · resets 3pm (UTC)", "2026-11-30T15:01"),
        ("You’ve hit your limit · resets 5:20pm (Europe/Berlin)", "2026-11-30T16:21"),
        ("resets 3:15 am (UTC)", "2026-12-01T03:16"),
        ("resets 12am (UTC)", "2026-12-01T00:01"),
        ("You've hit your weekly limit · resets Dec 3, 5pm (UTC)", "2026-12-03T17:01"),
        ("Claude usage limit reached. Your limit resets at 2pm.", "2026-11-30T14:01"),
        ("resets 1:10pm (UTC)", "2026-11-30T13:31"),
        ("Claude AI usage limit reached|1796052600", "2026-11-30T15:31"),
        ("API Error: Request rejected (429) · rate_limit_error", None),
        ("resets 25pm", None),
        ("resets Feb 31, 5pm (UTC)", None),
        ("resets Jun 3, 5pm (UTC)", None),
        ("resets 3pm (Nowhere/Atall)", "2026-11-30T15:01"),
    ],
)
def test_when_a_limit_ends_is_read_from_its_words(words: str, until: str | None) -> None:
    found = failures.reset(words, at=AT, local=UTC)
    assert (found.astimezone(UTC).strftime("%Y-%m-%dT%H:%M") if found else None) == until


def test_a_clock_time_without_a_zone_is_the_machines() -> None:
    found = failures.reset("resets 5pm", at=AT, local=ZoneInfo("Europe/Berlin"))
    assert found == datetime(2026, 11, 30, 16, 1, tzinfo=UTC)


def test_a_limit_without_words_is_known_by_the_status_line() -> None:
    limits = {
        "five_hour": {"used_percentage": 100, "resets_at": AT.timestamp() + 3600},
        "seven_day": {"used_percentage": 40, "resets_at": AT.timestamp() + 86400},
    }
    assert failures.spent({"rate_limits": limits}, at=AT) == datetime(2026, 11, 30, 14, 31, tzinfo=UTC)
    assert failures.spent({}, at=AT) is None
