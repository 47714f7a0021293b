"""The Work port: what devclaw asks of a repository.

Adapters: `work.git` and `work.memory`. Nothing here ever deletes a commit or overwrites an unsaved file.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from devclaw_py.model.base import Value
from devclaw_py.model.finding import Finding
from devclaw_py.model.pipeline import Role, SeatKey, Tier
from devclaw_py.model.project import Project


class Desk(Value):
    """Role and tier of a project: one worktree beside the repository and one session that runs there for good.

    ``number`` is that of the seat: each seat of a role has desks of its own.
    """

    slug: str
    role: Role
    tier: Tier
    number: int = 1
    worktree: Path

    @property
    def key(self) -> SeatKey:
        """The seat that the desk is one of."""
        return SeatKey(self.role, self.number)

    @property
    def session(self) -> str:
        """The session's name."""
        return f"{self.slug}-{desk_name(self.role, self.tier, self.number)}"


def desk_name(role: Role, tier: Tier, number: int) -> str:
    """Return the desk's part of a session's and of a worktree's name.

    >>> desk_name(Role.DEV, Tier.MEDIOR, 1), desk_name(Role.DEV, Tier.MEDIOR, 2)
    ('dev-medior', 'dev-medior-2')
    """
    return f"{role}-{tier}" if number == 1 else f"{role}-{tier}-{number}"


class Rescue(Value):
    """Work that was found where a checkout had to change, and the ref that keeps it."""

    ref: str
    commit: str
    issue: int | None
    what: str


class Prepared(Value):
    """A desk ready for a task.

    ``branch`` is None where qa has no branch to test and stands on the base's head. ``commit`` is what is checked
    out. ``cleared`` names stale lock files of git that were removed.
    """

    branch: str | None
    commit: str
    rescued: tuple[Rescue, ...] = ()
    cleared: tuple[str, ...] = ()


class Kept(Value):
    """What became of the work when a dev says done."""

    commit: str | None
    pushed: bool = False
    warnings: tuple[str, ...] = ()


class MergeKind(StrEnum):
    """What a merge of tested work would do."""

    CLEAN = "clean"
    NOTHING = "nothing"
    CONFLICT = "conflict"
    NEWER = "newer"
    WAITING = "waiting"


class MergePlan(Value):
    """A merge computed aside; nothing of it is visible yet.

    ``base`` is the base branch's head that it builds on, ``commit`` the merge commit. CONFLICT names ``paths``,
    NEWER the commits after the tested one in ``reason``, WAITING why the main checkout cannot follow, NOTHING that
    there is no work to merge.
    """

    kind: MergeKind
    base: str
    commit: str | None = None
    paths: tuple[str, ...] = ()
    reason: str = ""


class Remotes(Value):
    """The remotes of a repository: the address of each as git would fetch from it, secrets and all.

    ``tracked`` is the remote that the branch of the main checkout follows.
    """

    addresses: Mapping[str, str]
    tracked: str | None = None


class Work(Protocol):
    """All git of one machine. Every method raises `RepositoryError` when git refuses or cannot answer."""

    def check(self, project: Project) -> None:
        """Prove that the repository exists, has commits and has the base branch; bare ones are refused."""
        ...

    def desk(self, project: Project, role: Role, tier: Tier, number: int = 1) -> Desk:
        """Return the desk of a role's seat; nothing is made."""
        ...

    def branch(self, project: Project, issue: int, title: str) -> str:
        """Return the task's branch: the existing ``devclaw/<issue>-*``, else the name it would get."""
        ...

    def ensure_desk(self, project: Project, desk: Desk) -> tuple[str, ...]:
        """Make the desk's worktree, detached at the base branch, if missing; return stale git locks it removed."""
        ...

    def prepare_dev(
        self,
        project: Project,
        desk: Desk,
        *,
        issue: int,
        branch: str,
        leaving: tuple[int, int] | None,
        free: frozenset[Path],
    ) -> Prepared:
        """Check the task's branch out at the desk; made from the base branch if it does not exist.

        Unsaved or half-merged work found there is first saved to a rescue ref of ``leaving`` (issue, attempt), the
        task that left it. A branch checked out at another desk in ``free`` is saved and detached there.

        Raises:
            RepositoryError: the branch is checked out in the main checkout, a foreign worktree, or a desk at work.
        """
        ...

    def prepare_qa(self, project: Project, desk: Desk, *, branch: str, leaving: tuple[int, int] | None) -> Prepared:
        """Let the desk stand detached on the branch's head, or on the base's head where there is no branch."""
        ...

    def keep(self, project: Project, desk: Desk, *, branch: str) -> Kept:
        """Fetch and plain push of the branch where there is a remote; warn of no commits or a dirty worktree."""
        ...

    def push(self, project: Project, *, branch: str) -> Kept:
        """Fetch and plain push of the branch, without a look at any desk; a refusal is a warning."""
        ...

    def follow(self, project: Project) -> str:
        """Fetch the base branch and fast-forward to it as `publish` does; say why not, or an empty text."""
        ...

    def remotes(self, project: Project) -> Remotes:
        """Return the repository's remotes."""
        ...

    def plan_merge(self, project: Project, *, branch: str, tested: str, message: str, at: datetime) -> MergePlan:
        """Compute the merge of ``tested`` into the base branch without touching any ref or checkout.

        ``at`` is the merge commit's date: the same plan made again after a crash is the same commit.
        """
        ...

    def unmergeable(self, project: Project, *, branch: str, tested: str) -> MergePlan | None:
        """Return a plan of kind NOTHING or NEWER, as `plan_merge` would; None where there is something to merge."""
        ...

    def publish(self, project: Project, plan: MergePlan) -> None:
        """Move the base branch from ``plan.base`` to ``plan.commit``; fast-forward a clean main checkout on it.

        Raises:
            RepositoryError: the base branch moved meanwhile (``retryable``), or the checkout cannot follow.
        """
        ...

    def published(self, project: Project, plan: MergePlan) -> bool:
        """Say whether exactly ``plan.commit`` is the base's head or in its first-parent history, checkout following."""
        ...

    def merged(self, project: Project, issue: int, *, start: str | None = None) -> bool:
        """Say whether the task's branch exists and is contained in the base branch; not while it is at ``start``."""
        ...

    def diagnose(self, project: Project | None) -> list[Finding]:
        """Return what doctor should say about git and a project's repository."""
        ...
