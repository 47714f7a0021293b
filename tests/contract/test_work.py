"""One suite for every Work adapter."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import pytest

from devclaw_py.errors import RepositoryError
from devclaw_py.kernel.proc import run
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.project import Project
from devclaw_py.model.settings import TimeoutSettings
from devclaw_py.work.base import MergeKind, MergePlan, Prepared, Work
from devclaw_py.work.git import GitWork
from devclaw_py.work.memory import MemoryWork

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

NAME = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.org"))
}


class Outside(Protocol):
    """What people and workers do to the repository behind devclaw's back."""

    work: Work
    project: Project

    def commit(self, branch: str, name: str) -> str: ...
    def commit_on_base(self, name: str) -> str: ...
    def edit(self, worktree: Path) -> None: ...
    def rewrite(self, branch: str) -> str: ...
    def conflict(self, branch: str) -> str: ...
    def block(self) -> None: ...


class InMemory:
    def __init__(self, folder: Path) -> None:
        self.memory = MemoryWork()
        self.work: Work = self.memory
        self.project = Project(group_id="-1", name="Shop", repo=str(folder / "shop"), slug="shop")
        self.repo = self.memory.repo(self.project)

    def commit(self, branch: str, name: str) -> str:
        return self.repo.commit(branch)

    def commit_on_base(self, name: str) -> str:
        return self.repo.commit_on_base()

    def edit(self, worktree: Path) -> None:
        self.repo.edit(worktree)

    def rewrite(self, branch: str) -> str:
        return self.repo.rewrite(branch)

    def conflict(self, branch: str) -> str:
        self.repo.commit_on_base()
        self.repo.conflicts[branch] = ("a.txt",)
        return self.repo.commit(branch)

    def block(self) -> None:
        self.repo.waiting = "the main checkout has uncommitted changes"


class InGit:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "shop"
        self.path.mkdir()
        self.environ = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1", **NAME}
        self.work: Work = GitWork(TimeoutSettings(), environ=self.environ)
        self.project = Project(group_id="-1", name="Shop", repo=str(self.path), slug="shop")
        self.git(self.path, "init", "-q", "-b", "main")
        self.commit_on_base("a.txt")

    def git(self, where: Path, *args: str) -> str:
        done = run(["git", *args], cwd=where, env=self.environ, timeout_s=30)
        assert done.code == 0, done.err
        return done.out.strip()

    def desk_of(self, branch: str) -> Path:
        blocks = self.git(self.path, "worktree", "list", "--porcelain").split("\n\n")
        held = next(block for block in blocks if f"branch refs/heads/{branch}" in block)
        return Path(held.splitlines()[0].removeprefix("worktree "))

    def write(self, where: Path, name: str, text: str) -> str:
        (where / name).write_text(text)
        self.git(where, "add", "-A")
        self.git(where, "commit", "-qm", f"change {name}")
        return self.git(where, "rev-parse", "HEAD")

    def commit(self, branch: str, name: str) -> str:
        return self.write(self.desk_of(branch), name, f"{branch}\n")

    def commit_on_base(self, name: str) -> str:
        return self.write(self.path, name, "base\n")

    def edit(self, worktree: Path) -> None:
        (worktree / "unsaved.txt").write_text("unsaved\n")

    def rewrite(self, branch: str) -> str:
        desk = self.desk_of(branch)
        self.git(desk, "commit", "-q", "--amend", "-m", "rewritten")
        return self.git(desk, "rev-parse", "HEAD")

    def conflict(self, branch: str) -> str:
        self.write(self.path, "a.txt", "theirs\n")
        return self.commit(branch, "a.txt")

    def block(self) -> None:
        (self.path / "a.txt").write_text("in the middle of something\n")


@pytest.fixture(params=[InMemory, InGit])
def outside(request: pytest.FixtureRequest, tmp_path: Path) -> Outside:
    made: Outside = request.param(tmp_path)
    return made


def dev(outside: Outside, issue: int = 7, tier: Tier = Tier.MEDIOR, **said: object) -> Prepared:
    desk = outside.work.desk(outside.project, Role.DEV, tier)
    branch = outside.work.branch(outside.project, issue, "Fix it")
    leaving = said.get("leaving")
    free = said.get("free", frozenset())
    assert isinstance(free, frozenset)
    assert leaving is None or isinstance(leaving, tuple)
    return outside.work.prepare_dev(outside.project, desk, issue=issue, branch=branch, leaving=leaving, free=free)


def worktree(outside: Outside, tier: Tier = Tier.MEDIOR) -> Path:
    return outside.work.desk(outside.project, tier.role, tier).worktree


