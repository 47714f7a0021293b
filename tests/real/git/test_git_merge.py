"""Merges into the base branch of real repositories."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from devclaw_py.errors import RepositoryError
from devclaw_py.model.pipeline import Tier
from devclaw_py.work.base import MergeKind

Shop = Any  # the fixture's class stands in conftest.py, which tests do not import


@pytest.fixture
def tested(shop: Shop) -> str:
    """A commit on the task's branch that adds b.txt."""
    return str(shop.commit(shop.at_desk(), "b.txt", "mine\n"))


def elsewhere(shop: Shop) -> None:
    """Let the main checkout leave the base branch."""
    shop.git(shop.path, "checkout", "-q", "-b", "elsewhere")


def test_a_merge_has_base_and_tested_commit_as_parents_and_the_message(shop: Shop, tested: str) -> None:
    plan = shop.plan(tested)

    said = shop.git(shop.path, "log", "-1", "--format=%P %s", plan.commit)

    assert said == f"{shop.first} {tested} Merge it"


def test_a_plan_moves_no_ref_and_no_file(shop: Shop, tested: str) -> None:
    before = shop.git(shop.path, "for-each-ref"), shop.git(shop.path, "status", "--porcelain")

    shop.plan(tested)

    assert (shop.git(shop.path, "for-each-ref"), shop.git(shop.path, "status", "--porcelain")) == before


def test_the_main_checkout_follows_a_publication(shop: Shop, tested: str) -> None:
    shop.publish(shop.plan(tested))

    assert (shop.path / "b.txt").read_text() == "mine\n"
    assert shop.git(shop.path, "status", "--porcelain") == ""


def test_a_main_checkout_on_another_branch_is_not_touched(shop: Shop, tested: str) -> None:
    elsewhere(shop)
    shop.write(shop.path, "a.txt", "in the middle of something\n")

    shop.publish(shop.plan(tested))

    assert not (shop.path / "b.txt").exists()
    assert shop.names("main") >= {"b.txt"}


def test_a_foreign_worktree_on_the_base_branch_follows(shop: Shop, tested: str, tmp_path: Path) -> None:
    elsewhere(shop)
    shop.git(shop.path, "worktree", "add", "-q", str(tmp_path / "mine"), "main")

    shop.publish(shop.plan(tested))

    assert (tmp_path / "mine" / "b.txt").exists()


def test_two_checkouts_of_the_base_branch_make_it_wait(shop: Shop, tested: str, tmp_path: Path) -> None:
    shop.git(shop.path, "worktree", "add", "-q", "-f", str(tmp_path / "mine"), "main")

    plan = shop.plan(tested)

    assert plan.kind is MergeKind.WAITING
    assert str(tmp_path / "mine") in plan.reason


def test_a_staged_change_in_the_main_checkout_makes_it_wait(shop: Shop, tested: str) -> None:
    shop.write(shop.path, "c.txt", "mine\n")
    shop.git(shop.path, "add", "c.txt")

    assert (shop.plan(tested).kind, shop.plan(tested).paths) == (MergeKind.WAITING, ("c.txt",))


@pytest.mark.parametrize("name", ["b.txt", "ignored.txt", "folder", "link/c.txt"])
def test_an_untracked_file_in_the_way_makes_it_wait_and_is_kept(shop: Shop, name: str) -> None:
    desk = shop.at_desk()
    added = {"folder": "folder/c.txt", "link/c.txt": "link"}.get(name, name)
    shop.write(desk, added, "theirs\n")
    shop.git(desk, "add", "-f", added)
    shop.git(desk, "commit", "-qm", "add it")
    shop.write(shop.path, name, "mine\n")

    plan = shop.plan(shop.head(desk))

    assert (plan.kind, plan.paths) == (MergeKind.WAITING, (name,))
    assert (shop.path / name).read_text() == "mine\n"


def test_an_untracked_file_elsewhere_is_not_in_the_way(shop: Shop, tested: str) -> None:
    shop.write(shop.path, "c.txt", "mine\n")

    shop.publish(shop.plan(tested))

    assert (shop.path / "c.txt").read_text() == "mine\n"


def test_a_half_done_merge_in_the_main_checkout_makes_it_wait(shop: Shop, tested: str) -> None:
    shop.git(shop.path, "merge", "-q", "--no-ff", "--no-commit", tested)

    assert "half-done merge" in shop.plan(tested).reason


def test_a_half_done_rebase_of_the_base_branch_makes_it_wait(shop: Shop, tested: str) -> None:
    shop.git(shop.path, "branch", "other")
    shop.commit(shop.path, "a.txt", "mine\n")
    other = shop.git(shop.path, "commit-tree", "-p", "other", "-m", "theirs", f"{tested}^{{tree}}")
    shop.git(shop.path, "checkout", "-q", other)
    onto = shop.commit(shop.path, "a.txt", "theirs\n")
    shop.git(shop.path, "checkout", "-q", "main")
    assert shop.try_git(shop.path, "rebase", onto).code == 1

    assert shop.plan(tested).kind is MergeKind.WAITING


