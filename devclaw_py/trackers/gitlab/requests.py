"""Merge requests behind the port: found by their exact branch, merged only at the commit that was tested."""

from __future__ import annotations

from collections.abc import Iterator

from devclaw_py.errors import TrackerDenied, TrackerUnavailable
from devclaw_py.model.project import Forge
from devclaw_py.model.request import Request, Review
from devclaw_py.rules.requests import disarmed
from devclaw_py.trackers.forge.budget import Spend
from devclaw_py.trackers.forge.client import segments
from devclaw_py.trackers.gitlab.client import GitLabClient
from devclaw_py.trackers.gitlab.commands import plain_text
from devclaw_py.trackers.gitlab.refusals import message_of
from devclaw_py.trackers.gitlab.request_shapes import OBSTACLES, RawApprovals, RawMergeRequest, review_of
from devclaw_py.trackers.requests import NotMerged
from devclaw_py.trackers.text import fitting, one_line, well_formed

BODY_CHARS = 1_000_000

# 401 is GitLab's answer to an account that may not merge into the branch; the token itself is good.
UNMERGED = frozenset({401, 405, 406, 409, 422})


class GitLabRequests:
    """A `RequestProvider` over the merge requests of one project; forks of it have branches of their own."""

    def __init__(self, client: GitLabClient, forge: Forge) -> None:
        self._client, self._forge = client, forge
        self._path = f"{segments('projects', forge.id)}/merge_requests"

    def find(self, branch: str) -> Request | None:
        """Return the newest request from exactly ``branch`` of this project, an open one before others.

        Its pipeline and approvals are read for an open one.
        """
        found = list(self._from(branch))
        return self._read(max(found, key=lambda each: (each.open, each.iid)).iid) if found else None

    def open(self, *, branch: str, base: str, title: str, body: str) -> Request:
        """Open a request. Words that would close issues at the merge are taken apart, and so are quick actions.

        Raises:
            TrackerDenied: there is no such branch or an open request from it, or GitLab refuses it.
        """
        made = {
            "source_branch": branch,
            "target_branch": base,
            "title": disarmed(one_line(title)),
            "description": fitting(plain_text(disarmed(well_formed(body))), BODY_CHARS),
        }
        wish = f"open a merge request from {branch}"
        reply = self._client.ask("POST", self._path, wish, spend=Spend.BEGIN, body=made)
        return self._client.shaped(RawMergeRequest, reply).request()

    def merge(self, number: int, *, head: str) -> Request:
        """Merge it if its head commit is ``head`` still, and return it as it stands afterwards.

        One that is merged at ``head`` already is returned as it stands.

        Raises:
            NotMerged: the head is another one, or GitLab does not merge it now.
            TrackerDenied: the account may not merge into the base.
        """
        path, wish = self._path + segments(number, "merge"), f"merge merge request !{number}"
        reply = self._client.ask("PUT", path, wish, spend=Spend.FINISH, body={"sha": head}, told=UNMERGED)
        found = self._found(number)
        if found.state == "merged" and found.sha == head:
            return found.request()
        if reply.status == 401:
            raise TrackerDenied(
                f"{self._client.where} does not let the account merge into {found.target_branch} of {self._forge.path}",
                hint="allow it in the settings of protected branches, or give it the role Maintainer",
            )
        if reply.status < 300:
            raise TrackerUnavailable(f"merge request !{number} of {self._forge.path} is still being merged")
        raise NotMerged(
            f"merge request !{number} of {self._forge.path} was not merged at {head[:12]}: {message_of(reply)}",
            hint=OBSTACLES.get(found.status) or "see the merge request",
        )

    def _from(self, branch: str) -> Iterator[RawMergeRequest]:
        """Yield the requests from the branch, compared here, too."""
        asked = {"source_branch": branch, "state": "all", "scope": "all", "order_by": "created_at", "sort": "desc"}
        wish = f"list the merge requests from {branch}"
        for page in self._client.pages(RawMergeRequest, self._path, wish, parameters=asked):
            for raw in page:
                if raw.source_branch == branch and str(raw.source_project_id) == self._forge.id:
                    yield raw

    def _read(self, number: int) -> Request:
        found = self._found(number)
        request = found.request()
        return request.model_copy(update={"review": self._review(found)}) if found.open else request

    def _found(self, number: int) -> RawMergeRequest:
        return self._client.read(RawMergeRequest, self._path + segments(number), f"read merge request !{number}")

    def _review(self, found: RawMergeRequest) -> Review:
        path = self._path + segments(found.iid, "approvals")
        return review_of(found, self._client.read(RawApprovals, path, f"read the approvals of !{found.iid}"))
