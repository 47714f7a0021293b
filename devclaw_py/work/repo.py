"""A repository and its checkouts, read from git."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.errors import RepositoryError
from devclaw_py.kernel.proc import Done
from devclaw_py.model.project import Project
from devclaw_py.work.command import Git

REMOTE = "origin"

# What git leaves in a checkout's git folder while an operation is half done, and what ends it without moving a file.
HALF_DONE = {
    "rebase-merge": ("rebase", ("rebase", "--quit")),
    "rebase-apply": ("rebase", ("rebase", "--quit")),
    "MERGE_HEAD": ("merge", ("merge", "--quit")),
    "CHERRY_PICK_HEAD": ("cherry-pick", ("cherry-pick", "--quit")),
    "REVERT_HEAD": ("revert", ("revert", "--quit")),
    "sequencer": ("sequence", ("cherry-pick", "--quit")),
    "BISECT_LOG": ("bisect", ("bisect", "reset", "HEAD")),
}

AM = ("am", ("am", "--quit"))


@dataclass(frozen=True)
class Tree:
    """One checkout: the main one or a linked worktree.

    ``branch`` is the one that git keeps for it, whether attached, half rebased or under bisect. ``alive`` is False
    when its folder was taken away.
    """

    path: Path
    gitdir: Path
    head: str
    branch: str | None
    attached: bool
    alive: bool

    def half_done(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return name and ending command of each operation that was begun and not ended."""
        if (self.gitdir / "rebase-apply" / "applying").exists():
            return [AM]
        return [row for marker, row in HALF_DONE.items() if (self.gitdir / marker).exists()]


@dataclass(frozen=True)
class Repo:
    """A project's repository: ``path`` is the main checkout, ``common`` the git folder that all checkouts share."""

    git: Git
    path: Path
    common: Path
    base_branch: str

    def run(
        self,
        *args: str,
        asked: str,
        codes: Collection[int] = (0,),
        stdin: str | None = None,
        extra: Mapping[str, str] | None = None,
    ) -> Done:
        """Run git in the main checkout."""
        return self.git.run(self.path, *args, asked=asked, codes=codes, stdin=stdin, extra=extra)

    def commit(self, name: str) -> str | None:
        """Return the commit that a ref or an id names, or None when there is no such."""
        done = self.run(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", asked=f"read {name}",
            codes=(0, 1, 128),
        )  # fmt: skip
        return done.out.strip() if done.code == 0 else None

    def head(self, branch: str) -> str | None:
        """Return the head of a local branch."""
        return self.commit(f"refs/heads/{branch}")

    def base(self) -> str:
        """Return the base branch's head; the remote's where it was never checked out here.

        Raises:
            RepositoryError: neither exists; the message names the branches that do.
        """
        found = self.head(self.base_branch) or self.commit(f"refs/remotes/{REMOTE}/{self.base_branch}")
        if found is None:
            listed = self.run("for-each-ref", "--format=%(refname:short)", "refs/heads", asked="list branches").out
            raise RepositoryError(
                f"{self.path} has no branch {self.base_branch}; it has: {', '.join(listed.split()) or 'none'}; "
                "set the project's baseBranch to one of them"
            )
        return found

    def contains(self, commit: str, older: str) -> bool:
        """Say whether ``older`` is in the history of ``commit``."""
        asked = f"compare {older[:12]} with {commit[:12]}"
        return self.run("merge-base", "--is-ancestor", older, commit, asked=asked, codes=(0, 1)).code == 0

    def trees(self) -> list[Tree]:
        """Return every checkout, the main one first."""
        listing = self.run("worktree", "list", "--porcelain", "-z", asked=f"list the worktrees of {self.path}").out
        folders = self._folders()
        found: list[Tree] = []
        for number, block in enumerate(listing.split("\0\0")):
            fields = dict(part.partition(" ")[::2] for part in block.split("\0") if part)
            if "worktree" not in fields or "bare" in fields:
                continue
            path = Path(fields["worktree"])
            # Git names the main checkout by its git folder when that lies elsewhere.
            main = number == 0 and self.path not in folders
            found.append(_tree(self.path if main else path, self.common if main else folders.get(path), fields))
        return found

    def _folders(self) -> dict[Path, Path]:
        """Return the git folder of each linked worktree by the worktree's path."""
        found: dict[Path, Path] = {}
        for pointer in (self.common / "worktrees").glob("*/gitdir"):
            target = os.path.normpath(pointer.parent / os.fsdecode(pointer.read_bytes()).rstrip("\n"))
            found[Path(target).parent] = pointer.parent
        return found


def open_repo(git: Git, project: Project) -> Repo:
    """Open a project's repository.

    Raises:
        RepositoryError: no folder, no repository, a bare one, or a folder inside one.
    """
    path = project.repo_path.resolve()
    asked = f"open the repository of {project.name}"
    if not path.is_dir():
        raise RepositoryError(f"{asked}: {path} does not exist; create or clone it, or register the right path")

    done = git.run(
        path, "rev-parse", "--path-format=absolute", "--git-common-dir", "--is-bare-repository", "--is-inside-git-dir",
        asked=asked, codes=(0, 128),
    )  # fmt: skip
    if "not a git repository" in done.err:
        raise RepositoryError(f"{asked}: {path} is no repository's top folder; run git init there, or register another")
    if done.code:
        raise RepositoryError(f"{asked}: git in {path} said: {done.err.strip()}")
    common, bare, inside = done.out.rstrip("\n").rsplit("\n", 2)
    if "true" in (bare, inside):
        raise RepositoryError(f"{asked}: {path} is bare; register a clone that has a checkout")
    return Repo(git, path, Path(common), project.base_branch)


def _tree(path: Path, gitdir: Path | None, fields: Mapping[str, str]) -> Tree:
    folder = gitdir or path / ".git"
    branch = fields.get("branch", "").removeprefix("refs/heads/")
    return Tree(
        path=path,
        gitdir=folder,
        head=fields.get("HEAD", "").strip("0") and fields["HEAD"],
        branch=branch or _held(folder),
        attached=bool(branch),
        alive=(path / ".git").exists(),
    )


def _held(gitdir: Path) -> str | None:
    """Return the branch of a half-done rebase or bisect: git shows it as detached, and yet lets nobody else have it."""
    for name in ("rebase-merge/head-name", "rebase-apply/head-name", "BISECT_START"):
        try:
            text = (gitdir / name).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            continue
        if text and text != "detached HEAD":
            return text.removeprefix("refs/heads/")
    return None
