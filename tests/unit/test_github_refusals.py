"""What GitHub's refusals become, from their documented texts and headers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from devclaw_py.errors import CommentRefused, TrackerAuth, TrackerDenied, TrackerError, TrackerUnavailable
from devclaw_py.trackers.forge.reply import Reply, next_page
from devclaw_py.trackers.github.refusals import error_for, paused_until
from devclaw_py.trackers.text import fitting

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
PRIMARY = {"message": "API rate limit exceeded for user ID 1."}
SECONDARY = {"message": "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}


def pause(status: int, headers: dict[str, str], body: object = None) -> float | None:
    until = paused_until(Reply(status, headers, body), NOW, otherwise_s=60)
    return None if until is None else (until - NOW).total_seconds()


def reset(minutes: int) -> dict[str, str]:
    at = int((NOW + timedelta(minutes=minutes)).timestamp())
    return {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(at)}


@pytest.mark.parametrize(
    ("status", "headers", "body", "seconds"),
    [
        (403, reset(50), PRIMARY, 3001),
        (429, reset(50), PRIMARY, 3001),
        (200, reset(50), [], 3001),
        (304, reset(50), None, 3001),
        (200, {**reset(50), "x-ratelimit-resource": "search"}, [], None),
        (403, {"retry-after": "120"}, SECONDARY, 120),
        (429, {"retry-after": "Sun, 01 Mar 2026 12:02:00 GMT"}, SECONDARY, 120),
        (429, {"retry-after": "Sun, 01 Mar 2026 11:00:00 GMT"}, SECONDARY, 1),
        (429, {"retry-after": "soon"}, SECONDARY, 60),
        (403, {}, SECONDARY, 60),
        (403, {}, {"message": "You have triggered an abuse detection mechanism."}, 60),
        (429, {}, None, 60),
        (403, {"x-ratelimit-remaining": "0"}, PRIMARY, 60),
        (403, {}, {"message": "Resource not accessible by integration"}, None),
        (403, {}, {"message": "Must have admin rights to Repository."}, None),
        (404, {"retry-after": "9"}, None, None),
        (200, {"x-ratelimit-remaining": "4999"}, [], None),
    ],
)
def test_a_limit_is_told_from_other_refusals_and_so_is_its_end(
    status: int, headers: dict[str, str], body: object, seconds: float | None
) -> None:
    assert pause(status, headers, body) == seconds


@pytest.mark.parametrize(
    ("status", "headers", "message", "kind", "words"),
    [
        (401, {}, "Bad credentials", TrackerAuth, "fingerprint f00dcafe"),
        (403, {}, "Resource not accessible by integration", TrackerDenied, "not accessible by integration"),
        (
            403,
            {"x-accepted-github-permissions": "issues=write"},
            "Resource not accessible",
            TrackerDenied,
            "issues=write",
        ),
        (403, {"x-github-sso": "required; url=https://x"}, "Resource protected", TrackerDenied, "single sign-on"),
        (403, {}, "Repository was archived so is read-only.", TrackerDenied, "archived"),
        (403, {}, "Unable to create comment because issue is locked.", CommentRefused, "locked"),
        (403, {}, "You do not have permission to create labels on this repository.", TrackerDenied, "create labels"),
        (404, {}, "Not Found", TrackerDenied, "does not see it"),
        (410, {}, "Issues are disabled for this repo", TrackerDenied, "disabled"),
        (301, {"location": "https://x"}, "Moved Permanently", TrackerDenied, "elsewhere"),
        (422, {}, "Validation Failed", TrackerDenied, "Validation Failed"),
        (451, {}, "Repository access blocked", TrackerDenied, "blocked"),
        (500, {}, "Server Error", TrackerUnavailable, "could not answer"),
        (503, {}, "No server is available", TrackerUnavailable, "could not answer"),
    ],
)
def test_each_refusal_is_an_error_that_says_what_github_said(
    status: int, headers: dict[str, str], message: str, kind: type[TrackerError], words: str
) -> None:
    error = error_for(Reply(status, headers, {"message": message}), "x", where="GitHub", fingerprint="f00dcafe")

    assert type(error) is kind
    assert words in str(error)


def test_a_failed_validation_is_told_with_its_details() -> None:
    body = {"message": "Validation Failed", "errors": [{"field": "head", "code": "invalid"}, {"message": "No commits"}]}

    error = error_for(Reply(422, {}, body), "open it", where="GitHub", fingerprint="f00dcafe")

    assert str(error) == "GitHub refused to open it: Validation Failed; head invalid; No commits"


def test_an_answer_that_repeats_the_token_is_told_without_it() -> None:
    reply = Reply(422, {}, {"message": "no such thing: ghp_secret123"})

    assert "secret123" not in str(error_for(reply, "x", where="GitHub", fingerprint="f", token="ghp_secret123"))


def test_the_page_that_follows_is_asked_for_by_its_query_alone() -> None:
    link = '<https://elsewhere/repositories/9/issues?labels=devclaw&page=2>; rel="next", <https://x?page=5>; rel="last"'

    assert next_page(Reply(200, {"link": link})) == {"labels": "devclaw", "page": "2"}
    assert next_page(Reply(200, {"link": '<https://x?page=1>; rel="first"'})) is None


@pytest.mark.parametrize("size", [4999, 5000, 5001, 100_000])
def test_a_text_that_is_cut_keeps_beginning_and_end(size: int) -> None:
    text = "begin" + "x" * (size - 8) + "end"

    cut = fitting(text, 5000)

    assert len(cut) <= 5000
    assert (cut.startswith("begin"), cut.endswith("end"), cut == text) == (True, True, size <= 5000)
