"""Merge requests on a stand-in for GitLab: pipelines, approvals, refusals."""

from __future__ import annotations

import pytest

from devclaw_py.errors import TrackerDenied, TrackerUnavailable
from devclaw_py.model.request import Checks, Request, RequestState, Review
from devclaw_py.trackers.requests import NotMerged
from tests.forge.gitlab_hands import GitLab
from tests.forge.proxy import Fault, said

BRANCH = "devclaw/7-fix-the-login"


@pytest.fixture
def request_(gitlab: GitLab) -> Request:
    gitlab.commit(BRANCH)
    return gitlab.requests().open(branch=BRANCH, base="main", title="Fix the login", body="For #7")


def found(gitlab: GitLab, **changes: object) -> Request:
    gitlab.project.requests[1] |= changes
    read = gitlab.requests().find(BRANCH)
    assert read is not None
    return read


@pytest.mark.parametrize(
    ("status", "checks"),
    [
        ("success", Checks.GREEN),
        ("failed", Checks.RED),
        ("canceled", Checks.RED),
        ("running", Checks.PENDING),
        ("manual", Checks.PENDING),
        ("created", Checks.PENDING),
        ("something new", Checks.PENDING),
        ("skipped", Checks.NONE),
    ],
)
def test_a_pipelines_status_is_what_the_checks_say(
    gitlab: GitLab, request_: Request, status: str, checks: Checks
) -> None:
    assert found(gitlab, head_pipeline={"status": status, "sha": request_.head}).checks is checks


def test_a_request_without_a_pipeline_has_no_checks(gitlab: GitLab, request_: Request) -> None:
    assert found(gitlab).checks is Checks.NONE


@pytest.mark.parametrize("status", ["preparing", "ci_still_running", "ci_must_pass"])
def test_a_pipeline_that_is_still_to_be_made_is_pending(gitlab: GitLab, request_: Request, status: str) -> None:
    assert found(gitlab, detailed_merge_status=status).checks is Checks.PENDING


def test_a_green_pipeline_of_an_older_commit_says_nothing_of_this_one(gitlab: GitLab, request_: Request) -> None:
    assert found(gitlab, head_pipeline={"status": "success", "sha": "0" * 40}).checks is Checks.PENDING


def test_a_pipeline_of_the_merged_result_counts(gitlab: GitLab, request_: Request) -> None:
    pipeline = {"status": "success", "sha": "0" * 40, "ref": "refs/merge-requests/1/merge"}

    assert found(gitlab, head_pipeline=pipeline).checks is Checks.GREEN


@pytest.mark.parametrize(
    ("changes", "mergeable"),
    [
        ({"detailed_merge_status": "mergeable"}, True),
        ({"detailed_merge_status": "checking"}, None),
        ({"detailed_merge_status": "unchecked"}, None),
        ({"detailed_merge_status": "conflict"}, False),
        ({"detailed_merge_status": "mergeable", "has_conflicts": True}, False),
        ({"detailed_merge_status": None, "merge_status": "cannot_be_merged"}, False),
        ({"detailed_merge_status": "not_approved"}, True),
    ],
    ids=str,
)
def test_what_is_not_computed_yet_is_not_a_no(
    gitlab: GitLab, request_: Request, changes: dict[str, object], mergeable: bool | None
) -> None:
    assert found(gitlab, **changes).mergeable is mergeable


@pytest.mark.parametrize(
    ("status", "words"), [("draft_status", "draft"), ("not_approved", "approvals"), ("need_rebase", "up to date")]
)
def test_the_reason_is_gitlabs(gitlab: GitLab, request_: Request, status: str, words: str) -> None:
    assert words in found(gitlab, detailed_merge_status=status).reason


def test_a_draft_is_told_of_new_servers_and_old_ones(gitlab: GitLab, request_: Request) -> None:
    assert found(gitlab, draft=True).draft
    assert found(gitlab, draft=None, work_in_progress=True).draft


def test_approvals_count_when_none_is_missing(gitlab: GitLab, request_: Request) -> None:
    gitlab.project.approvals = {"approvals_left": 1, "approved_by": [{"user": {"username": "human"}}]}
    assert found(gitlab).review is Review.NONE

    gitlab.project.approvals["approvals_left"] = 0
    assert found(gitlab).review is Review.APPROVED


def test_a_reviewer_who_asks_for_changes_is_heard(gitlab: GitLab, request_: Request) -> None:
    assert found(gitlab, detailed_merge_status="requested_changes").review is Review.CHANGES_REQUESTED


def test_a_request_of_a_fork_with_the_same_branch_is_another_one(gitlab: GitLab, request_: Request) -> None:
    gitlab.project.requests[1]["source_project_id"] = 99

    assert gitlab.requests().find(BRANCH) is None


@pytest.mark.parametrize("status", [405, 406, 409, 422])
def test_a_refused_merge_is_not_tried_again(gitlab: GitLab, request_: Request, status: int) -> None:
    gitlab.server.faults.append(Fault("^PUT", instead=said(status, {"message": "no"})))
    gitlab.server.log.clear()

    with pytest.raises(NotMerged):
        gitlab.requests().merge(1, head=request_.head)

    assert [line for line in gitlab.lines() if line.startswith("PUT")] == ["PUT /merge_requests/1/merge"]


def test_an_account_that_may_not_merge_keeps_its_token(gitlab: GitLab, request_: Request) -> None:
    gitlab.project.roles["bot"] = 20

    with pytest.raises(TrackerDenied, match="does not let the account merge into main"):
        gitlab.requests().merge(1, head=request_.head)
    assert found(gitlab).state is RequestState.OPEN


def test_a_merge_whose_answer_was_lost_is_found_done_at_the_next_try(gitlab: GitLab, request_: Request) -> None:
    gitlab.server.faults.append(Fault("^PUT", drop="after"))
    with pytest.raises(TrackerUnavailable):
        gitlab.requests().merge(1, head=request_.head)

    assert gitlab.requests().merge(1, head=request_.head).state is RequestState.MERGED


def test_a_fast_forward_is_merged_as_its_own_head(gitlab: GitLab, request_: Request) -> None:
    assert found(gitlab, state="merged", merge_commit_sha=None).merged_as == request_.head


def test_nothing_of_a_request_closes_an_issue_or_is_carried_out(gitlab: GitLab) -> None:
    gitlab.commit(BRANCH)
    gitlab.requests().open(branch=BRANCH, base="main", title="Fixes #7", body="Closes #7\n/merge")

    made = gitlab.project.requests[1]
    assert "Fixes #7" not in made["title"]
    assert "Closes #7" not in made["description"]
    assert "\n/merge" not in made["description"]
