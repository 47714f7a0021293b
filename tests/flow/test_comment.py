"""task_comment: who speaks, and no more of it in the log than a glance."""

from __future__ import annotations

import pytest

from tests.conftest import Office

FIELDS = {
    "success",
    "issueId",
    "issueTitle",
    "issueUrl",
    "commentAdded",
    "authorRole",
    "bodyLength",
    "project",
    "groupId",
    "provider",
    "announcement",
}


@pytest.mark.parametrize(
    ("author", "prefix"),
    [("dev", "👨‍💻 **DEV**: "), ("qa", "🔍 **QA**: "), ("orchestrator", "🎛️ **ORCHESTRATOR**: "), (None, "")],
)
def test_a_comment_says_who_speaks(office: Office, author: str | None, prefix: str) -> None:
    issue = office.seed()

    answer = office.done("task_comment", issueId=issue, body="Look here", authorRole=author)

    assert set(answer) == FIELDS
    assert (answer["authorRole"], answer["bodyLength"], answer["commentAdded"]) == (author, 9, True)
    assert office.comments(issue)[0].startswith(f"{prefix}Look here")


def test_a_worker_speaks_as_its_own_role(office: Office) -> None:
    issue = office.doing()

    answer = office.done("task_comment", office.worker(), issueId=issue, body="Half way", authorRole="qa")

    assert answer["authorRole"] == "dev"


@pytest.mark.parametrize("body", ["", " \n\t", "\x00"])
def test_a_blank_comment_is_refused(office: Office, body: str) -> None:
    issue = office.seed()
    before = office.snapshot()

    assert office.refused("task_comment", issueId=issue, body=body) == "invalid_arguments"
    assert office.snapshot() == before


def test_a_comment_on_an_unknown_issue_is_refused(office: Office) -> None:
    assert office.refused("task_comment", issueId=99, body="Hello") == "invalid_arguments"


def test_the_log_holds_the_first_hundred_characters(office: Office) -> None:
    body = "".join(chr(97 + number % 26) for number in range(300))

    office.done("task_comment", issueId=office.seed(), body=body)

    assert office.lines("task_comment")[0]["bodyPreview"] == body[:100]
    assert body[:101] not in (office.app.workspace / "memory" / "audit.log").read_text(encoding="utf-8")


@pytest.mark.parametrize("after", [False, True], ids=["before-acting", "after-acting"])
def test_a_comment_whose_call_failed_is_there_once_or_not_at_all(office: Office, after: bool) -> None:
    issue = office.seed()
    office.faulty_tracker().arm("comment", after=after)

    answer = office.call("task_comment", issueId=issue, body="Look here")

    assert answer["success"] is after
    assert len(office.comments(issue)) == int(after)
