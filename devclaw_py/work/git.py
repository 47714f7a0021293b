"""The Work port over the git program."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from devclaw_py.kernel.clock import Clock, SystemClock
from devclaw_py.model.finding import Finding
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.project import Project
from devclaw_py.model.settings import TimeoutSettings
from devclaw_py.rules.slug import slug
from devclaw_py.work import desks, doctor, keep
from devclaw_py.work.base import Desk, Kept, MergePlan, Prepared, Remotes, desk_name
from devclaw_py.work.command import Git
from devclaw_py.work.desks import Desks
from devclaw_py.work.merge import Merger
from devclaw_py.work.repo import REMOTE, Repo, open_repo


class GitWork:
    """All git of one machine; ``environ`` None means this process's environment at each call."""

    def __init__(
        self, timeouts: TimeoutSettings, *, clock: Clock | None = None, environ: Mapping[str, str] | None = None
    ) -> None:
        self.git, self.clock = Git(timeouts.git_s, environ), clock or SystemClock()

    def check(self, project: Project) -> None:
        """Prove that the repository can be worked in; see the port."""
        doctor.check(self.git, project)

    def desk(self, project: Project, role: Role, tier: Tier, number: int = 1) -> Desk:
        """Return the desk; nothing is made."""
        worktree = desks.folder(project.repo_path.resolve()) / desk_name(role, tier, number)
        return Desk(slug=project.slug or slug(project.name), role=role, tier=tier, number=number, worktree=worktree)

    def branch(self, project: Project, issue: int, title: str) -> str:
        """Return the task's branch; one that exists keeps its name when the title changes."""
        return _existing(self._repo(project), issue) or f"devclaw/{issue}-{slug(title)}"

    def ensure_desk(self, project: Project, desk: Desk) -> tuple[str, ...]:
        """Make the desk's worktree if missing; see the port."""
        return self._desks(project).ensure(desk.worktree)

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
        """Check the task's branch out at the desk; see the port."""
        return self._desks(project).for_dev(desk.worktree, issue=issue, branch=branch, leaving=leaving, free=free)

    def prepare_qa(self, project: Project, desk: Desk, *, branch: str, leaving: tuple[int, int] | None) -> Prepared:
        """Let the desk stand detached on what is to be tested; see the port."""
        return self._desks(project).for_qa(desk.worktree, branch=branch, leaving=leaving)

    def keep(self, project: Project, desk: Desk, *, branch: str) -> Kept:
        """Push the branch where there is a remote; see the port."""
        return keep.keep(self._repo(project), desk.worktree, branch, remote=_remote(project))

    def push(self, project: Project, *, branch: str) -> Kept:
        """Push the branch where there is a remote; see the port."""
        return keep.push(self._repo(project), branch, remote=_remote(project))

    def follow(self, project: Project) -> str:
        """Bring the base branch to where the remote has it; see the port."""
        return keep.follow(self._repo(project), remote=_remote(project))

    def remotes(self, project: Project) -> Remotes:
        """Return the repository's remotes; see the port."""
        return keep.remotes(self._repo(project))

    def plan_merge(self, project: Project, *, branch: str, tested: str, message: str, at: datetime) -> MergePlan:
        """Compute the merge aside; see the port."""
        return Merger(self._repo(project)).plan(branch=branch, tested=tested, message=message, at=at)

    def unmergeable(self, project: Project, *, branch: str, tested: str) -> MergePlan | None:
        """Return why there is nothing to merge, or what is newer; see the port."""
        return Merger(self._repo(project)).unmergeable(branch=branch, tested=tested)

    def publish(self, project: Project, plan: MergePlan) -> None:
        """Move the base branch; see the port."""
        Merger(self._repo(project)).publish(plan)

    def published(self, project: Project, plan: MergePlan) -> bool:
        """Say whether the plan was carried out; see the port."""
        return Merger(self._repo(project)).published(plan)

    def merged(self, project: Project, issue: int, *, start: str | None = None) -> bool:
        """Say whether the task's branch exists and is contained in the base branch; not while it is at ``start``."""
        repo = self._repo(project)
        name = _existing(repo, issue)
        head = repo.head(name) if name else None
        return head not in (None, start) and repo.contains(repo.base(), head)

    def diagnose(self, project: Project | None) -> list[Finding]:
        """Return what doctor should say about git and a project's repository."""
        return doctor.diagnose(self.git, project)

    def _repo(self, project: Project) -> Repo:
        return open_repo(self.git, project)

    def _desks(self, project: Project) -> Desks:
        return Desks(self._repo(project), self.clock)


def _remote(project: Project) -> str | None:
    """Return the remote that named the project's forge: there are its requests, so there its branches belong."""
    return project.forge.remote if project.forge is not None else None


def _existing(repo: Repo, issue: int) -> str | None:
    """Return the branch of an issue, local before remote, the last committed first."""
    roots = ("refs/heads/", f"refs/remotes/{REMOTE}/")
    args = ("for-each-ref", "--sort=-committerdate", "--format=%(refname)")
    patterns = (f"{root}devclaw/{issue}-*" for root in roots)
    found = repo.run(*args, *patterns, asked=f"look for the branch of issue {issue}").out.split()
    named = (name.removeprefix(root) for root in roots for name in found if name.startswith(root))
    return next(named, None)
