"""GitHub's JSON of pull requests, checks and reviews, as far as devclaw reads it, and what it becomes."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import AwareDatetime, BaseModel, Field

from devclaw_py.model.request import Checks, Request, RequestState, Review
from devclaw_py.trackers.github.shapes import GHOST, RawUser

PASSED = frozenset({"success", "neutral", "skipped"})

OBSTACLES = {
    "dirty": "it conflicts with its base",
    "draft": "it is a draft",
    "blocked": "a rule of the base branch is not met: reviews or required checks are missing",
    "behind": "its branch has to be brought up to date with the base first",
}


class RawRepo(BaseModel):
    """The repository a branch is in."""

    id: int


class RawBranch(BaseModel):
    """One end of a request; the repository is missing when a fork was deleted."""

    ref: str
    sha: str
    repo: RawRepo | None = None


class RawPull(BaseModel):
    """A pull request; lists leave ``mergeable`` and ``mergeable_state`` out."""

    number: int
    html_url: str = ""
    state: str
    draft: bool = False
    head: RawBranch
    base: RawBranch
    merged_at: AwareDatetime | None = None
    merge_commit_sha: str | None = None
    mergeable: bool | None = None
    mergeable_state: str = "unknown"

    def obstacle(self) -> str:
        """Return what stands in the way of a merge, as far as GitHub says it."""
        return OBSTACLES.get(self.mergeable_state, "") if self.state == "open" else ""

    def request(self) -> Request:
        """Return it without checks and reviews, which are asked for apart."""
        state = RequestState.OPEN if self.state == "open" else RequestState.CLOSED
        if self.merged_at is not None:
            state = RequestState.MERGED
        return Request(
            number=self.number,
            url=self.html_url,
            branch=self.head.ref,
            base=self.base.ref,
            head=self.head.sha,
            state=state,
            draft=self.draft,
            mergeable=self.mergeable if state is RequestState.OPEN else None,
            # Before the merge it is a commit that GitHub tried out.
            merged_as=self.merge_commit_sha if state is RequestState.MERGED else None,
        )


class RawMerge(BaseModel):
    """What a merge answers."""

    sha: str


class RawCheckRun(BaseModel):
    """The newest run of one check."""

    status: str
    conclusion: str | None = None


class RawCheckRuns(BaseModel):
    """A page of check runs."""

    check_runs: list[RawCheckRun] = Field(default_factory=list)


class RawStatuses(BaseModel):
    """The statuses of a commit taken together; without any GitHub calls that pending."""

    state: str
    total_count: int = 0


class RawReview(BaseModel):
    """A review."""

    user: RawUser | None = None
    state: str


def checks_of(runs: Iterable[RawCheckRun], statuses: RawStatuses) -> Checks:
    """Return what all checks say together: one that failed makes it red, one that runs still makes it wait."""
    found = {_run(run) for run in runs}
    if statuses.total_count:
        found.add({"success": Checks.GREEN, "pending": Checks.PENDING}.get(statuses.state, Checks.RED))
    return next((checks for checks in (Checks.RED, Checks.PENDING, Checks.GREEN) if checks in found), Checks.NONE)


def review_of(reviews: Iterable[RawReview]) -> Review:
    """Return what reviewers say, oldest review first: each one's last decision counts, a refusal before approvals."""
    decided: dict[str, str] = {}
    for review in reviews:
        if review.state in ("APPROVED", "CHANGES_REQUESTED", "DISMISSED"):
            decided[review.user.login if review.user else GHOST] = review.state
    if "CHANGES_REQUESTED" in decided.values():
        return Review.CHANGES_REQUESTED
    return Review.APPROVED if "APPROVED" in decided.values() else Review.NONE


def _run(run: RawCheckRun) -> Checks:
    if run.status != "completed":
        return Checks.PENDING
    return Checks.GREEN if run.conclusion in PASSED else Checks.RED
