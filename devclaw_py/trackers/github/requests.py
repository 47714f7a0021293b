"""Pull requests behind the port: found by their exact branch, merged only at the commit that was tested."""

from __future__ import annotations

from collections.abc import Iterator

from devclaw_py.model.project import Forge
from devclaw_py.model.request import Checks, Request, RequestState, Review
from devclaw_py.rules.requests import disarmed
from devclaw_py.trackers.forge.budget import Spend
from devclaw_py.trackers.forge.client import segments
from devclaw_py.trackers.forge.reply import Reply
from devclaw_py.trackers.github.client import Client
from devclaw_py.trackers.github.refusals import message_of
from devclaw_py.trackers.github.request_shapes import (
    RawCheckRuns,
    RawMerge,
    RawPull,
    RawReview,
    RawStatuses,
    checks_of,
    review_of,
)
from devclaw_py.trackers.github.shapes import RawRepository
from devclaw_py.trackers.requests import NotMerged
from devclaw_py.trackers.text import fitting, one_line, well_formed

BODY_CHARS = 65_536
METHODS = ("merge", "squash", "rebase")


class GitHubRequests:
    """A `RequestProvider` over the pull requests of one repository; forks of it have branches of their own."""

    def __init__(self, client: Client, forge: Forge) -> None:
        self._client, self._forge = client, forge
        self._path = segments("repositories", forge.id)

    def find(self, branch: str) -> Request | None:
        """Return the newest request from exactly ``branch`` of this repository, an open one before others.

        Checks, reviews and whether it can be merged are read for an open one.
        """
        found = list(self._from(branch, self._forge.path.partition("/")[0]))
        if not found:
            # The filter names the owner, who may be another one since the repository was moved or renamed.
            owner = self._repository().owner.login
            if owner.casefold() != self._forge.path.partition("/")[0].casefold():
                found = list(self._from(branch, owner))
        if not found:
            return None
        return self._read(max(found, key=lambda pull: (pull.state == "open", pull.number)).number)

    def open(self, *, branch: str, base: str, title: str, body: str) -> Request:
        """Open a request. Words that would close issues at the merge are taken apart.

        Raises:
            TrackerDenied: there is nothing to merge, or GitHub refuses it.
        """
        reply = self._client.ask(
            "POST",
            f"{self._path}/pulls",
            f"open a pull request from {branch}",
            spend=Spend.BEGIN,
            body={
                "title": disarmed(one_line(title)),
                "body": fitting(disarmed(well_formed(body)), BODY_CHARS),
                "head": branch,
                "base": base,
            },
        )
        return self._client.shaped(RawPull, reply).request()

    def merge(self, number: int, *, head: str) -> Request:
        """Merge it if its head commit is ``head`` still, and return it as it stands afterwards.

        Where the repository does not allow merge commits its other methods are tried. One that is merged at ``head``
        already is returned as it stands.

        Raises:
            NotMerged: the head is another one, or GitHub does not merge it now.
        """
        reply = self._ask_merge(number, head, "merge")
        if reply.status == 405 and "not allowed on this repository" in message_of(reply).lower():
            reply = self._ask_merge(number, head, self._allowed())
        if reply.status < 300:
            merged = self._client.shaped(RawMerge, reply)
            pull = self._pull(number)
            return pull.request().model_copy(update={"state": RequestState.MERGED, "merged_as": merged.sha})
        pull = self._pull(number)
        if pull.merged_at is not None and pull.head.sha == head:
            return pull.request()
        raise NotMerged(
            f"pull request #{number} of {self._forge.path} was not merged at {head[:12]}: {message_of(reply)}",
            hint=pull.obstacle() or "see the pull request",
        )

    def _from(self, branch: str, owner: str) -> Iterator[RawPull]:
        """Yield the requests from the branch, compared here, too: GitHub leaves out a filter it does not understand."""
        asked = {"head": f"{owner}:{branch}", "state": "all", "sort": "created", "direction": "desc"}
        wish = f"list the pull requests from {branch}"
        for page in self._client.pages(RawPull, f"{self._path}/pulls", wish, parameters=asked):
            for pull in page:
                ours = pull.head.repo is None or str(pull.head.repo.id) == self._forge.id
                if pull.head.ref == branch and ours:
                    yield pull

    def _read(self, number: int) -> Request:
        pull = self._pull(number)
        if pull.state != "open":
            return pull.request()
        return pull.request().model_copy(
            update={"checks": self._checks(pull.head.sha), "review": self._review(number), "reason": pull.obstacle()}
        )

    def _pull(self, number: int) -> RawPull:
        return self._client.read(RawPull, self._path + segments("pulls", number), f"read pull request #{number}")

    def _checks(self, commit: str) -> Checks:
        path = self._path + segments("commits", commit)
        runs = [
            run
            for reply in self._client.replies(f"{path}/check-runs", "read checks")
            for run in self._client.shaped(RawCheckRuns, reply).check_runs
        ]
        return checks_of(runs, self._client.read(RawStatuses, f"{path}/status", "read commit statuses"))

    def _review(self, number: int) -> Review:
        path = self._path + segments("pulls", number, "reviews")
        pages = self._client.pages(RawReview, path, "read reviews")
        return review_of(review for page in pages for review in page)

    def _ask_merge(self, number: int, head: str, method: str) -> Reply:
        return self._client.ask(
            "PUT",
            self._path + segments("pulls", number, "merge"),
            f"merge pull request #{number}",
            spend=Spend.FINISH,
            body={"sha": head, "merge_method": method},
            told=frozenset({405, 409, 422}),
        )

    def _allowed(self) -> str:
        found = self._repository()
        allowed = zip(
            METHODS, (found.allow_merge_commit, found.allow_squash_merge, found.allow_rebase_merge), strict=True
        )
        return next((method for method, may in allowed if may), "merge")

    def _repository(self) -> RawRepository:
        return self._client.read(RawRepository, self._path, f"read {self._forge.path}")
