"""Desks: worktrees beside the repository, and what is checked out there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.errors import RepositoryError
from devclaw_py.kernel.clock import Clock
from devclaw_py.work import locks, status
from devclaw_py.work.base import Prepared, Rescue
from devclaw_py.work.command import failed
from devclaw_py.work.repo import REMOTE, Repo, Tree
from devclaw_py.work.rescue import Rescuer

Task = tuple[int, int] | None


def folder(repo: Path) -> Path:
    """Return where the desks of a repository stand."""
    return repo.parent / f"{repo.name}.worktrees"


@dataclass(frozen=True)
class Desks:
    """The desks of one repository."""

    repo: Repo
    clock: Clock

    def ensure(self, path: Path) -> tuple[str, ...]:
        """Make the worktree, or bring its folder back; return the stale lock files that were removed.

        Raises:
            RepositoryError: the folder holds something that is no worktree of this repository.
        """
        return self._ensured(path)[0]

    def _ensured(self, path: Path) -> tuple[tuple[str, ...], list[Tree]]:
        """Do the same and return all checkouts too, as they are then: each question to git is a program to start."""
        trees = self.repo.trees()
        found = next((tree for tree in trees if tree.path == path), None)
        if found is None:
            self._add(path)
            return (), self.repo.trees()

        common = self.repo.common
        lost = [*locks.left(found), *locks.left_on_refs(common)]
        cleared = locks.clear(lost, (folder(self.repo.path), self.repo.path, common)) if lost else ()
        if not found.alive:
            self._revive(found)
        self._prove(found)
        return cleared, trees if found.alive and not cleared else self.repo.trees()

    def for_dev(self, path: Path, *, issue: int, branch: str, leaving: Task, free: Collection[Path]) -> Prepared:
        """Check the branch out at the desk; see the port."""
        cleared, trees = self._ensured(path)
        tree = self._among(trees, path)
        if tree.branch == branch:
            return Prepared(branch=branch, commit=tree.head, cleared=cleared)

        holder = self._holder(trees, branch, free)
        rescued = self._vacate(holder, issue=issue, leaving=leaving) if holder else ()
        if self.repo.head(branch) is None:
            self._create(branch)
        kept, stands = self._move(tree, branch, detached=False, leaving=leaving)
        return Prepared(branch=branch, commit=stands.head, rescued=rescued + kept, cleared=cleared)

    def for_qa(self, path: Path, *, branch: str, leaving: Task) -> Prepared:
        """Let the desk stand detached on the branch's head or the base's; see the port."""
        cleared, trees = self._ensured(path)
        head = self.repo.head(branch)
        commit = head or self.repo.base()
        rescued, _ = self._move(self._among(trees, path), commit, detached=True, leaving=leaving)
        return Prepared(branch=branch if head else None, commit=commit, rescued=rescued, cleared=cleared)

    def _find(self, path: Path) -> Tree | None:
        return next((tree for tree in self.repo.trees() if tree.path == path), None)

    def _get(self, path: Path) -> Tree:
        return self._among(self.repo.trees(), path)

    def _among(self, trees: list[Tree], path: Path) -> Tree:
        found = next((tree for tree in trees if tree.path == path), None)
        if found is None:
            raise RepositoryError(
                f"{path} is no longer a worktree of {self.repo.path}; nothing was removed; call again"
            )
        return found

    def _add(self, path: Path) -> None:
        if path.is_symlink() or (path.exists() and not _is_empty(path)):
            raise RepositoryError(
                f"{path} exists and is no worktree of {self.repo.path}; move it away, the desk is made there"
            )
        asked = f"make the worktree {path}"
        done = self.repo.run(
            "worktree", "add", "--detach", "--no-guess-remote", "--", str(path), self.repo.base(),
            asked=asked, codes=range(256),
        )  # fmt: skip
        # A post-checkout hook's failure is git's exit code, although the worktree is there.
        made = self._find(path)
        if made is None or not made.alive or status.read(self.repo.git, path).tracked:
            raise failed(asked, self.repo.path, done)

    def _revive(self, tree: Tree) -> None:
        """Write the folder of a worktree anew from its index.

        Removing the entry instead would take along its reflog, what was staged, and commits that only its HEAD holds.
        """
        if tree.path.is_symlink() or (tree.path.exists() and not _is_empty(tree.path)):
            raise RepositoryError(
                f"{tree.path} should be a worktree of {self.repo.path} and has lost its .git file; move it away, "
                "the desk is made anew from what git kept of it"
            )
        tree.path.mkdir(parents=True, exist_ok=True)
        (tree.path / ".git").write_text(f"gitdir: {tree.gitdir}\n", encoding="utf-8", errors="surrogateescape")
        asked = f"bring {tree.path} back"
        if not (tree.gitdir / "index").exists():
            self.repo.git.run(tree.path, "read-tree", "HEAD", asked=asked)
        self.repo.git.run(tree.path, "checkout-index", "-a", "-q", asked=asked)

    def _prove(self, tree: Tree) -> None:
        """Refuse a folder that has become the checkout of another repository."""
        asked = f"look at the desk {tree.path}"
        args = ("rev-parse", "--path-format=absolute", "--git-common-dir")
        done = self.repo.git.run(tree.path, *args, asked=asked, codes=(0, 128))
        if done.code or Path(done.out.rstrip("\n")).resolve() != self.repo.common.resolve():
            raise RepositoryError(
                f"{tree.path} is no worktree of {self.repo.path}; move it away, the desk is made there"
            )

    def _holder(self, trees: list[Tree], branch: str, free: Collection[Path]) -> Tree | None:
        """Return the free desk at which the branch is checked out.

        Raises:
            RepositoryError: it is checked out where devclaw may not change anything.
        """
        holder = next((tree for tree in trees if tree.branch == branch), None)
        if holder is None:
            return None
        ours = holder.path.parent == folder(self.repo.path)
        if not ours or holder.path not in {path.resolve() for path in free}:
            whose = "a desk at work" if ours else "not a desk of devclaw"
            raise RepositoryError(
                f"{branch} is checked out in {holder.path} ({whose}); check out another branch there, then call again"
            )
        return holder

    def _vacate(self, holder: Tree, *, issue: int, leaving: Task) -> tuple[Rescue, ...]:
        """Detach another desk from the branch, its work saved under the branch's own issue."""
        _, trees = self._ensured(holder.path)
        task = leaving if leaving and leaving[0] == issue else (issue, 0)
        tree = self._among(trees, holder.path)
        return self._move(tree, self.repo.head(str(tree.branch)) or tree.head, detached=True, leaving=task)[0]

    def _create(self, branch: str) -> None:
        """Make the branch from the remote's of that name, else from the base."""
        start = self.repo.commit(f"refs/remotes/{REMOTE}/{branch}") or self.repo.base()
        self.repo.run("branch", "--no-track", branch, start, asked=f"make the branch {branch}")

    def _move(self, tree: Tree, target: str, *, detached: bool, leaving: Task) -> tuple[tuple[Rescue, ...], Tree]:
        """Save what is unsaved, then check out; return what was saved and the desk as it stands then.

        A desk that stands there already and is clean is left alone.
        """
        rescued = Rescuer(self.repo, self.clock, leaving).save(tree)
        kept = (rescued,) if rescued else ()
        before = self._get(tree.path) if rescued else tree
        if _stands(before, target, detached=detached):
            return kept, before

        asked = f"check out {target} at {tree.path}"
        # An ignored file in the way is somebody's too: git would overwrite it without a word.
        args = ("checkout", "--quiet", "--no-guess", "--no-overwrite-ignore", *(["--detach"] if detached else []))
        done = self.repo.git.run(tree.path, *args, target, "--", asked=asked, codes=range(256))
        # As above: a hook's failure is not git's.
        after = self._get(tree.path)
        if not _stands(after, target, detached=detached):
            raise failed(asked, tree.path, done)
        return kept, after


def _stands(tree: Tree, target: str, *, detached: bool) -> bool:
    if detached:
        return tree.branch is None and tree.head == target
    return tree.attached and tree.branch == target


def _is_empty(path: Path) -> bool:
    return path.is_dir() and not any(path.iterdir())
