"""Repositories that exist in memory: the Work port for flow tests, the demo and the simulator.

What people, workers and remotes do to a repository is done to `MemoryRepo` by hand: `commit`, `edit`, `rewrite`,
and the fields that say what the next merge or push meets.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count
from pathlib import Path

from devclaw_py.errors import RepositoryError
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.project import Project
from devclaw_py.rules.slug import slug
from devclaw_py.work.base import Desk, Kept, MergeKind, MergePlan, Prepared, Remotes, Rescue, desk_name
from devclaw_py.work.command import later

FIRST = hashlib.sha1(b"commit 1", usedforsecurity=False).hexdigest()


@dataclass
class MemoryRepo:
    """One repository. ``base`` is the base branch's first-parent history, oldest first; ``branches``
    hold their heads, ``desks`` the branch and commit checked out at each."""

    base: list[str] = field(default_factory=lambda: [FIRST])
    parents: dict[str, tuple[str, ...]] = field(default_factory=lambda: {FIRST: ()})
    branches: dict[str, str] = field(default_factory=dict)
    desks: dict[Path, tuple[str | None, str]] = field(default_factory=dict)
    unsaved: dict[Path, str] = field(default_factory=dict)
    foreign: dict[str, Path] = field(default_factory=dict)
    stale: dict[Path, tuple[str, ...]] = field(default_factory=dict)
    conflicts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    waiting: str = ""
    remote: dict[str, str] | None = None
    addresses: dict[str, str] = field(default_factory=dict)
    refusal: str = ""
    broken: str = ""
    rescues: list[Rescue] = field(default_factory=list)
    prepared: list[Prepared] = field(default_factory=list)
    publications: list[MergePlan] = field(default_factory=list)

    def commit(self, branch: str) -> str:
        """Make a commit on a branch, as a worker does."""
        self.branches[branch] = self.record(self.branches[branch])
        for desk, (name, _) in self.desks.items():
            if name == branch:
                self.desks[desk] = (name, self.branches[branch])
        return self.branches[branch]

    def commit_on_base(self) -> str:
        """Make a commit on the base branch, as a person does."""
        self.base.append(self.record(self.base[-1]))
        return self.base[-1]

    def rewrite(self, branch: str) -> str:
        """Replace a branch's commits by another one, as an amend or a rebase does."""
        self.branches[branch] = self.record(self.base[-1])
        return self.branches[branch]

    def edit(self, desk: Path, what: str = "1 changed files") -> None:
        """Leave uncommitted work at a desk."""
        self.unsaved[desk] = what

    def record(self, *parents: str) -> str:
        """Return a new commit."""
        name = hashlib.sha1(f"commit {len(self.parents) + 1}".encode(), usedforsecurity=False).hexdigest()
        self.parents[name] = parents
        return name

    def contains(self, commit: str, older: str) -> bool:
        """Say whether ``older`` is in the history of ``commit``."""
        return commit == older or any(self.contains(parent, older) for parent in self.parents[commit])