def plan(outside: Outside, tested: str, branch: str = "devclaw/7-fix-it") -> MergePlan:
    return outside.work.plan_merge(outside.project, branch=branch, tested=tested, message="Merge it", at=NOON)


def test_a_desk_lies_beside_the_repository(outside: Outside) -> None:
    assert worktree(outside) == Path(f"{outside.project.repo}.worktrees/dev-medior")


def test_a_new_branch_is_named_after_issue_and_title(outside: Outside) -> None:
    assert outside.work.branch(outside.project, 7, "Fix  the Cart!") == "devclaw/7-fix-the-cart"


def test_a_branch_keeps_its_name_when_the_title_changes(outside: Outside) -> None:
    dev(outside)

    assert outside.work.branch(outside.project, 7, "Another title") == "devclaw/7-fix-it"


def test_the_branch_of_another_issue_with_the_same_first_digit_is_not_taken(outside: Outside) -> None:
    dev(outside, issue=71)

    assert outside.work.branch(outside.project, 7, "New") == "devclaw/7-new"


def test_preparing_twice_changes_nothing(outside: Outside) -> None:
    first = dev(outside)

    assert dev(outside) == first


def test_unsaved_work_of_the_same_task_is_left_alone(outside: Outside) -> None:
    dev(outside)
    outside.edit(worktree(outside))

    assert dev(outside, leaving=(7, 1)).rescued == ()


def test_unsaved_work_of_another_task_is_rescued_under_its_own_issue_and_attempt(outside: Outside) -> None:
    dev(outside)
    outside.edit(worktree(outside))

    rescued = dev(outside, issue=8, leaving=(7, 3)).rescued

    assert [(found.ref, found.issue) for found in rescued] == [("refs/devclaw/rescue/7/3-1", 7)]


def test_a_second_rescue_of_the_same_attempt_gets_the_next_number(outside: Outside) -> None:
    dev(outside)
    outside.edit(worktree(outside))
    dev(outside, issue=8, leaving=(7, 3))
    outside.edit(worktree(outside))

    assert dev(outside, issue=7, leaving=(7, 3)).rescued[0].ref == "refs/devclaw/rescue/7/3-2"


def test_unsaved_work_that_nobody_left_is_rescued_under_issue_0(outside: Outside) -> None:
    dev(outside)
    outside.edit(worktree(outside))

    rescue = dev(outside, issue=8).rescued[0]

    assert (rescue.ref, rescue.issue) == ("refs/devclaw/rescue/0/0-1", None)


def test_a_branch_at_a_free_desk_moves_over_with_its_unsaved_work_rescued(outside: Outside) -> None:
    dev(outside)
    outside.edit(worktree(outside))

    prepared = dev(outside, tier=Tier.SENIOR, free=frozenset({worktree(outside)}))

    assert (prepared.branch, [found.issue for found in prepared.rescued]) == ("devclaw/7-fix-it", [7])


def test_a_branch_at_a_desk_at_work_is_refused_by_its_path(outside: Outside) -> None:
    dev(outside)

    with pytest.raises(RepositoryError, match=r"shop\.worktrees/dev-medior"):
        dev(outside, tier=Tier.SENIOR)


def test_qa_stands_on_the_branch_head_without_taking_the_branch(outside: Outside) -> None:
    dev(outside)
    head = outside.commit("devclaw/7-fix-it", "b.txt")
    desk = outside.work.desk(outside.project, Role.QA, Tier.QA)

    prepared = outside.work.prepare_qa(outside.project, desk, branch="devclaw/7-fix-it", leaving=None)

    assert (prepared.branch, prepared.commit) == ("devclaw/7-fix-it", head)
    assert dev(outside).branch == "devclaw/7-fix-it"


def test_qa_without_a_branch_stands_on_the_base(outside: Outside) -> None:
    base = outside.commit_on_base("b.txt")
    desk = outside.work.desk(outside.project, Role.QA, Tier.QA)

    prepared = outside.work.prepare_qa(outside.project, desk, branch="devclaw/9-none", leaving=None)

    assert (prepared.branch, prepared.commit) == (None, base)


def test_keeping_an_untouched_branch_warns_that_it_has_no_commit(outside: Outside) -> None:
    dev(outside)
    desk = outside.work.desk(outside.project, Role.DEV, Tier.MEDIOR)

    kept = outside.work.keep(outside.project, desk, branch="devclaw/7-fix-it")

    assert "no commit over" in kept.warnings[0]


