"""Pull requests on an emulated GitHub: whose they are, what is said of them, and merges that are refused."""

from __future__ import annotations

import pytest

from devclaw_py.errors import TrackerDenied, TrackerUnavailable
from devclaw_py.model.request import Checks, Request, RequestState, Review
from devclaw_py.trackers.github.requests import GitHubRequests
from devclaw_py.trackers.requests import NotMerged
from tests.forge.emulated import GitHub
from tests.forge.proxy import Answer, Fault, said

BRANCH = "devclaw/7-fix-the-login"
ONE_PULL = r"^GET \S+/pulls/\d+$"


@pytest.fixture
def requests(github: GitHub) -> GitHubRequests:
    return github.requests()


@pytest.fixture
def opened(github: GitHub, requests: GitHubRequests) -> Request:
    github.commit(BRANCH)
    made = requests.open(branch=BRANCH, base="main", title="Fix the login", body="For #7")
    github.proxy.log.clear()
    return made


def found(requests: GitHubRequests) -> Request:
    request = requests.find(BRANCH)
    assert request is not None
    return request


def with_fields(**changes: object) -> Fault:
    return Fault(ONE_PULL, edit=lambda answer: said(200, {**answer.body, **changes}))


def test_an_open_request_is_found_with_all_that_is_said_of_it_in_five_requests(
    github: GitHub, requests: GitHubRequests, opened: Request
) -> None:
    found(requests)

    assert len(github.proxy.log) == 5


def test_a_request_that_was_opened_without_an_answer_is_found(github: GitHub, requests: GitHubRequests) -> None:
    tip = github.commit(BRANCH)
    github.proxy.faults.append(Fault("^POST", drop="after"))

    with pytest.raises(TrackerUnavailable):
        requests.open(branch=BRANCH, base="main", title="Fix the login", body="")

    assert found(requests).head == tip
    assert len([line for line in github.proxy.lines() if line.startswith("POST")]) == 1


def test_a_request_of_a_fork_with_the_same_branch_is_not_ours(
    github: GitHub, requests: GitHubRequests, opened: Request
) -> None:
    def of_a_fork(answer: Answer) -> Answer:
        return said(200, [{**pull, "head": {**pull["head"], "repo": {"id": 999}}} for pull in answer.body])

    github.proxy.faults.append(Fault(r"^GET .*/pulls\?", edit=of_a_fork))

    assert requests.find(BRANCH) is None


def test_a_filter_that_github_leaves_out_finds_no_other_branch(
    github: GitHub, requests: GitHubRequests, opened: Request
) -> None:
    all_of_them = github.proxy.upstream("GET", f"/repos/{github.forge.path}/pulls?state=all")
    github.proxy.faults.append(Fault(r"^GET .*/pulls\?", instead=all_of_them))

    assert requests.find("another") is None


def test_a_request_is_found_after_the_repository_got_another_owner(
    github: GitHub, requests: GitHubRequests, opened: Request
) -> None:
    github.forge = github.forge.model_copy(update={"path": f"formerly/{github.forge.path.partition('/')[2]}"})

    assert found(github.requests()).number == opened.number


def test_words_that_close_issues_do_not_stand_in_a_request(github: GitHub, requests: GitHubRequests) -> None:
    github.commit(BRANCH)
    number = requests.open(branch=BRANCH, base="main", title="Fixes #7", body="Closes #7, closes #8").number

    made = github.human("GET", f"/pulls/{number}")

    assert (made["title"], made["body"]) == ("Fixes (#7)", "Closes (#7,) closes (#8)")


@pytest.mark.parametrize(
    ("runs", "status", "checks"),
    [
        ([], "", Checks.NONE),
        ([("completed", "success")], "", Checks.GREEN),
        ([("completed", "skipped"), ("completed", "neutral")], "success", Checks.GREEN),
        ([("in_progress", None), ("completed", "success")], "", Checks.PENDING),
        ([("queued", None), ("completed", "failure")], "", Checks.RED),
        ([("completed", "timed_out")], "success", Checks.RED),
        ([], "pending", Checks.PENDING),
        ([("completed", "success")], "failure", Checks.RED),
        ([], "error", Checks.RED),
    ],
)
def test_checks_and_statuses_are_one_word(
    github: GitHub,
    requests: GitHubRequests,
    opened: Request,
    runs: list[tuple[str, str | None]],
    status: str,
    checks: Checks,
) -> None:
    raws = [{"status": state, "conclusion": conclusion} for state, conclusion in runs]
    github.proxy.faults.append(Fault("check-runs", instead=said(200, {"total_count": len(raws), "check_runs": raws})))
    github.proxy.statuses[opened.head] = status

    assert found(requests).checks is checks