class MemoryWork:
    """All repositories of a pretended machine, made when first asked for."""

    def __init__(self) -> None:
        self.repos: dict[Path, MemoryRepo] = {}

    def repo(self, project: Project) -> MemoryRepo:
        """Return a project's repository; unlike the port's methods it never fails."""
        return self.repos.setdefault(project.repo_path, MemoryRepo())

    def check(self, project: Project) -> None:
        """Raise what the repository's ``broken`` says, if anything."""
        self._open(project)

    def desk(self, project: Project, role: Role, tier: Tier, number: int = 1) -> Desk:
        """Return the desk; nothing is made."""
        worktree = project.repo_path.with_name(f"{project.repo_path.name}.worktrees") / desk_name(role, tier, number)
        return Desk(slug=project.slug or slug(project.name), role=role, tier=tier, number=number, worktree=worktree)

    def branch(self, project: Project, issue: int, title: str) -> str:
        """Return the existing branch of the issue, else the name it would get."""
        return _existing(self._open(project), issue) or f"devclaw/{issue}-{slug(title)}"

    def ensure_desk(self, project: Project, desk: Desk) -> tuple[str, ...]:
        """Make the desk if missing; return the stale locks that a test put there."""
        repo = self._open(project)
        repo.desks.setdefault(desk.worktree, (None, repo.base[-1]))
        return repo.stale.pop(desk.worktree, ())

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
        """Let the desk stand on the branch."""
        repo, cleared = self._open(project), self.ensure_desk(project, desk)
        if repo.desks[desk.worktree][0] == branch:
            return _log(repo, Prepared(branch=branch, commit=repo.branches[branch], cleared=cleared))

        holder = next((path for path, (name, _) in repo.desks.items() if name == branch), repo.foreign.get(branch))
        if holder is not None and (holder not in repo.desks or holder not in free):
            raise RepositoryError(
                f"{branch} is checked out in {holder}; check out another branch there, then call again"
            )
        rescued: tuple[Rescue, ...] = ()
        if holder is not None:
            task = leaving if leaving and leaving[0] == issue else (issue, 0)
            rescued += _leave(repo, holder, task)
            repo.desks[holder] = (None, repo.branches[branch])
        repo.branches.setdefault(branch, repo.base[-1])
        rescued += _leave(repo, desk.worktree, leaving)
        repo.desks[desk.worktree] = (branch, repo.branches[branch])
        return _log(repo, Prepared(branch=branch, commit=repo.branches[branch], rescued=rescued, cleared=cleared))

    def prepare_qa(self, project: Project, desk: Desk, *, branch: str, leaving: tuple[int, int] | None) -> Prepared:
        """Let the desk stand detached on the branch's head or the base's."""
        repo, cleared = self._open(project), self.ensure_desk(project, desk)
        rescued = _leave(repo, desk.worktree, leaving)
        commit = repo.branches.get(branch, repo.base[-1])
        repo.desks[desk.worktree] = (None, commit)
        named = branch if branch in repo.branches else None
        return _log(repo, Prepared(branch=named, commit=commit, rescued=rescued, cleared=cleared))

    def keep(self, project: Project, desk: Desk, *, branch: str) -> Kept:
        """Push to the pretended remote; warn as git would."""
        repo = self._open(project)
        commit = repo.branches.get(branch)
        if commit is None:
            return Kept(commit=None, warnings=(f"the branch {branch} does not exist; there is no work to keep",))
        warnings = [] if not repo.contains(repo.base[-1], commit) else [f"{branch} has no commit over the base branch"]
        if desk.worktree in repo.unsaved:
            warnings.append(f"the desk {desk.worktree} has uncommitted changes: {repo.unsaved[desk.worktree]}")
        pushed = self.push(project, branch=branch)
        return pushed.model_copy(update={"warnings": (*warnings, *pushed.warnings)})

    def push(self, project: Project, *, branch: str) -> Kept:
        """Push to the pretended remote, which refuses what `MemoryRepo` says or what it would lose."""
        repo = self._open(project)
        commit = repo.branches.get(branch)
        if commit is None:
            return Kept(commit=None, warnings=(f"the branch {branch} does not exist; there is no work to keep",))
        if repo.remote is None:
            return Kept(commit=commit)
        there = repo.remote.get(branch)
        refusal = repo.refusal or ("non-fast-forward" if there and not repo.contains(commit, there) else "")
        if refusal:
            return Kept(commit=commit, warnings=(f"{branch} was not pushed: {refusal}",))
        repo.remote[branch] = commit
        return Kept(commit=commit, pushed=True)

    def follow(self, project: Project) -> str:
        """Let the base branch follow the pretended remote, forward only."""
        repo = self._open(project)
        there = (repo.remote or {}).get(project.base_branch)
        if there is None or repo.contains(repo.base[-1], there):
            return ""
        if repo.waiting or not repo.contains(there, repo.base[-1]):
            return f"{project.base_branch} was not brought forward: {repo.waiting or 'it has commits of its own'}"
        repo.base.append(there)
        return ""

    def remotes(self, project: Project) -> Remotes:
        """Return the addresses that a test gave the repository."""
        return Remotes(addresses=self._open(project).addresses)

    def plan_merge(self, project: Project, *, branch: str, tested: str, message: str, at: datetime) -> MergePlan:
        """Return the plan that the repository's scripted fields ask for."""
        repo, odd = self._open(project), self.unmergeable(project, branch=branch, tested=tested)
        base = repo.base[-1]
        if odd is not None:
            return odd
        if paths := repo.conflicts.get(branch):
            return MergePlan(kind=MergeKind.CONFLICT, base=base, paths=paths, reason=f"conflicts in {', '.join(paths)}")
        if repo.waiting:
            return MergePlan(kind=MergeKind.WAITING, base=base, reason=repo.waiting)
        return MergePlan(kind=MergeKind.CLEAN, base=base, commit=repo.record(base, tested))

    def unmergeable(self, project: Project, *, branch: str, tested: str) -> MergePlan | None:
        """Return why there is nothing to merge, or what is newer."""
        repo = self._open(project)
        base, head = repo.base[-1], repo.branches.get(branch, tested)
        if repo.contains(base, head) and repo.contains(base, tested):
            return MergePlan(kind=MergeKind.NOTHING, base=base, reason=f"{branch} has no commit over the base branch")
        if head != tested:
            return MergePlan(kind=MergeKind.NEWER, base=base, reason=_newer(repo, branch, tested))
        return None

    def publish(self, project: Project, plan: MergePlan) -> None:
        """Move the base branch; a second time changes nothing."""
        repo = self._open(project)
        if plan.commit is None:
            raise RepositoryError(f"a plan of kind {plan.kind} has no commit to publish; plan the merge again")
        if plan.commit in repo.base:
            return
        if repo.base[-1] != plan.base:
            raise later(f"publish the merge: the base was at {plan.base} and is at {repo.base[-1]}; plan it again")
        if repo.waiting:
            raise later(f"publish the merge: {repo.waiting}")
        repo.base.append(plan.commit)
        repo.publications.append(plan)

    def published(self, project: Project, plan: MergePlan) -> bool:
        """Say whether the plan's commit is in the base's first-parent history."""
        return plan.commit in self._open(project).base

    def merged(self, project: Project, issue: int, *, start: str | None = None) -> bool:
        """Say whether the task's branch exists and is contained in the base branch; not while it is at ``start``."""
        repo = self._open(project)
        head = repo.branches.get(_existing(repo, issue) or "")
        return head not in (None, start) and repo.contains(repo.base[-1], head)

    def diagnose(self, project: Project | None) -> list[Finding]:
        """Say that all is well, or what is ``broken``."""
        broken = self.repo(project).broken if project else ""
        severity = Severity.CRITICAL if broken else Severity.OK
        return [Finding(type="repository", severity=severity, message=broken or "repositories are kept in memory")]

    def _open(self, project: Project) -> MemoryRepo:
        repo = self.repo(project)
        if repo.broken:
            raise RepositoryError(repo.broken)
        return repo


