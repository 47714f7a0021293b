"""GitLab's JSON of merge requests, pipelines and approvals, as far as devclaw reads it, and what it becomes."""

from __future__ import annotations

from pydantic import BaseModel, Field

from devclaw_py.model.request import Checks, Request, RequestState, Review

CHECKS = {
    "success": Checks.GREEN,
    "failed": Checks.RED,
    "canceled": Checks.RED,
    "skipped": Checks.NONE,
}
"""A pipeline's status; every other one is of a pipeline that has not ended, or that waits for somebody."""

UNKNOWN = frozenset({"", "unchecked", "checking", "preparing", "approvals_syncing", "cannot_be_merged_recheck"})
CHANGES_REQUESTED = "requested_changes"

OBSTACLES = {
    "conflict": "it conflicts with its base",
    "broken_status": "it conflicts with its base",
    "cannot_be_merged": "it conflicts with its base",
    "draft_status": "it is a draft",
    "ci_must_pass": "its pipeline has to succeed first",
    "ci_still_running": "its pipeline still runs",
    "discussions_not_resolved": "discussions are not resolved",
    "not_approved": "approvals are missing",
    "need_rebase": "its branch has to be brought up to date with the base first",
    "requested_changes": "a reviewer has asked for changes",
    "blocked_status": "another merge request has to be merged first",
    "merge_request_blocked": "another merge request has to be merged first",
    "policies_denied": "a policy of the project is not met",
    "external_status_checks": "an external check has not passed",
    "status_checks_must_pass": "an external check has not passed",
    "locked_paths": "paths that it changes are locked",
    "jira_association_missing": "it names no Jira issue",
    "merge_time": "it may not be merged yet",
}


class RawPipeline(BaseModel):
    """A pipeline. One of a merge request's own runs on a commit that GitLab made of both branches."""

    status: str
    sha: str = ""
    ref: str | None = None


class RawMergeRequest(BaseModel):
    """A merge request; lists leave the pipeline out, and servers before 15.6 ``detailed_merge_status``."""

    iid: int
    web_url: str = ""
    state: str
    source_branch: str
    target_branch: str
    source_project_id: int | None = None
    sha: str | None = None
    draft: bool | None = None
    work_in_progress: bool = False
    has_conflicts: bool = False
    merge_status: str = ""
    detailed_merge_status: str | None = None
    merge_commit_sha: str | None = None
    squash_commit_sha: str | None = None
    head_pipeline: RawPipeline | None = None

    @property
    def status(self) -> str:
        """What GitLab says of merging it now."""
        return self.detailed_merge_status or self.merge_status

    @property
    def open(self) -> bool:
        """Whether it is neither merged nor closed."""
        return self.state in ("opened", "locked")

    def checks(self) -> Checks:
        """Return what the pipeline of the head commit says."""
        pipeline = self.head_pipeline
        if pipeline is None:
            # A pipeline is made a moment after the commit; without this a fresh request would pass for one without.
            early = self.status in ("preparing", "ci_still_running", "ci_must_pass")
            return Checks.PENDING if early else Checks.NONE
        own = (pipeline.ref or "").startswith("refs/merge-requests/")
        if pipeline.sha and self.sha and pipeline.sha != self.sha and not own:
            return Checks.PENDING  # it is of an older commit
        return CHECKS.get(pipeline.status, Checks.PENDING)

    def mergeable(self) -> bool | None:
        """Return whether it conflicts with its base; None while GitLab has not computed it."""
        if self.has_conflicts or OBSTACLES.get(self.status) == OBSTACLES["conflict"]:
            return False
        return None if self.status in UNKNOWN else True

    def request(self) -> Request:
        """Return it without reviews, which are asked for apart."""
        state = RequestState.OPEN if self.open else RequestState.CLOSED
        if self.state == "merged":
            state = RequestState.MERGED
        opened = state is RequestState.OPEN
        return Request(
            number=self.iid,
            url=self.web_url,
            branch=self.source_branch,
            base=self.target_branch,
            head=self.sha or "",
            state=state,
            draft=bool(self.draft or self.work_in_progress),
            checks=self.checks() if opened else Checks.NONE,
            mergeable=self.mergeable() if opened else None,
            reason=OBSTACLES.get(self.status, "") if opened else "",
            # A fast-forward makes no commit of its own.
            merged_as=(self.merge_commit_sha or self.squash_commit_sha or self.sha) if self.state == "merged" else None,
        )


class RawApprover(BaseModel):
    """Somebody who approved."""


class RawApprovals(BaseModel):
    """Who approved; how many are left is told where a rule asks for some."""

    approvals_left: int | None = None
    approved_by: list[RawApprover] = Field(default_factory=list)


def review_of(request: RawMergeRequest, approvals: RawApprovals) -> Review:
    """Return what reviewers say: a refusal before approvals, and those only when none is missing."""
    if request.status == CHANGES_REQUESTED:
        return Review.CHANGES_REQUESTED
    return Review.APPROVED if approvals.approved_by and not approvals.approvals_left else Review.NONE
