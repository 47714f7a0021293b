"""Fixtures over real programs: git repositories in a temporary folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.kernel.proc import Done, run
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.project import Project
from devclaw_py.model.settings import TimeoutSettings
from devclaw_py.work.base import Desk, Kept, MergePlan, Prepared
from devclaw_py.work.git import GitWork

BRANCH = "devclaw/7-fix-it"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

# Makes one call with a git that kills this process before or after the command of a given number.
MORTAL = """
import os, signal, sys
from datetime import UTC, datetime
from pathlib import Path
from devclaw_py.kernel.proc import run
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.project import Project
from devclaw_py.model.settings import TimeoutSettings
from devclaw_py.work.base import MergePlan
from devclaw_py.work.command import Git
from devclaw_py.work.git import GitWork

number, when, repo, call = int(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4]

class Mortal(Git):
    left = number
    def _start(self, argv, *rest, **said):
        self.left -= 1
        if self.left == 0 and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        done = super()._start(argv, *rest, **said)
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return done

work = GitWork(TimeoutSettings())
work.git = Mortal(60)
project = Project(group_id="-1", name="Shop", repo=repo)
exec(call)
"""


class Shop:
    """A repository with a first commit, and what people and workers do to it."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "shop"
        self.path.mkdir()
        self.home = folder / "home"
        self.home.mkdir()
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "XDG_CONFIG_HOME": str(self.home),
        }
        (self.home / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n")
        self.project = Project(group_id="-1", name="Shop", repo=str(self.path), slug="shop")
        self.work = GitWork(TimeoutSettings(), clock=VirtualClock(), environ=self.environ)
        self.git(self.path, "init", "-q", "-b", "main")
        self.write(self.path, ".gitignore", "ignored.txt\n")
        self.first = self.commit(self.path, "a.txt", "one\n")

    def try_git(self, where: Path, *args: str) -> Done:
        return run(["git", *args], cwd=where, env={**self.environ, "GIT_EDITOR": "true"}, timeout_s=30)

    def git(self, where: Path, *args: str) -> str:
        done = self.try_git(where, *args)
        assert done.code == 0, f"git {args}: {done.err}"
        return done.out.rstrip("\n")

    def write(self, where: Path, name: str, text: str) -> None:
        (where / name).parent.mkdir(parents=True, exist_ok=True)
        (where / name).write_text(text)

    def commit(self, where: Path, name: str, text: str) -> str:
        self.write(where, name, text)
        self.git(where, "add", "-A")
        self.git(where, "commit", "-qm", f"change {name}")
        return self.head(where)

    def head(self, where: Path, ref: str = "HEAD") -> str:
        return self.git(where, "rev-parse", ref)

    def show(self, commit: str, name: str) -> str:
        return self.git(self.path, "cat-file", "blob", f"{commit}:{name}")

    def names(self, commit: str) -> set[str]:
        return set(filter(None, self.git(self.path, "ls-tree", "-rz", "--name-only", commit).split("\0")))

    def unreachable(self) -> set[str]:
        """Commits that neither a ref nor a HEAD leads to; reflogs do not count."""
        out = self.git(self.path, "fsck", "--no-reflogs", "--unreachable", "--no-progress")
        return {line.split()[2] for line in out.splitlines() if line.startswith("unreachable commit")}

    def desk(self, tier: Tier = Tier.MEDIOR) -> Desk:
        return self.work.desk(self.project, tier.role, tier)

    def dev(
        self,
        issue: int = 7,
        *,
        tier: Tier = Tier.MEDIOR,
        leaving: tuple[int, int] | None = (7, 2),
        free: frozenset[Path] = frozenset(),
    ) -> Prepared:
        branch = self.work.branch(self.project, issue, "Fix it")
        return self.work.prepare_dev(
            self.project, self.desk(tier), issue=issue, branch=branch, leaving=leaving, free=free
        )

    def at_desk(self, issue: int = 7) -> Path:
        """Prepare the desk and return its folder."""
        self.dev(issue)
        return self.desk().worktree

    def qa(self) -> Prepared:
        desk = self.work.desk(self.project, Role.QA, Tier.QA)
        return self.work.prepare_qa(self.project, desk, branch=BRANCH, leaving=(7, 2))

    def keep(self) -> Kept:
        return self.work.keep(self.project, self.desk(), branch=BRANCH)

    def plan(self, tested: str) -> MergePlan:
        return self.work.plan_merge(self.project, branch=BRANCH, tested=tested, message="Merge it", at=NOON)

    def publish(self, plan: MergePlan) -> None:
        self.work.publish(self.project, plan)

    def published(self, plan: MergePlan) -> bool:
        return self.work.published(self.project, plan)

    def mortal(self, number: int, when: str, call: str) -> bool:
        """Make a call in a process that is killed at a git command; say whether it got that far."""
        argv = [sys.executable, "-c", MORTAL, str(number), when, str(self.path), call]
        done = run(argv, timeout_s=60, env={**self.environ, "PYTHONPATH": str(Path(__file__).parents[3])})
        assert done.code in (0, -9), done.err
        return done.code == -9


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


@pytest.fixture
def open_shop(tmp_path: Path) -> Callable[[str], Shop]:
    """Make a shop in a folder of another name."""
    return lambda name: Shop(tmp_path / name)
