"""Pull requests in memory, with hands for the people and machines of a test, a demo or a simulation."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from threading import RLock

from devclaw_py.errors import TrackerDenied
from devclaw_py.model.request import Checks, Request, RequestState, Review
from devclaw_py.trackers.requests import NotMerged

Heads = Callable[[str], str | None]
Merge = Callable[[Request], str]


class MemoryRequests:
    """A `RequestProvider` that forgets. Threads may share it.

    ``heads`` answers the tip of a branch of the repository that the requests are about, ``merging`` carries out a
    merge there and returns the new commit; without them the branches are those that `push` was told of.
    The methods `push`, `check`, `review`, `rule`, `conflict` and `human_...` are what others do; the rest is devclaw's.
    """

    def __init__(self, name: str = "memory", *, heads: Heads | None = None, merging: Merge | None = None) -> None:
        self._name, self._heads, self._merging = name, heads, merging
        self._branches: dict[str, str] = {}
        self._requests: dict[int, Request] = {}
        self._texts: dict[int, tuple[str, str]] = {}
        self._rules: dict[int, str] = {}
        self._lock = RLock()

    def find(self, branch: str) -> Request | None:
        """Return the newest request from exactly ``branch``, an open one before others."""
        with self._lock:
            found = [self._now(number) for number, request in self._requests.items() if request.branch == branch]
        found.sort(key=lambda request: (request.state is RequestState.OPEN, request.number))
        return found[-1] if found else None

    def open(self, *, branch: str, base: str, title: str, body: str) -> Request:
        """Open a request.

        Raises:
            TrackerDenied: no such branch, nothing in it, or an open request from it into ``base``.
        """
        with self._lock:
            head = self._head(branch)
            if head is None or head == self._head(base):
                raise TrackerDenied(f"{self._name} has no commits between {base} and {branch}")
            for request in self._requests.values():
                if (request.branch, request.base, request.state) == (branch, base, RequestState.OPEN):
                    raise TrackerDenied(f"{self._name} has request #{request.number} from {branch} already")
            number = len(self._requests) + 1
            url = f"memory://{self._name}/requests/{number}"
            self._requests[number] = Request(
                number=number, url=url, branch=branch, base=base, head=head, state=RequestState.OPEN, mergeable=True
            )
            self._texts[number] = (title, body)
            return self._requests[number]

    def merge(self, number: int, *, head: str) -> Request:
        """Merge it if its head commit is ``head`` still, and return it as it stands afterwards.

        Raises:
            NotMerged: the head is another one, it is closed or a draft, it conflicts, or a rule stands against it.
        """
        with self._lock:
            request = self._request(number)
            if request.head != head:
                raise NotMerged(f"request #{number} stands at {request.head}, not at {head}")
            if request.state is RequestState.MERGED:
                return request
            obstacle = self._obstacle(request)
            if obstacle:
                raise NotMerged(f"{self._name} does not merge request #{number}: {obstacle}")
            return self._merged(request)

    def push(self, branch: str, head: str) -> None:
        """Let ``branch`` stand at ``head``; its open requests follow."""
        with self._lock:
            self._branches[branch] = head

    def check(self, number: int, checks: Checks) -> None:
        """Let the checks of the head commit say ``checks``."""
        self._change(number, checks=checks)

    def review(self, number: int, review: Review) -> None:
        """Let reviewers say ``review``."""
        self._change(number, review=review)

    def rule(self, number: int, reason: str) -> None:
        """Let the forge refuse to merge for ``reason``; an empty one lifts the rule."""
        with self._lock:
            self._rules[number] = reason

    def conflict(self, number: int, mergeable: bool | None = False) -> None:
        """Let the branch conflict with its base, fit again (True), or be not computed yet (None)."""
        self._change(number, mergeable=mergeable)

    def human_drafts(self, number: int, draft: bool = True) -> None:
        """Let a human turn the request into a draft, or make it ready again."""
        self._change(number, draft=draft)

    def human_closes(self, number: int) -> None:
        """Let a human close the request without a merge."""
        self._change(number, state=RequestState.CLOSED)

    def human_merges(self, number: int) -> None:
        """Let a human merge the request as it stands."""
        with self._lock:
            self._merged(self._request(number))

    def text(self, number: int) -> tuple[str, str]:
        """Return title and body of a request."""
        return self._texts[number]

    def _head(self, branch: str) -> str | None:
        return self._heads(branch) if self._heads else self._branches.get(branch)

    def _request(self, number: int) -> Request:
        if number not in self._requests:
            raise TrackerDenied(f"{self._name} has no request #{number}")
        return self._now(number)

    def _now(self, number: int) -> Request:
        request = self._requests[number]
        head = self._head(request.branch)
        if request.state is RequestState.OPEN and head not in (None, request.head):
            # What was said of the old commit does not hold for the new one.
            request = request.model_copy(update={"head": head, "checks": Checks.NONE})
            self._requests[number] = request
        return request.model_copy(update={"reason": self._obstacle(request)})

    def _obstacle(self, request: Request) -> str:
        if request.state is not RequestState.OPEN:
            return "it is closed" if request.state is RequestState.CLOSED else ""
        if request.draft:
            return "it is a draft"
        if request.mergeable is False:
            return "it conflicts with its base"
        return self._rules.get(request.number, "")

    def _merged(self, request: Request) -> Request:
        merged_as = (
            self._merging(request)
            if self._merging
            else hashlib.sha1(f"{request.base} {request.head}".encode(), usedforsecurity=False).hexdigest()
        )
        self._branches[request.base] = merged_as
        update = {"state": RequestState.MERGED, "merged_as": merged_as, "mergeable": None, "reason": ""}
        self._requests[request.number] = request.model_copy(update=update)
        return self._requests[request.number]

    def _change(self, number: int, **changes: object) -> None:
        with self._lock:
            self._requests[number] = self._request(number).model_copy(update=changes)
