"""Merging tested work into the base branch without a checkout.

`plan` makes objects only. `publish` moves the base branch by exactly one git command, so that a kill leaves either
the old state or the new one:

* The base branch is checked out somewhere: ``git merge --ff-only`` there. Git brings index and files forward first and
  moves the branch last, from the head it found; the branch at the merge commit proves that the checkout has followed.
  Moving the branch first (update-ref, then read-tree) would leave, after a kill in between, a checkout that looks as
  if somebody had undone the merge, and the next ``commit -a`` there would.
* No checkout stands on it: ``git update-ref`` with the old value.

Both refuse when the base is not where the plan was made; that they are repeated after a kill is harmless.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from devclaw_py.errors import RepositoryError
from devclaw_py.kernel.proc import Done
from devclaw_py.work import identity, locks, status
from devclaw_py.work.base import MergeKind, MergePlan
from devclaw_py.work.command import failed, first_line, later
from devclaw_py.work.repo import Repo, Tree

LISTED = 20


@dataclass(frozen=True)
class Merger:
    """Merges of one repository."""

    repo: Repo

    def plan(self, *, branch: str, tested: str, message: str, at: datetime) -> MergePlan:
        """Compute the merge of the tested commit; see the port."""
        base, commit = self.repo.base(), self.repo.commit(tested)
        return self.unmergeable(branch=branch, tested=tested) or self._merge(base, str(commit), message, at)

    def unmergeable(self, *, branch: str, tested: str) -> MergePlan | None:
        """Return why there is nothing to merge, or what is newer; see the port."""
        base, commit = self.repo.base(), self.repo.commit(tested)
        # A branch that somebody deleted after the test began does not take the tested commit with it: its only name
        # is the tester's checkout by then, and a pass without it would leave the work to be collected as garbage.
        head = self.repo.head(branch) or commit
        if commit is None or head is None:
            raise RepositoryError(f"merge {branch}: the tested commit {tested} does not exist in {self.repo.path}")
        if self.repo.contains(base, head) and self.repo.contains(base, commit):
            return MergePlan(kind=MergeKind.NOTHING, base=base, reason=f"{branch} has no commit over the base branch")
        if head != commit:
            return MergePlan(kind=MergeKind.NEWER, base=base, reason=self._newer(branch, head, commit))
        return None

    def publish(self, plan: MergePlan) -> None:
        """Move the base branch from the plan's base to its commit; see the port."""
        if plan.commit is None:
            raise RepositoryError(f"a plan of kind {plan.kind} has no commit to publish; plan the merge again")
        if self.published(plan):
            return

        name = self.repo.base_branch
        found = self.repo.base()
        if found != plan.base:
            raise later(
                f"publish the merge: {name} was at {plan.base[:12]} and is at {found[:12]} now; plan the merge again"
            )
        stands = self._standing()
        if len(stands) > 1:
            raise later(_several(name, stands))
        done = self._follow(stands[0], plan.commit) if stands else self._move(plan)
        if not self.published(plan):
            raise self._refused(plan, stands[0].path if stands else self.repo.path, done)

    def published(self, plan: MergePlan) -> bool:
        """Say whether the plan's commit is the base's head or in its first-parent history."""
        head = self.repo.head(self.repo.base_branch)
        if plan.commit is None or head is None or not self.repo.commit(plan.commit):
            return False
        asked = f"look for {plan.commit[:12]} in {self.repo.base_branch}"
        listed = self.repo.run("rev-list", "--first-parent", f"{plan.base}..{head}", asked=asked).out
        return plan.commit in listed.split()

    def _newer(self, branch: str, head: str, tested: str) -> str:
        if not self.repo.contains(head, tested):
            return f"{branch} was rewritten: its head {head[:12]} does not contain the tested commit {tested[:12]}"
        asked = f"list the commits after {tested[:12]}"
        listed = self.repo.run("log", "--format=%h %s", f"-{LISTED}", f"{tested}..{head}", asked=asked).out
        return f"{branch} has commits after the tested one {tested[:12]}: " + "; ".join(listed.splitlines())

    def _merge(self, base: str, tested: str, message: str, at: datetime) -> MergePlan:
        asked = f"merge {tested[:12]} into {self.repo.base_branch} aside"
        if self.repo.run("merge-base", base, tested, asked=asked, codes=(0, 1)).code:
            return MergePlan(kind=MergeKind.CONFLICT, base=base, reason="the branches have no common history")
        args = ("merge-tree", "--write-tree", "-z", "--name-only", "--no-messages", base, tested)
        done = self.repo.run(*args, asked=asked, codes=(0, 1))
        tree, *paths = filter(None, done.out.split("\0"))
        if done.code:
            found = tuple(dict.fromkeys(paths))
            return MergePlan(kind=MergeKind.CONFLICT, base=base, paths=found, reason=f"conflicts in {', '.join(found)}")

        commit = identity.commit_tree(self.repo, tree, [base, tested], message, at=at)
        return self.waiting(base, commit) or MergePlan(kind=MergeKind.CLEAN, base=base, commit=commit)

    def waiting(self, base: str, commit: str) -> MergePlan | None:
        """Return why the checkout of the base branch could not follow."""
        stands = self._standing()
        if len(stands) > 1:
            return MergePlan(kind=MergeKind.WAITING, base=base, reason=_several(self.repo.base_branch, stands))
        for tree in stands:
            reason, paths = self._obstacle(tree, base, commit)
            if reason:
                return MergePlan(kind=MergeKind.WAITING, base=base, reason=f"{tree.path} {reason}", paths=paths)
        return None

    def _standing(self) -> list[Tree]:
        """Return the checkouts that stand on the base branch, or would return to it after a rebase."""
        return [tree for tree in self.repo.trees() if tree.branch == self.repo.base_branch and tree.alive]

    def _obstacle(self, tree: Tree, base: str, commit: str) -> tuple[str, tuple[str, ...]]:
        if halves := tree.half_done():
            return f"has a half-done {halves[0][0]}; finish or abort it", ()
        if locked := locks.left(tree):
            return "is locked by git; remove the file if no git runs there", tuple(map(str, locked))
        if changed := status.read(self.repo.git, tree.path).tracked:
            return f"has uncommitted changes in {', '.join(changed)}; commit or stash them", changed
        if barred := self._barred(tree, base, commit):
            return f"has files in the way of the merge: {', '.join(barred)}; move them away", barred
        return "", ()

    def _barred(self, tree: Tree, base: str, commit: str) -> tuple[str, ...]:
        """Return the untracked files, ignored ones too, that stand where the merge adds a file."""
        args = ("diff-tree", "-r", "-z", "--no-renames", "--name-only", "--diff-filter=AT", base, commit)
        added = self.repo.run(*args, asked="list what the merge adds").out.split("\0")
        hits = _existing(tree.path, filter(None, added))
        if not hits:
            return ()
        asked = f"look for files in the way in {tree.path}"
        others = ("--literal-pathspecs", "ls-files", "--others", "-z", "--")
        return tuple(filter(None, self.repo.git.run(tree.path, *others, *hits, asked=asked).out.split("\0")))

    def _follow(self, tree: Tree, commit: str) -> Done:
        args = ("--ff-only", "--no-overwrite-ignore", "--no-autostash", "--no-verify-signatures", "--no-stat")
        asked = f"fast-forward {tree.path}"
        return self.repo.git.run(tree.path, "merge", "--quiet", *args, commit, asked=asked, codes=range(256))

    def _move(self, plan: MergePlan) -> Done:
        name = self.repo.base_branch
        # The empty old value stands for "not there": a base branch that so far exists on the remote only.
        old = plan.base if self.repo.head(name) else ""
        args = ("update-ref", "-m", "devclaw: merge", f"refs/heads/{name}", str(plan.commit), old)
        return self.repo.run(*args, asked=f"move {name}", codes=range(256))

    def _refused(self, plan: MergePlan, where: Path, done: Done) -> RepositoryError:
        found = self.repo.base()
        if found != plan.base:
            return later(f"publish the merge: {self.repo.base_branch} moved to {found[:12]} meanwhile; plan it again")
        refusal = failed("publish the merge", where, done)
        return later(f"{refusal}; git named: {_named(done.err)}") if first_line(done.err) else refusal


def _existing(tree: Path, paths: Iterable[str]) -> list[str]:
    """Return what stands at each path, or the file that stands where one of its folders has to be."""
    found: dict[str, None] = {}
    for path in paths:
        parts = path.split("/")
        for count in range(1, len(parts) + 1):
            step = "/".join(parts[:count])
            place = tree / step
            if not os.path.lexists(place):
                break
            if count == len(parts) or place.is_symlink() or not place.is_dir():
                found[step] = None
                break
    return list(found)


def _named(err: str) -> str:
    """Return the file names that git lists under a refusal."""
    return ", ".join(line.strip() for line in err.splitlines() if line.startswith("\t")) or "no file"


def _several(branch: str, stands: Iterable[Tree]) -> str:
    listed = ", ".join(str(tree.path) for tree in stands)
    return f"{branch} is checked out in several places at once: {listed}; leave it in one of them"