def test_a_lock_in_the_main_checkout_makes_it_wait(shop: Shop, tested: str) -> None:
    (shop.path / ".git" / "index.lock").touch()

    assert "locked by git" in shop.plan(tested).reason


def test_conflicts_are_named_by_path_in_every_folder(shop: Shop) -> None:
    desk = shop.at_desk()
    for where, text in ((desk, "ours\n"), (shop.path, "theirs\n")):
        shop.write(where, "a.txt", text)
        shop.commit(where, "some folder/ü.txt", text)

    plan = shop.plan(shop.head(desk))

    assert (plan.kind, plan.paths) == (MergeKind.CONFLICT, ("a.txt", "some folder/ü.txt"))


def test_branches_without_common_history_are_a_conflict(shop: Shop) -> None:
    desk = shop.at_desk()
    orphan = shop.git(desk, "commit-tree", "-m", "alone", "HEAD^{tree}")
    shop.git(desk, "reset", "-q", "--hard", orphan)

    assert shop.plan(orphan).kind is MergeKind.CONFLICT


def test_an_unknown_tested_commit_is_an_error(shop: Shop, tested: str) -> None:
    with pytest.raises(RepositoryError, match="does not exist"):
        shop.plan("f" * 40)


def test_a_base_that_moved_meanwhile_is_refused_and_kept(shop: Shop, tested: str) -> None:
    plan = shop.plan(tested)
    moved = shop.commit(shop.path, "c.txt", "meanwhile\n")

    with pytest.raises(RepositoryError, match="plan the merge again") as refused:
        shop.publish(plan)

    assert refused.value.retryable
    assert shop.head(shop.path, "main") == moved


def test_a_base_that_was_taken_back_is_not_brought_forward_again(shop: Shop, tested: str) -> None:
    shop.commit(shop.path, "c.txt", "a mistake\n")
    plan = shop.plan(tested)
    shop.git(shop.path, "reset", "-q", "--hard", shop.first)

    with pytest.raises(RepositoryError):
        shop.publish(plan)

    assert shop.head(shop.path, "main") == shop.first


def test_a_change_made_in_the_main_checkout_after_the_plan_is_not_overwritten(shop: Shop, tested: str) -> None:
    plan = shop.plan(tested)
    shop.write(shop.path, "b.txt", "made meanwhile\n")

    with pytest.raises(RepositoryError, match=r"b\.txt") as refused:
        shop.publish(plan)

    assert refused.value.retryable
    assert (shop.path / "b.txt").read_text() == "made meanwhile\n"
    assert shop.head(shop.path, "main") == shop.first


def test_a_publication_stays_published_under_later_commits_but_not_by_containment(shop: Shop, tested: str) -> None:
    plan = shop.plan(tested)
    shop.publish(plan)
    shop.commit(shop.path, "c.txt", "later\n")
    other = shop.git(shop.path, "commit-tree", "-p", shop.first, "-p", str(plan.commit), "-m", "x", "main^{tree}")

    assert shop.published(plan)

    shop.git(shop.path, "reset", "-q", "--hard", other)
    assert not shop.published(plan)


def test_a_base_branch_that_is_only_on_the_remote_is_made_by_the_publication(shop: Shop, tested: str) -> None:
    elsewhere(shop)
    shop.git(shop.path, "update-ref", "refs/remotes/origin/main", "main")
    shop.git(shop.path, "branch", "-q", "-D", "main")
    plan = shop.plan(tested)

    shop.publish(plan)

    assert shop.head(shop.path, "main") == plan.commit


def test_the_branch_and_its_desk_stay_after_the_merge(shop: Shop, tested: str) -> None:
    shop.publish(shop.plan(tested))

    assert shop.head(shop.desk(Tier.MEDIOR).worktree) == tested
    assert shop.work.merged(shop.project, 7)


@pytest.mark.parametrize("leave", [False, True], ids=["checked-out", "no-checkout"])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_publication_killed_at_any_command_is_whole_when_repeated(
    shop: Shop, tested: str, when: str, leave: bool
) -> None:
    if leave:
        elsewhere(shop)
    number, moved = 1, set()
    while True:
        plan = shop.plan(tested)
        killed = shop.mortal(
            number, when, f"work.publish(project, MergePlan.model_validate_json({plan.model_dump_json()!r}))"
        )
        moved.add(shop.published(plan))
        assert shop.git(shop.path, "status", "--porcelain") == ""

        shop.publish(plan)

        assert shop.published(plan)
        assert shop.git(shop.path, "rev-list", "--count", "--first-parent", "main") == "2"
        if not killed:
            break
        shop.git(shop.path, *(["update-ref", "refs/heads/main"] if leave else ["reset", "-q", "--hard"]), shop.first)
        number += 1

    assert number > 3
    assert moved == {False, True}