@pytest.mark.parametrize(
    ("reviews", "said_so"),
    [
        ([], Review.NONE),
        ([("ann", "COMMENTED")], Review.NONE),
        ([("ann", "APPROVED")], Review.APPROVED),
        ([("ann", "CHANGES_REQUESTED"), ("ann", "APPROVED")], Review.APPROVED),
        ([("ann", "APPROVED"), ("ben", "CHANGES_REQUESTED")], Review.CHANGES_REQUESTED),
        ([("ann", "CHANGES_REQUESTED"), ("ann", "COMMENTED")], Review.CHANGES_REQUESTED),
        ([("ann", "CHANGES_REQUESTED"), ("ann", "DISMISSED")], Review.NONE),
    ],
)
def test_each_reviewers_last_decision_counts(
    github: GitHub, requests: GitHubRequests, opened: Request, reviews: list[tuple[str, str]], said_so: Review
) -> None:
    raws = [{"user": {"login": login}, "state": state} for login, state in reviews]
    github.proxy.faults.append(Fault("/reviews", instead=said(200, raws)))

    assert found(requests).review is said_so


def test_mergeable_that_is_not_computed_yet_is_not_a_no(
    github: GitHub, requests: GitHubRequests, opened: Request
) -> None:
    github.proxy.faults.append(with_fields(mergeable=None, mergeable_state="unknown"))

    request = found(requests)

    assert (request.mergeable, request.reason) == (None, "")


@pytest.mark.parametrize(
    ("state", "words"), [("dirty", "conflicts"), ("blocked", "rule"), ("behind", "up to date"), ("draft", "draft")]
)
def test_what_stands_in_the_way_is_said(
    github: GitHub, requests: GitHubRequests, opened: Request, state: str, words: str
) -> None:
    github.proxy.faults.append(with_fields(mergeable=False, mergeable_state=state))

    assert words in found(requests).reason


@pytest.mark.parametrize("status", [405, 409, 422])
def test_a_refused_merge_is_not_tried_again(
    github: GitHub, requests: GitHubRequests, opened: Request, status: int
) -> None:
    refusal = said(status, {"message": "Required status check is expected."})
    github.proxy.faults.append(Fault("/merge$", instead=refusal, times=9))

    with pytest.raises(NotMerged, match="Required status check"):
        requests.merge(opened.number, head=opened.head)

    assert len([line for line in github.proxy.lines() if line.endswith("/merge")]) == 1


def test_a_merge_without_an_answer_is_told_by_the_request(
    github: GitHub, requests: GitHubRequests, opened: Request
) -> None:
    github.proxy.faults.append(Fault("/merge$", drop="after"))

    with pytest.raises(TrackerUnavailable):
        requests.merge(opened.number, head=opened.head)

    assert found(requests).state is RequestState.MERGED
    assert requests.merge(opened.number, head=opened.head).state is RequestState.MERGED


def test_where_merge_commits_are_not_allowed_another_method_is_used(
    github: GitHub, requests: GitHubRequests, opened: Request
) -> None:
    refusal = said(405, {"message": "Merge commits are not allowed on this repository."})
    github.proxy.faults.append(Fault("/merge$", instead=refusal))
    whole = rf"^GET /repositories/{github.forge.id}$"
    github.proxy.faults.append(Fault(whole, edit=lambda a: said(200, {**a.body, "allow_merge_commit": False})))

    assert requests.merge(opened.number, head=opened.head).state is RequestState.MERGED


def test_checks_that_may_not_be_read_are_an_error_and_not_none(
    github: GitHub, requests: GitHubRequests, opened: Request
) -> None:
    denied = said(403, {"message": "Resource not accessible by personal access token"})
    github.proxy.faults.append(Fault("check-runs", instead=denied))

    with pytest.raises(TrackerDenied, match="read checks"):
        requests.find(BRANCH)
