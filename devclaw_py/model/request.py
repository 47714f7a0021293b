"""A pull or merge request, as both forges report it."""

from __future__ import annotations

from enum import StrEnum

from devclaw_py.model.base import Value


class RequestState(StrEnum):
    """Where a request stands."""

    OPEN = "open"
    CLOSED = "closed"
    MERGED = "merged"


class Checks(StrEnum):
    """What the forge's checks say of the request's head commit. NONE: there are none."""

    NONE = "none"
    PENDING = "pending"
    GREEN = "green"
    RED = "red"


class Review(StrEnum):
    """What reviewers said; NONE where nobody decided."""

    NONE = "none"
    APPROVED = "approved"
    CHANGES_REQUESTED = "changes-requested"


class Request(Value):
    """One request. ``head`` is the commit at the tip of ``branch``; ``merged_as`` the commit that is in the base.

    ``mergeable`` is None while the forge has not computed it: that is not a no. ``reason`` is what the forge says
    where it would not merge.
    """

    number: int
    url: str
    branch: str
    base: str
    head: str
    state: RequestState
    draft: bool = False
    checks: Checks = Checks.NONE
    review: Review = Review.NONE
    mergeable: bool | None = None
    reason: str = ""
    merged_as: str | None = None
