"""Work on a forge: a request at DEV's done, its merge at QA's pass, and whatever people do to it meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest

from devclaw_py.errors import TrackerUnavailable
from devclaw_py.model.pipeline import Integration, State
from devclaw_py.model.request import Checks, Request, RequestState, Review
from devclaw_py.trackers.memory_requests import MemoryRequests
from devclaw_py.work.memory import MemoryRepo
from tests.conftest import Flaky, Office, make_office

URL = "memory://shop/requests/1"


@dataclass
class Shop:
    """An office whose project is on a forge."""

    office: Office
    requests: MemoryRequests

    @property
    def repo(self) -> MemoryRepo:
        return self.office.work.repo(self.office.project)

    @property
    def remote(self) -> dict[str, str]:
        assert self.repo.remote is not None
        return self.repo.remote

    def request(self, issue: int) -> Request:
        found = self.requests.find(self.office.branch(issue))
        assert found is not None
        return found

    def passes(self, **more: Any) -> dict[str, Any]:
        return self.office.done("task_complete", role="qa", result="pass", summary="Works", **more)

    def again(self) -> None:
        """Let time pass, and somebody call for the project."""
        self.office.clock.sleep(31)
        self.office.call("queue_status")
        self.office.done("task_create", title="Anything", label="Planning")

    def flaky(self) -> Flaky:
        flaky = Flaky(self.requests, TrackerUnavailable)
        self.office.app = replace(self.office.app, open_requests=lambda project: cast(Any, flaky))
        return flaky


@pytest.fixture(params=[False, True], ids=["take-and-put", "swap"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    """The shop on a forge that moves labels as GitHub does, and on one that moves them as GitLab does."""
    office = make_office(tmp_path, swaps=request.param)
    return Shop(office, office.on_forge())


# --- done ---


def test_a_done_branch_is_pushed_and_has_a_request(shop: Shop) -> None:
    issue = shop.office.doing()

    answer = shop.office.done("task_complete", role="dev", result="done", summary="It stands")

    request = shop.request(issue)
    assert answer["request"] == {"number": 1, "url": URL}
    assert shop.remote[shop.office.branch(issue)] == request.head == answer["commit"]
    assert (request.base, request.state) == ("main", RequestState.OPEN)
    assert URL in answer["announcement"]


def test_a_request_leads_to_its_issue_and_closes_none(shop: Shop) -> None:
    issue = shop.office.doing("Fixes #3: add a footer")

    shop.office.done("task_complete", role="dev", result="done", summary="This closes #1 and resolves acme/shop#2")

    title, body = shop.requests.text(1)
    assert title == f"Fixes (#3:) add a footer (#{issue})"
    assert body.startswith(f"As described in #{issue}.\n\nThis closes (#1) and resolves (acme/shop#2)\n")


def test_a_request_that_the_worker_made_is_taken_as_it_is(shop: Shop) -> None:
    issue = shop.office.doing()
    branch = shop.office.branch(issue)
    shop.remote[branch] = shop.repo.branches[branch]
    shop.requests.open(branch=branch, base="main", title="Mine", body="")

    answer = shop.office.done("task_complete", role="dev", result="done")

    assert answer["request"]["number"] == 1
    assert shop.requests.text(1)[0] == "Mine"


def test_the_second_attempt_goes_on_in_the_same_request(shop: Shop) -> None:
    issue = shop.office.testing()
    shop.office.done("task_complete", role="qa", result="fail", summary="No")
    shop.office.done("task_pickup", issueId=issue, role="dev")
    newer = shop.office.commit(issue)

    answer = shop.office.done("task_complete", role="dev", result="done")

    assert answer["request"]["number"] == 1
    assert shop.request(issue).head == newer


def test_new_work_on_a_branch_whose_request_has_ended_gets_another_one(shop: Shop) -> None:
    issue = shop.office.testing()
    shop.passes()
    shop.office.done("task_update", issueId=issue, state="To Improve", reason="not quite")
    shop.office.done("task_pickup", issueId=issue, role="dev")
    shop.office.commit(issue)

    answer = shop.office.done("task_complete", role="dev", result="done")

    assert answer["request"]["number"] == 2


def test_a_request_that_somebody_closed_is_not_opened_again_for_the_same_commit(shop: Shop) -> None:
    issue = shop.office.doing()
    branch = shop.office.branch(issue)
    shop.remote[branch] = shop.repo.branches[branch]
    shop.requests.open(branch=branch, base="main", title="Mine", body="")
    shop.requests.human_closes(1)

    answer = shop.office.done("task_complete", role="dev", result="done")

    assert answer["request"]["number"] == 1
    assert "is closed already" in answer["warnings"][0]


def test_done_without_a_commit_is_accepted_and_says_that_there_is_no_request(shop: Shop) -> None:
    issue = shop.office.doing(commits=False)

    answer = shop.office.done("task_complete", role="dev", result="done")

    assert "no request was opened" in answer["warnings"][-1]
    assert shop.office.states(issue) == (State.TO_TEST,)


def test_a_push_that_is_refused_is_a_warning_and_nothing_is_requested(shop: Shop) -> None:
    shop.office.doing()
    shop.repo.refusal = "pre-receive hook declined"

    answer = shop.office.done("task_complete", role="dev", result="done")

    assert "pre-receive hook declined" in answer["warnings"][0]
    assert "request" not in answer


@pytest.mark.parametrize("after", [False, True])
def test_a_done_whose_request_got_no_answer_is_settled_with_one_request(shop: Shop, after: bool) -> None:
    issue = shop.office.doing()
    flaky = shop.flaky()
    flaky.fail(2, after_acting=after)

    answer = shop.office.done("task_complete", role="dev", result="done")
    shop.again()

    assert answer["pending"] is True
    assert flaky.calls.count("open") == (1 if after else 2)
    assert shop.office.states(issue) == (State.TO_TEST,)
    assert shop.request(issue).number == 1


# --- pass ---


@pytest.mark.parametrize("checks", [Checks.GREEN, Checks.NONE])
def test_a_pass_is_merged_by_the_forge_at_the_tested_commit(shop: Shop, checks: Checks) -> None:
    issue = shop.office.testing()
    shop.requests.check(1, checks)
    tested = shop.remote[shop.office.branch(issue)]

    answer = shop.passes()

    request = shop.request(issue)
    assert (request.state, request.head) == (RequestState.MERGED, tested)
    assert answer["merged"] == request.merged_as
    assert shop.office.states(issue) == (State.DONE,)
    assert shop.office.tracker.get(issue).closed
    assert "Merged into main, issue closed." in answer["announcement"]


def test_the_base_branch_here_follows_the_merge_there(shop: Shop) -> None:
    shop.office.testing()

    answer = shop.passes()

    assert shop.repo.base[-1] == answer["merged"]


def test_a_base_branch_that_cannot_follow_is_a_warning(shop: Shop) -> None:
    issue = shop.office.testing()
    shop.repo.commit_on_base()

    answer = shop.passes()

    assert "main was not brought forward" in answer["warnings"][0]
    assert shop.office.states(issue) == (State.DONE,)


Deed = Callable[[MemoryRequests], object]

WAITING: dict[str, tuple[Deed, str]] = {
    "pending": (lambda r: r.check(1, Checks.PENDING), "the checks of memory://shop/requests/1 are under way"),
    "draft": (lambda r: r.human_drafts(1), "is a draft"),
    "uncomputed": (lambda r: r.conflict(1, None), "has not said yet"),
    "rule": (lambda r: r.rule(1, "a review is required"), "a review is required"),
}
READY: dict[str, Deed] = {
    "pending": lambda r: r.check(1, Checks.GREEN),
    "draft": lambda r: r.human_drafts(1, draft=False),
    "uncomputed": lambda r: r.conflict(1, True),
    "rule": lambda r: r.rule(1, ""),
}


@pytest.mark.parametrize("what", WAITING)
def test_a_pass_that_cannot_be_merged_yet_waits_and_frees_the_seat(shop: Shop, what: str) -> None:
    issue = shop.office.testing()
    act, reason = WAITING[what]
    act(shop.requests)
    heard = shop.office.hear()

    answer = shop.passes()

    assert answer["pending"] is True
    assert reason in answer["reason"]
    assert shop.office.states(issue) == (State.TESTING,)
    assert not shop.office.seat("qa").active
    assert [reason in row.announcement.text for row in heard] == [True]


@pytest.mark.parametrize("what", WAITING)
def test_a_pass_that_waited_is_merged_when_nothing_is_in_the_way_any_more(shop: Shop, what: str) -> None:
    issue = shop.office.testing()
    WAITING[what][0](shop.requests)
    shop.passes()
    READY[what](shop.requests)

    shop.again()

    assert shop.request(issue).state is RequestState.MERGED
    assert shop.office.states(issue) == (State.DONE,)


def test_a_group_is_told_once_however_long_a_pass_waits(shop: Shop) -> None:
    shop.office.testing()
    shop.requests.check(1, Checks.PENDING)
    heard = shop.office.hear()
    shop.passes()

    for _ in range(5):
        shop.office.clock.sleep(600)
        shop.office.call("task_create", title="Anything", label="Planning")

    assert sum("waits" in row.announcement.text for row in heard) == 1


OBJECTIONS: dict[str, tuple[Deed, str]] = {
    "red": (lambda r: r.check(1, Checks.RED), "the checks of memory://shop/requests/1 are red"),
    "conflict": (lambda r: r.conflict(1), "conflicts with main"),
    "review": (lambda r: r.review(1, Review.CHANGES_REQUESTED), "asks for changes"),
}


@pytest.mark.parametrize("integration", Integration)
@pytest.mark.parametrize("what", OBJECTIONS)
def test_a_pass_to_which_the_forge_objects_becomes_a_fail(shop: Shop, what: str, integration: Integration) -> None:
    shop.office.change(integration=integration)
    issue = shop.office.testing()
    act, reason = OBJECTIONS[what]
    act(shop.requests)

    answer = shop.passes()

    assert (answer["result"], answer["requested"]) == ("fail", "pass")
    assert reason in answer["reason"]
    assert shop.office.states(issue) == (State.TO_IMPROVE,)
    assert reason in shop.office.comments(issue)[-1]
    assert shop.request(issue).state is RequestState.OPEN


def test_checks_that_turn_red_while_a_pass_waits_make_it_a_fail(shop: Shop) -> None:
    issue = shop.office.testing()
    shop.requests.check(1, Checks.PENDING)
    shop.passes()
    shop.requests.check(1, Checks.RED)

    shop.again()

    assert shop.office.states(issue) == (State.TO_IMPROVE,)


def test_commits_newer_than_the_tested_one_make_it_a_fail(shop: Shop) -> None:
    issue = shop.office.testing()
    newer = shop.office.commit(issue)
    shop.remote[shop.office.branch(issue)] = newer

    answer = shop.passes()

    assert (answer["result"], answer["requested"]) == ("fail", "pass")
    assert newer in answer["reason"]


def test_commits_that_somebody_else_pushed_make_it_a_fail(shop: Shop) -> None:
    issue = shop.office.testing()
    branch = shop.office.branch(issue)
    shop.remote[branch] = shop.repo.record(shop.remote[branch])

    answer = shop.passes()

    assert answer["result"] == "fail"
    assert "there are commits that were not tested" in answer["reason"]
    assert shop.request(issue).state is RequestState.OPEN


def test_a_pass_that_a_person_has_merged_meanwhile_is_done(shop: Shop) -> None:
    issue = shop.office.testing()
    shop.requests.human_merges(1)

    answer = shop.passes()

    assert answer["merged"] == shop.request(issue).merged_as
    assert shop.office.states(issue) == (State.DONE,)


def test_a_merge_of_commits_that_were_not_tested_stays_and_is_said(shop: Shop) -> None:
    issue = shop.office.testing()
    branch = shop.office.branch(issue)
    shop.remote[branch] = shop.repo.record(shop.remote[branch])
    shop.requests.human_merges(1)

    answer = shop.passes()

    assert shop.office.states(issue) == (State.DONE,)
    assert "which was not tested" in answer["warnings"][0]


def test_a_pass_whose_request_somebody_closed_waits_for_a_persons_decision(shop: Shop) -> None:
    issue = shop.office.testing()
    shop.requests.human_closes(1)

    answer = shop.passes()

    assert (answer["result"], answer["requested"]) == ("refine", "pass")
    assert shop.office.states(issue) == (State.REFINING,)
    assert "closed by somebody without a merge" in shop.office.comments(issue)[-1]
    assert "Awaiting human decision" in answer["announcement"]
    assert not shop.office.tracker.get(issue).closed


def test_a_pass_without_a_request_pushes_opens_one_and_waits_for_its_checks(shop: Shop) -> None:
    shop.office.doing()
    shop.repo.refusal = "the remote has a bad day"
    shop.office.done("task_complete", role="dev", result="done")
    shop.office.done("task_pickup", role="qa")
    shop.repo.refusal = ""

    answer = shop.passes()

    assert answer["pending"] is True
    assert "may only begin now" in answer["reason"]
    shop.again()
    assert shop.office.states(1) == (State.DONE,)
    assert shop.request(1).state is RequestState.MERGED


def test_a_pass_whose_branch_cannot_be_pushed_waits_and_says_why(shop: Shop) -> None:
    shop.office.doing()
    shop.repo.refusal = "protected"
    shop.office.done("task_complete", role="dev", result="done")
    shop.office.done("task_pickup", role="qa")

    assert "protected" in shop.passes()["reason"]


def test_a_pass_of_nothing_is_done_without_a_merge(shop: Shop) -> None:
    issue = shop.office.doing(commits=False)
    shop.office.done("task_complete", role="dev", result="done")
    shop.office.done("task_pickup", role="qa")

    answer = shop.passes()

    assert answer["merged"] is None
    assert shop.office.states(issue) == (State.DONE,)


# --- who merges ---


@pytest.mark.parametrize("integration", [Integration.HUMAN, Integration.WORKER])
def test_a_pass_that_others_merge_is_done_once_they_have(shop: Shop, integration: Integration) -> None:
    shop.office.change(integration=integration)
    issue = shop.office.testing()

    answer = shop.passes()
    assert answer["pending"] is True
    assert URL in answer["reason"]
    assert shop.office.states(issue) == (State.TESTING,)

    shop.requests.human_merges(1)
    shop.again()
    assert shop.office.states(issue) == (State.DONE,)


def test_a_waiting_pass_is_merged_when_that_is_devclaws_business_again(shop: Shop) -> None:
    shop.office.change(integration=Integration.HUMAN)
    issue = shop.office.testing()
    shop.passes()

    shop.office.done("project_update", integration="devclaw")
    shop.again()

    assert shop.request(issue).state is RequestState.MERGED


def test_a_branch_that_its_worker_has_merged_is_not_pushed_again(shop: Shop) -> None:
    shop.office.change(integration=Integration.WORKER)
    issue = shop.office.doing()
    branch = shop.office.branch(issue)
    shop.remote[branch] = shop.repo.branches[branch]
    shop.requests.open(branch=branch, base="main", title="Mine", body="")
    shop.requests.human_merges(1)
    del shop.remote[branch]

    answer = shop.office.done("task_complete", role="dev", result="done")
    assert answer["request"]["number"] == 1
    assert branch not in shop.remote

    shop.office.done("task_pickup", role="qa")
    assert shop.passes()["merged"] == shop.request(issue).merged_as


# --- what happens in between ---


def test_an_issue_that_a_keyword_closed_is_open_again_after_a_fail(shop: Shop) -> None:
    issue = shop.office.testing()
    shop.requests.human_merges(1)
    shop.office.tracker.human_closes(issue)

    shop.office.done("task_complete", role="qa", result="fail", summary="No")

    assert not shop.office.tracker.get(issue).closed
    assert shop.office.states(issue) == (State.TO_IMPROVE,)


def test_a_person_who_moves_the_label_wins_and_nothing_is_merged(shop: Shop) -> None:
    issue = shop.office.testing()
    shop.office.tracker.human_moves(issue, "Planning")

    assert shop.office.refused("task_complete", role="qa", result="pass") == "conflict"

    assert shop.request(issue).state is RequestState.OPEN
    assert shop.office.states(issue) == (State.PLANNING,)


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("call", [1, 2])
def test_a_pass_whose_forge_gave_no_answer_is_settled_with_one_merge(shop: Shop, call: int, after: bool) -> None:
    issue = shop.office.testing()
    flaky = shop.flaky()
    flaky.fail(call, after_acting=after)

    answer = shop.passes()
    shop.again()

    assert answer["pending"] is True
    assert shop.request(issue).state is RequestState.MERGED
    assert shop.office.states(issue) == (State.DONE,)
    assert flaky.calls.count("merge") == (2 if (call, after) == (2, False) else 1)


def test_a_refusal_between_plan_and_merge_puts_the_label_back_and_waits(shop: Shop) -> None:
    issue = shop.office.testing()
    flaky = shop.flaky()

    def require() -> None:
        shop.requests.check(1, Checks.PENDING)
        shop.requests.rule(1, "checks are required")

    flaky.before[2] = require

    answer = shop.passes()
    assert answer["pending"] is True
    assert shop.office.states(issue) == (State.TESTING,)

    shop.requests.check(1, Checks.GREEN)
    shop.requests.rule(1, "")
    shop.again()
    assert shop.office.states(issue) == (State.DONE,)


def test_a_pass_that_waits_with_its_label_back_is_planned_anew(shop: Shop) -> None:
    issue = shop.office.testing()
    flaky = shop.flaky()
    flaky.before[2] = lambda: shop.requests.rule(1, "somebody pushes to main")
    shop.passes()
    shop.requests.rule(1, "")
    shop.requests.check(1, Checks.RED)

    shop.again()

    assert shop.office.states(issue) == (State.TO_IMPROVE,)
    assert shop.request(issue).state is RequestState.OPEN


def test_a_push_between_plan_and_merge_makes_it_a_fail(shop: Shop) -> None:
    issue = shop.office.testing()
    flaky = shop.flaky()
    branch = shop.office.branch(issue)

    def push() -> None:
        shop.remote[branch] = shop.repo.record(shop.remote[branch])

    flaky.before[2] = push

    answer = shop.passes()

    assert answer["result"] == "fail"
    assert shop.office.states(issue) == (State.TO_IMPROVE,)


def test_a_person_who_merges_between_plan_and_merge_is_found_out(shop: Shop) -> None:
    issue = shop.office.testing()
    flaky = shop.flaky()
    flaky.before[2] = lambda: shop.requests.human_merges(1)

    assert shop.passes()["merged"] == shop.request(issue).merged_as
    assert shop.office.states(issue) == (State.DONE,)


def test_a_new_branch_begins_where_the_forges_base_branch_stands(shop: Shop) -> None:
    shop.remote["main"] = merged = shop.repo.record(shop.repo.base[-1])
    issue = shop.office.seed()

    shop.office.done("task_pickup", issueId=issue, role="dev")

    assert shop.repo.branches[shop.office.branch(issue)] == merged


@pytest.mark.parametrize(("merged", "state"), [(True, State.DONE), (False, State.REFINING)])
def test_an_issue_closed_before_qa_is_done_if_the_forge_has_merged_its_work(
    shop: Shop, merged: bool, state: State
) -> None:
    issue = shop.office.doing()
    shop.office.done("task_complete", role="dev", result="done")
    if merged:
        shop.requests.human_merges(1)
    shop.office.tracker.human_closes(issue)

    shop.office.done("session_health", autoFix=True)

    assert shop.office.states(issue) == (state,)


def test_new_work_after_a_workers_own_merge_is_pushed_and_requested_anew(shop: Shop) -> None:
    shop.office.change(integration=Integration.WORKER)
    issue = shop.office.testing()
    shop.requests.human_merges(1)
    shop.office.done("task_complete", role="qa", result="fail", summary="No")
    shop.office.done("task_pickup", issueId=issue, role="dev")
    newer = shop.office.commit(issue)

    answer = shop.office.done("task_complete", role="dev", result="done")

    assert answer["request"]["number"] == 2
    assert shop.remote[shop.office.branch(issue)] == newer
