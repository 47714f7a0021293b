"""What GitLab's refusals become, from their documented forms, and what of a text it would carry out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from devclaw_py.errors import TrackerAuth, TrackerDenied, TrackerError, TrackerUnavailable
from devclaw_py.trackers.forge.reply import Reply
from devclaw_py.trackers.gitlab.commands import plain_text
from devclaw_py.trackers.gitlab.refusals import error_for, message_of, paused_until

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def reset(minutes: int) -> dict[str, str]:
    return {"ratelimit-reset": str(int((NOW + timedelta(minutes=minutes)).timestamp()))}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "120"}, 120),
        ({"retry-after": "Sun, 01 Mar 2026 12:02:00 GMT"}, 120),
        ({"retry-after": "soon"}, 60),
        ({"retry-after": "soon", **reset(2)}, 121),
        (reset(2), 121),
        (reset(-2), 60),
        ({}, 60),
    ],
)
def test_the_end_of_a_limit_is_read_in_each_of_its_forms(headers: dict[str, str], seconds: float) -> None:
    until = paused_until(Reply(429, headers), NOW, otherwise_s=60)

    assert (until - NOW).total_seconds() == seconds


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"message": "404 Project Not Found"}, "404 Project Not Found"),
        ({"message": {"title": ["can't be blank", "is too short"]}}, "title can't be blank, is too short"),
        ({"message": ["Another open one: !5"]}, "Another open one: !5"),
        ({"error": "insufficient_scope", "error_description": "higher"}, "insufficient_scope: higher"),
        ({"message": {"error": "too many"}}, "error too many"),
        (None, "status 409"),
        ([1], "status 409"),
    ],
)
def test_a_message_is_found_in_each_of_its_forms(body: object, said: str) -> None:
    assert message_of(Reply(409, {}, body)) == said


@pytest.mark.parametrize(
    ("status", "message", "kind", "words"),
    [
        (401, "401 Unauthorized", TrackerAuth, "fingerprint f00dcafe"),
        (403, "403 Forbidden", TrackerDenied, "403 Forbidden"),
        (403, "insufficient_scope", TrackerDenied, "lacks the scope api"),
        (404, "404 Not found", TrackerDenied, "does not see it"),
        (409, "Label already exists", TrackerDenied, "already exists"),
        (422, "Branch cannot be merged", TrackerDenied, "cannot be merged"),
        (307, "", TrackerDenied, "not followed"),
        (500, "", TrackerUnavailable, "could not answer"),
        (503, "GitLab is not responding", TrackerUnavailable, "not responding"),
    ],
)
def test_a_refusal_becomes_an_error_of_devclaws_own(
    status: int, message: str, kind: type[TrackerError], words: str
) -> None:
    error = error_for(Reply(status, {}, {"message": message}), "do it", where="GitLab", fingerprint="f00dcafe")

    assert type(error) is kind
    assert words in str(error)


def test_a_token_in_an_answer_is_not_repeated() -> None:
    reply = Reply(403, {}, {"message": "the token glpat-secret123456 may not"})

    assert "glpat-secret123456" not in str(
        error_for(reply, "x", where="w", fingerprint="f", token="glpat-secret123456")
    )


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("/close", "\\/close"),
        ("Well.\n/label ~Done\nSo.", "Well.\n\\/label ~Done\nSo."),
        ("  /merge", "  \\/merge"),
        ("see /etc/hosts", "see /etc/hosts"),
        ("// a comment\n/* another */", "// a comment\n/* another */"),
        ("", ""),
    ],
)
def test_a_line_that_gitlab_would_carry_out_is_made_text(text: str, left: str) -> None:
    assert plain_text(text) == left