def test_keeping_a_dirty_desk_warns_of_uncommitted_changes(outside: Outside) -> None:
    dev(outside)
    head = outside.commit("devclaw/7-fix-it", "b.txt")
    outside.edit(worktree(outside))
    desk = outside.work.desk(outside.project, Role.DEV, Tier.MEDIOR)

    kept = outside.work.keep(outside.project, desk, branch="devclaw/7-fix-it")

    assert (kept.commit, kept.pushed) == (head, False)
    assert ["uncommitted changes" in warning for warning in kept.warnings] == [True]


def test_a_plan_changes_nothing_until_it_is_published(outside: Outside) -> None:
    dev(outside)
    made = plan(outside, outside.commit("devclaw/7-fix-it", "b.txt"))

    assert made.kind is MergeKind.CLEAN
    assert not outside.work.published(outside.project, made)
    assert not outside.work.merged(outside.project, 7)


def test_a_published_plan_is_the_base(outside: Outside) -> None:
    dev(outside)
    made = plan(outside, outside.commit("devclaw/7-fix-it", "b.txt"))

    outside.work.publish(outside.project, made)

    assert outside.work.published(outside.project, made)
    assert outside.work.merged(outside.project, 7)


def test_publishing_twice_is_publishing_once(outside: Outside) -> None:
    dev(outside)
    made = plan(outside, outside.commit("devclaw/7-fix-it", "b.txt"))
    outside.work.publish(outside.project, made)
    later = outside.commit_on_base("c.txt")

    outside.work.publish(outside.project, made)

    assert plan(outside, later).base == later


def test_of_two_plans_on_the_same_base_the_second_is_refused_and_may_be_retried(outside: Outside) -> None:
    dev(outside)
    tested = outside.commit("devclaw/7-fix-it", "b.txt")
    first, second = plan(outside, tested), outside.work.plan_merge(
        outside.project, branch="devclaw/7-fix-it", tested=tested, message="Merge it otherwise", at=NOON
    )  # fmt: skip
    outside.work.publish(outside.project, first)

    with pytest.raises(RepositoryError) as refused:
        outside.work.publish(outside.project, second)

    assert refused.value.retryable
    assert not outside.work.published(outside.project, second)


def test_a_merged_branch_has_nothing_to_merge(outside: Outside) -> None:
    dev(outside)
    tested = outside.commit("devclaw/7-fix-it", "b.txt")
    outside.work.publish(outside.project, plan(outside, tested))

    assert plan(outside, tested).kind is MergeKind.NOTHING


def test_a_branch_that_does_not_exist_has_nothing_to_merge(outside: Outside) -> None:
    base = outside.commit_on_base("b.txt")

    assert plan(outside, base, branch="devclaw/9-none").kind is MergeKind.NOTHING


def test_a_tested_commit_is_merged_although_its_branch_was_deleted(outside: Outside) -> None:
    dev(outside)
    tested = outside.commit("devclaw/7-fix-it", "b.txt")

    assert plan(outside, tested, branch="devclaw/7-gone").kind is MergeKind.CLEAN


def test_commits_after_the_tested_one_are_newer(outside: Outside) -> None:
    dev(outside)
    tested = outside.commit("devclaw/7-fix-it", "b.txt")
    head = outside.commit("devclaw/7-fix-it", "c.txt")

    made = plan(outside, tested)

    assert made.kind is MergeKind.NEWER
    assert head[:7] in made.reason


def test_a_rewritten_branch_is_newer(outside: Outside) -> None:
    dev(outside)
    tested = outside.commit("devclaw/7-fix-it", "b.txt")
    outside.rewrite("devclaw/7-fix-it")

    made = plan(outside, tested)

    assert made.kind is MergeKind.NEWER
    assert "rewritten" in made.reason


def test_a_conflict_names_its_paths(outside: Outside) -> None:
    dev(outside)
    tested = outside.conflict("devclaw/7-fix-it")

    made = plan(outside, tested)

    assert (made.kind, made.paths) == (MergeKind.CONFLICT, ("a.txt",))


def test_a_main_checkout_that_cannot_follow_makes_the_merge_wait(outside: Outside) -> None:
    dev(outside)
    tested = outside.commit("devclaw/7-fix-it", "a.txt")
    outside.block()

    made = plan(outside, tested)

    assert made.kind is MergeKind.WAITING
    assert "uncommitted changes" in made.reason


def test_a_plan_without_a_commit_cannot_be_published(outside: Outside) -> None:
    base = outside.commit_on_base("b.txt")

    with pytest.raises(RepositoryError, match="plan the merge again"):
        outside.work.publish(outside.project, MergePlan(kind=MergeKind.NOTHING, base=base))
