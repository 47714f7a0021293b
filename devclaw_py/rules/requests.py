"""What becomes of tested work whose merge is a forge's: one table over the request as it stands, and its texts."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from devclaw_py.model.pipeline import Integration
from devclaw_py.model.request import Checks, Request, RequestState, Review


class Course(StrEnum):
    """What is to be done for a task that QA passed."""

    DONE = "done"
    MERGE = "merge"
    WAIT = "wait"
    FAIL = "fail"
    REFINE = "refine"
    OPEN = "open"
    PUSH = "push"


@dataclass(frozen=True)
class Verdict:
    """A course and, for people, why."""

    course: Course
    reason: str = ""


def judge(request: Request | None, *, tested: str, own: int | None, integration: Integration) -> Verdict:
    """Say what to do for the tested commit; ``own`` is the number of the request that was noted at DEV's done.

    A request that has ended counts when it is the task's own or was about this very commit; one of an earlier round of
    the same branch does not. PUSH means that its head is another commit, which a push of the tested one may mend.
    """
    if request is None:
        return Verdict(Course.OPEN)
    ours = request.head == tested or request.number == own
    if request.state is RequestState.MERGED:
        return Verdict(Course.DONE) if ours else Verdict(Course.OPEN)
    if request.state is RequestState.CLOSED:
        closed = f"{request.url} was closed by somebody without a merge"
        return Verdict(Course.REFINE, closed) if ours else Verdict(Course.OPEN)
    if request.head != tested:
        newer = f"{request.url} stands at {request.head[:12]}, not at the tested commit {tested[:12]}"
        return Verdict(Course.PUSH, newer)
    return _objection(request) or _delay(request, integration) or Verdict(Course.MERGE)


def _objection(request: Request) -> Verdict | None:
    """Return what only a dev can mend."""
    if request.mergeable is False:
        return Verdict(
            Course.FAIL, f"{request.url} conflicts with {request.base}; merge {request.base} into the branch"
        )
    if request.checks is Checks.RED:
        said = f" ({request.reason})" if request.reason else ""
        return Verdict(Course.FAIL, f"the checks of {request.url} are red{said}")
    if request.review is Review.CHANGES_REQUESTED:
        return Verdict(Course.FAIL, f"a review of {request.url} asks for changes")
    return None


def _delay(request: Request, integration: Integration) -> Verdict | None:
    """Return what time or a person takes away."""
    if request.draft:
        return Verdict(Course.WAIT, f"{request.url} is a draft")
    if request.checks is Checks.PENDING:
        return Verdict(Course.WAIT, f"the checks of {request.url} are under way")
    if integration is Integration.HUMAN:
        return Verdict(Course.WAIT, f"a person merges {request.url}")
    if integration is Integration.WORKER:
        return Verdict(
            Course.WAIT,
            f"{request.url} was left unmerged by its worker; merge it, or set integration to devclaw",
        )
    if request.reason:
        return Verdict(Course.WAIT, f"{request.url} cannot be merged now: {request.reason}")
    if request.mergeable is None:
        return Verdict(Course.WAIT, f"the forge has not said yet whether {request.url} can be merged")
    return None


# The words by which GitHub and GitLab close an issue when a text that has them is merged, and what may follow them.
CLOSING = re.compile(
    r"\b((?:clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing)|implement(?:s|ed|ing)?)\s*:?\s+(?:issues?\s+)?)"
    r"((?:[\w./-]*#\d+|GH-\d+|https?://\S*/issues/\d+)\S*)",
    re.IGNORECASE,
)


def disarmed(text: str) -> str:
    """Return a text whose words close no issue when it is merged.

    >>> disarmed("Fixes #3, closes: acme/shop#4")
    'Fixes (#3,) closes: (acme/shop#4)'
    """
    return CLOSING.sub(r"\1(\2)", text)


def request_title(issue: int, title: str) -> str:
    """Return the title of a task's request."""
    return disarmed(f"{title} (#{issue})")


def request_body(issue: int, summary: str) -> str:
    """Return the text of a task's request: it leads to the issue, which stays open until it is Done."""
    said = f"{disarmed(summary)}\n\n" if summary else ""
    return f"As described in #{issue}.\n\n{said}The issue is closed when QA has passed this and it is merged.\n"
