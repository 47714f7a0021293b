"""Saving work before a checkout changes.

A rescue is one commit under ``refs/devclaw/rescue/``. Its tree is the checkout as it was, untracked files included;
its parents are HEAD and every commit that a half-done operation held: the other side of a merge, the commits that a
rebase was to move, an autostash, the staged version where it differs, and the operation's own files.

Only when the ref is there does the checkout follow it, and then by ordinary git alone: HEAD and index are put on the
rescue commit, which changes no file because that commit *is* the checkout. What comes next is a plain `git checkout`
from a clean tree, with all of git's own refusals: a file that was written meanwhile stops it.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.errors import RepositoryError
from devclaw_py.kernel.clock import Clock, timestamp
from devclaw_py.work import identity, status
from devclaw_py.work.base import Rescue
from devclaw_py.work.repo import Repo, Tree
from devclaw_py.work.status import Status

PREFIX = "refs/devclaw/rescue"

# Files of a half-done operation that name commits which may be reachable from nowhere else.
LOOSE_ENDS = (
    "MERGE_HEAD",
    "MERGE_AUTOSTASH",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "REBASE_HEAD",
    "rebase-merge/orig-head",
    "rebase-merge/autostash",
    "rebase-apply/orig-head",
    "rebase-apply/autostash",
)

# Folders of a half-done operation that hold what no commit does: the patches still to apply, the list of steps.
STATE_FOLDERS = ("rebase-merge", "rebase-apply", "sequencer")


@dataclass(frozen=True)
class Rescuer:
    """Saves work of one repository; ``task`` is the issue and attempt that left it, None when nobody knows."""

    repo: Repo
    clock: Clock
    task: tuple[int, int] | None

    def save(self, tree: Tree) -> Rescue | None:
        """Save what a change of the checkout would lose and let the checkout stand on it; None if there is nothing.

        Raises:
            RepositoryError: git could not answer, or there is work that no commit can hold; nothing was changed.
        """
        found = status.read(self.repo.git, tree.path)
        if found.alien:
            raise RepositoryError(
                f"{tree.path} holds work that cannot be saved from outside: {', '.join(found.alien)} "
                "(a repository of its own); commit and push there or move it away, then call again"
            )
        what = self._what(tree, found)
        if not what:
            return None

        clean = not found.dirty and not tree.half_done()
        commit = tree.head if clean else self._commit(tree, found, what)
        rescue = self._keep(commit, what)
        self._settle(tree, commit)
        return rescue

    def _what(self, tree: Tree, found: Status) -> str:
        parts = [f"a half-done {name}" for name, _ in tree.half_done()]
        if found.tracked:
            parts.append(f"{len(found.tracked)} changed files")
        if found.untracked:
            parts.append(f"{len(found.untracked)} untracked files")
        if tree.head and not tree.attached and (alone := self._unreachable(tree.head)):
            parts.append(f"{alone} commits on no branch")
        return ", ".join(parts)

    def _unreachable(self, commit: str) -> int:
        """Count the commits that only a detached HEAD holds."""
        known = ("--branches", "--tags", "--remotes", "--glob=refs/devclaw/*")
        counted = self.repo.run("rev-list", "--count", commit, "--not", *known, asked="look for commits on no branch")
        return int(counted.out)

    def _commit(self, tree: Tree, found: Status, what: str) -> str:
        with borrowed_index(tree) as index:
            staged = self._write_tree(tree, index) if found.staged and not found.unmerged else None
            asked = f"save the files of {tree.path}"
            self.repo.git.run(tree.path, "-c", "add.ignoreErrors=false", "add", "-A", asked=asked, extra=index)
            files = self._write_tree(tree, index)

        parents = [tree.head] if tree.head else []
        if staged not in (None, files):
            parents.append(self._record(str(staged), parents, "what was staged"))
        parents += self._loose_ends(tree)
        parents += self._states(tree)
        return self._record(files, list(dict.fromkeys(parents)), what)

    def _write_tree(self, tree: Tree, extra: Mapping[str, str]) -> str:
        asked = f"save the index of {tree.path}"
        return self.repo.git.run(tree.path, "write-tree", asked=asked, extra=extra).out.strip()

    def _record(self, tree_id: str, parents: list[str], what: str) -> str:
        issue, attempt = self.task or (0, 0)
        at = timestamp(self.clock.now())
        message = f"devclaw rescue: {what}\n\nIssue: {issue}\nAttempt: {attempt}\nAt: {at}\n"
        return identity.commit_tree(self.repo, tree_id, parents, message)

    def _loose_ends(self, tree: Tree) -> list[str]:
        """Return the commits that the half-done operation's files name."""
        found: list[str] = []
        for name in LOOSE_ENDS:
            file = tree.gitdir / name
            if file.exists():
                found += [commit for word in file.read_text().split() if (commit := self.repo.commit(word))]
        return found

    def _states(self, tree: Tree) -> list[str]:
        """Return one commit for each folder of the half-done operation, its files in the tree."""
        found: list[str] = []
        for folder in filter(Path.is_dir, (tree.gitdir / name for name in STATE_FOLDERS)):
            with tempfile.TemporaryDirectory(prefix="devclaw-") as aside:
                extra = {
                    "GIT_DIR": str(self.repo.common),
                    "GIT_WORK_TREE": str(folder),
                    "GIT_INDEX_FILE": str(Path(aside) / "index"),
                }
                asked = f"save {folder}"
                self.repo.git.run(folder, "add", "-A", "-f", ".", asked=asked, extra=extra)
                files = self.repo.git.run(folder, "write-tree", asked=asked, extra=extra).out.strip()
            found.append(self._record(files, [], f"git's own files of {folder.name}"))
        return found

    def _keep(self, commit: str, what: str) -> Rescue:
        """Put a ref on the commit and prove that it is there."""
        issue, attempt = self.task or (0, 0)
        prefix = f"{PREFIX}/{issue}/{attempt}-"
        asked = f"keep rescued work under {prefix}*"
        listed = self.repo.run("for-each-ref", "--format=%(refname)", f"{prefix}*", asked=asked).out.split()
        numbers = [int(tail) for ref in listed if (tail := ref.removeprefix(prefix)).isdecimal()]

        ref = f"{prefix}{max(numbers, default=0) + 1}"
        # The empty old value: a ref that somebody else made meanwhile is not overwritten.
        self.repo.run("update-ref", "-m", "devclaw: rescue", ref, commit, "", asked=asked)
        if self.repo.commit(ref) != commit:
            raise RepositoryError(f"{asked}: {ref} does not hold {commit} after it was written; nothing was removed")
        return Rescue(ref=ref, commit=commit, issue=self.task[0] if self.task else None, what=what)

    def _settle(self, tree: Tree, commit: str) -> None:
        """Let HEAD and index stand on the saved commit; no file changes."""
        git, asked = self.repo.git, f"leave the saved work of {tree.path} behind"
        for _, ending in tree.half_done():
            git.run(tree.path, *ending, asked=asked)
        if left := tree.half_done():
            raise RepositoryError(f"{asked}: git did not end the {left[0][0]}; it is saved in {commit}; end it by hand")
        git.run(tree.path, "read-tree", "--reset", commit, asked=asked)
        git.run(tree.path, "update-ref", "--no-deref", "-m", "devclaw: rescued", "HEAD", commit, asked=asked)


@contextmanager
def borrowed_index(tree: Tree) -> Iterator[dict[str, str]]:
    """Yield the environment for a copy of the checkout's index, so that the real one stays as it is."""
    with tempfile.TemporaryDirectory(prefix="devclaw-") as folder:
        index = Path(folder) / "index"
        if (tree.gitdir / "index").exists():
            # With its times: git takes a file for unchanged by comparing them, and a younger index would hide changes.
            shutil.copy2(tree.gitdir / "index", index)
        yield {"GIT_INDEX_FILE": str(index)}