def _existing(repo: MemoryRepo, issue: int) -> str | None:
    return next((name for name in repo.branches if name.startswith(f"devclaw/{issue}-")), None)


def _leave(repo: MemoryRepo, desk: Path, task: tuple[int, int] | None) -> tuple[Rescue, ...]:
    """Save what is unsaved at a desk."""
    what = repo.unsaved.pop(desk, None)
    if what is None:
        return ()
    issue, attempt = task or (0, 0)
    prefix = f"refs/devclaw/rescue/{issue}/{attempt}-"
    taken = {rescue.ref for rescue in repo.rescues}
    ref = next(name for number in count(1) if (name := f"{prefix}{number}") not in taken)
    commit = repo.record(repo.desks[desk][1])
    rescue = Rescue(ref=ref, commit=commit, issue=task[0] if task else None, what=what)
    repo.rescues.append(rescue)
    return (rescue,)


def _newer(repo: MemoryRepo, branch: str, tested: str) -> str:
    head = repo.branches[branch]
    if not repo.contains(head, tested):
        return f"{branch} was rewritten: its head {head} does not contain the tested commit {tested}"
    return f"{branch} has commits after the tested one {tested}: {head}"


def _log(repo: MemoryRepo, prepared: Prepared) -> Prepared:
    repo.prepared.append(prepared)
    return prepared
