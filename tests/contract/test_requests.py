"""What pull and merge requests promise. Only the port is used; what others do in a forge is each forge's `Yard`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import pytest

from devclaw_py.errors import TrackerDenied
from devclaw_py.model.request import RequestState
from devclaw_py.trackers.faulty import FaultyRequests
from devclaw_py.trackers.memory_requests import MemoryRequests
from devclaw_py.trackers.requests import NotMerged, RequestProvider
from tests.forge.emulated import GitHub
from tests.forge.gitlab_hands import GitLab


class Yard(Protocol):
    """One repository on a forge with a branch ``main``, and the hands of whoever pushes to it."""

    requests: RequestProvider

    def commit(self, branch: str) -> str:
        """Push one more commit to ``branch``, made from main where there is none, and return it."""
        ...

    def close(self, number: int) -> None:
        """Close a request as a human does."""
        ...


class MemoryYard:
    def __init__(self) -> None:
        self.forge = MemoryRequests("shop")
        self.requests: RequestProvider = self.forge
        self.forge.push("main", f"{0:040x}")
        self.made = 0

    def commit(self, branch: str) -> str:
        self.made += 1
        self.forge.push(branch, f"{self.made:040x}")
        return f"{self.made:040x}"

    def close(self, number: int) -> None:
        self.forge.human_closes(number)


class FaultyYard(MemoryYard):
    def __init__(self) -> None:
        super().__init__()
        self.requests = FaultyRequests(self.forge)


class GitHubYard:
    def __init__(self, github: GitHub) -> None:
        self.requests: RequestProvider = github.requests()
        self.commit, self.close = github.commit, github.close


class GitLabYard:
    def __init__(self, gitlab: GitLab) -> None:
        self.requests: RequestProvider = gitlab.requests()
        self.commit, self.close = gitlab.commit, gitlab.close


YARDS: dict[str, Callable[[pytest.FixtureRequest], Yard]] = {
    "memory": lambda _: MemoryYard(),
    "faulty": lambda _: FaultyYard(),
    "github": lambda request: GitHubYard(request.getfixturevalue("github")),
    "gitlab": lambda request: GitLabYard(request.getfixturevalue("gitlab")),
}

BRANCH = "devclaw/7-fix-the-login"


@pytest.fixture(params=YARDS)
def yard(request: pytest.FixtureRequest) -> Yard:
    return YARDS[request.param](request)


def opened(yard: Yard, branch: str = BRANCH) -> int:
    return yard.requests.open(branch=branch, base="main", title="Fix the login", body="For #7").number


def test_a_branch_without_a_request_has_none(yard: Yard) -> None:
    yard.commit(BRANCH)

    assert yard.requests.find(BRANCH) is None


def test_a_new_request_is_open_and_stands_at_the_tip_of_its_branch(yard: Yard) -> None:
    tip = yard.commit(BRANCH)

    made = yard.requests.open(branch=BRANCH, base="main", title="Fix the login", body="For #7")

    assert (made.branch, made.base, made.head, made.state) == (BRANCH, "main", tip, RequestState.OPEN)
    assert (made.draft, made.merged_as, made.url != "") == (False, None, True)


def test_a_request_is_found_by_its_branch(yard: Yard) -> None:
    yard.commit(BRANCH)
    number = opened(yard)

    found = yard.requests.find(BRANCH)

    assert found is not None
    assert (found.number, found.branch, found.state) == (number, BRANCH, RequestState.OPEN)


def test_a_branch_whose_name_only_begins_alike_is_another_one(yard: Yard) -> None:
    yard.commit(f"{BRANCH}-again")
    opened(yard, f"{BRANCH}-again")

    assert yard.requests.find(BRANCH) is None


def test_a_request_follows_its_branch(yard: Yard) -> None:
    yard.commit(BRANCH)
    opened(yard)
    tip = yard.commit(BRANCH)

    found = yard.requests.find(BRANCH)

    assert found is not None
    assert found.head == tip


def test_a_second_request_from_a_branch_is_denied(yard: Yard) -> None:
    yard.commit(BRANCH)
    opened(yard)

    with pytest.raises(TrackerDenied):
        opened(yard)


def test_a_request_from_a_branch_that_is_not_there_is_denied(yard: Yard) -> None:
    with pytest.raises(TrackerDenied):
        opened(yard)


def test_a_closed_request_makes_room_for_another_which_is_found(yard: Yard) -> None:
    yard.commit(BRANCH)
    first = opened(yard)
    yard.close(first)
    second = opened(yard)

    found = yard.requests.find(BRANCH)

    assert found is not None
    assert (found.number, found.state) == (second, RequestState.OPEN)


def test_a_closed_request_is_found_where_there_is_no_other(yard: Yard) -> None:
    yard.commit(BRANCH)
    yard.close(opened(yard))

    found = yard.requests.find(BRANCH)

    assert found is not None
    assert found.state is RequestState.CLOSED


def test_a_merged_request_names_the_commit_in_the_base(yard: Yard) -> None:
    tip = yard.commit(BRANCH)

    merged = yard.requests.merge(opened(yard), head=tip)

    assert merged.state is RequestState.MERGED
    assert merged.merged_as not in (None, "", tip)
    assert yard.requests.find(BRANCH) == merged


def test_a_request_is_not_merged_at_another_head(yard: Yard) -> None:
    tip = yard.commit(BRANCH)
    number = opened(yard)
    yard.commit(BRANCH)

    with pytest.raises(NotMerged):
        yard.requests.merge(number, head=tip)

    found = yard.requests.find(BRANCH)
    assert found is not None
    assert found.state is RequestState.OPEN


def test_a_closed_request_is_not_merged(yard: Yard) -> None:
    tip = yard.commit(BRANCH)
    number = opened(yard)
    yard.close(number)

    with pytest.raises(NotMerged):
        yard.requests.merge(number, head=tip)


def test_what_was_merged_already_is_answered_as_it_stands(yard: Yard) -> None:
    tip = yard.commit(BRANCH)
    number = opened(yard)
    merged = yard.requests.merge(number, head=tip)

    assert yard.requests.merge(number, head=tip) == merged
