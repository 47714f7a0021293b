"""Desks in real repositories: made, brought back, refused, unlocked."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.errors import RepositoryError
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.kernel.locks import hold
from devclaw_py.model.finding import Severity
from devclaw_py.model.pipeline import Tier
from devclaw_py.model.settings import TimeoutSettings
from devclaw_py.work.git import GitWork

Shop = Any  # the fixture's class stands in conftest.py, which tests do not import


def test_a_new_desk_stands_on_the_base_branch_and_takes_no_branch(shop: Shop) -> None:
    shop.work.ensure_desk(shop.project, shop.desk())

    assert shop.head(shop.desk().worktree) == shop.first
    assert shop.git(shop.desk().worktree, "branch", "--show-current") == ""


@pytest.mark.parametrize("name", ["with space", "ünï→", "-dash", "new\nline", "co:lon"])
def test_a_repository_in_a_folder_of_any_name_works(open_shop: Callable[[str], Shop], name: str) -> None:
    shop = open_shop(name)
    shop.write(shop.at_desk(), "b.txt", "unsaved\n")

    assert len(shop.dev(8).rescued) == 1


def test_the_base_branch_is_taken_from_the_remote_where_it_is_not_here(shop: Shop) -> None:
    shop.git(shop.path, "checkout", "-q", "-b", "other")
    shop.git(shop.path, "update-ref", "refs/remotes/origin/main", "main")
    shop.git(shop.path, "branch", "-q", "-D", "main")

    assert shop.dev().commit == shop.first


def test_a_folder_removed_by_hand_comes_back_with_branch_and_staged_work(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.write(desk, "b.txt", "staged\n")
    shop.git(desk, "add", "b.txt")
    shutil.rmtree(desk)

    prepared = shop.dev()

    assert (prepared.branch, (desk / "b.txt").read_text()) == ("devclaw/7-fix-it", "staged\n")


def test_commits_that_only_a_removed_folder_held_are_rescued(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.git(desk, "checkout", "-q", "--detach")
    alone = shop.commit(desk, "b.txt", "alone\n")
    shutil.rmtree(desk)

    assert [rescue.commit for rescue in shop.dev(8).rescued] == [alone]


def test_a_branch_at_a_removed_folder_of_a_free_desk_moves_over(shop: Shop) -> None:
    desk = shop.at_desk()
    shutil.rmtree(desk)

    assert shop.dev(tier=Tier.SENIOR, free=frozenset({desk})).branch == "devclaw/7-fix-it"


def test_other_removed_worktrees_are_left_to_their_owner(shop: Shop, tmp_path: Path) -> None:
    shop.git(shop.path, "worktree", "add", "-q", "--detach", str(tmp_path / "mine"))
    shutil.rmtree(tmp_path / "mine")

    shop.dev()

    assert str(tmp_path / "mine") in shop.git(shop.path, "worktree", "list")


def test_a_folder_in_the_desks_place_is_refused_and_kept(shop: Shop) -> None:
    shop.write(shop.desk().worktree, "mine.txt", "mine\n")

    with pytest.raises(RepositoryError, match="dev-medior exists and is no worktree"):
        shop.dev()

    assert (shop.desk().worktree / "mine.txt").exists()


def test_a_desk_that_became_another_repository_is_refused_and_kept(shop: Shop) -> None:
    desk = shop.at_desk()
    (desk / ".git").unlink()
    shop.git(desk, "init", "-q")

    with pytest.raises(RepositoryError, match="no worktree of"):
        shop.dev()

    assert (desk / "a.txt").exists()


def test_a_desk_that_lost_its_git_file_is_refused_and_kept(shop: Shop) -> None:
    desk = shop.at_desk()
    (desk / ".git").unlink()

    with pytest.raises(RepositoryError, match=r"lost its \.git file"):
        shop.dev()

    assert (desk / "a.txt").exists()


def test_a_branch_in_the_main_checkout_is_refused_by_path_and_nothing_changes(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.dev(8)
    shop.git(shop.path, "checkout", "-q", "devclaw/7-fix-it")
    shop.write(desk, "b.txt", "unsaved\n")

    with pytest.raises(RepositoryError, match=f"checked out in {shop.path} "):
        shop.dev(free=frozenset({shop.path}))

    assert (desk / "b.txt").exists()


def test_a_branch_in_a_foreign_worktree_is_refused_by_path(shop: Shop, tmp_path: Path) -> None:
    shop.at_desk()
    shop.dev(8)
    shop.git(shop.path, "worktree", "add", "-q", str(tmp_path / "mine"), "devclaw/7-fix-it")

    with pytest.raises(RepositoryError, match=f"checked out in {tmp_path / 'mine'} "):
        shop.dev(free=frozenset({tmp_path / "mine"}))


def test_a_branch_that_is_only_on_the_remote_is_taken_up_there(shop: Shop) -> None:
    there = shop.commit(shop.path, "b.txt", "from another machine\n")
    shop.git(shop.path, "update-ref", "refs/remotes/origin/devclaw/7-old-title", there)
    shop.git(shop.path, "reset", "-q", "--hard", shop.first)

    prepared = shop.dev()

    assert (prepared.branch, prepared.commit) == ("devclaw/7-old-title", there)


def test_a_stale_lock_at_a_desk_is_removed_and_named(shop: Shop) -> None:
    desk = shop.at_desk()
    lock = Path(shop.git(desk, "rev-parse", "--absolute-git-dir")) / "index.lock"
    lock.touch()

    assert shop.dev(8).cleared == (str(lock),)
    assert not lock.exists()


def test_a_stale_lock_on_a_task_branch_is_removed_and_named(shop: Shop) -> None:
    shop.at_desk()
    lock = shop.path / ".git" / "refs" / "heads" / "devclaw" / "7-fix-it.lock"
    lock.touch()

    assert shop.dev(8).cleared == (str(lock),)


def test_a_lock_that_a_process_holds_open_stays(shop: Shop) -> None:
    desk = shop.at_desk()
    lock = Path(shop.git(desk, "rev-parse", "--absolute-git-dir")) / "index.lock"

    with lock.open("w"), pytest.raises(RepositoryError, match=r"index\.lock") as refused:
        shop.dev(8)

    assert refused.value.retryable
    assert lock.exists()


def test_a_lock_in_the_main_checkout_is_reported_and_stays(shop: Shop) -> None:
    shop.at_desk()
    lock = shop.path / ".git" / "index.lock"
    lock.touch()
    shop.dev(8)

    found = [finding for finding in shop.work.diagnose(shop.project) if finding.type == "git_lock"]

    assert [str(lock) in finding.message for finding in found] == [True]
    assert lock.exists()


def test_a_hook_that_fails_does_not_fail_the_checkout(shop: Shop) -> None:
    for name in ("post-checkout", "post-merge", "pre-commit", "commit-msg"):
        hook = shop.path / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)

    shop.write(shop.at_desk(), "b.txt", "unsaved\n")

    assert len(shop.dev(8).rescued) == 1


def test_a_repository_without_identity_can_be_rescued_and_merged(shop: Shop) -> None:
    desk = shop.at_desk()
    tested = shop.commit(desk, "b.txt", "mine\n")
    shop.write(desk, "a.txt", "unsaved\n")
    (shop.home / ".gitconfig").unlink()

    (rescue,) = shop.dev(8).rescued
    plan = shop.plan(tested)

    for commit in (rescue.commit, plan.commit):
        assert shop.git(shop.path, "log", "-1", "--format=%an %ce", commit) == "DevClaw devclaw@localhost"


def test_variables_of_a_surrounding_git_do_not_reach_the_repository(shop: Shop, tmp_path: Path) -> None:
    shop.environ.update({"GIT_DIR": str(tmp_path), "GIT_INDEX_FILE": str(tmp_path / "x"), "GIT_WORK_TREE": "/"})

    assert shop.dev().commit == shop.first


def hanging(shop: Shop, folder: Path) -> GitWork:
    """A Work whose git never answers, however it is asked."""
    folder.mkdir()
    (folder / "git").write_text("#!/bin/sh\nsleep 600 & wait\n")
    (folder / "git").chmod(0o755)
    environ = {**shop.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return GitWork(TimeoutSettings(git_s=0.3), environ=environ)


def test_a_git_that_hangs_fails_the_pickup_and_removes_nothing(shop: Shop, tmp_path: Path) -> None:
    desk = shop.at_desk()
    shop.write(desk, "b.txt", "unsaved\n")
    shop.work = hanging(shop, tmp_path / "bin")

    with pytest.raises(RepositoryError, match="did not end within") as failed:
        shop.work.prepare_dev(
            shop.project, shop.desk(), issue=8, branch="devclaw/8-x", leaving=(7, 2), free=frozenset()
        )

    assert failed.value.retryable
    assert (desk / "b.txt").exists()


def test_the_project_lock_is_free_after_a_git_that_hung(shop: Shop, tmp_path: Path) -> None:
    work, clock = hanging(shop, tmp_path / "bin"), SystemClock()

    with hold(tmp_path / "lock", wait_s=0, holder="one", clock=clock), pytest.raises(RepositoryError):
        work.check(shop.project)

    with hold(tmp_path / "lock", wait_s=5, holder="two", clock=clock):
        pass


def broken(shop: Shop) -> str:
    with pytest.raises(RepositoryError) as refused:
        shop.work.check(shop.project)
    return str(refused.value)


def test_a_usable_repository_passes_the_check(shop: Shop) -> None:
    shop.work.check(shop.project)


def test_a_missing_folder_is_refused(shop: Shop) -> None:
    shutil.rmtree(shop.path)

    assert "does not exist" in broken(shop)


def test_a_folder_that_is_no_repository_is_refused(shop: Shop) -> None:
    shutil.rmtree(shop.path / ".git")

    assert "no repository" in broken(shop)


def test_a_folder_inside_a_repository_is_refused(shop: Shop) -> None:
    (shop.path / "part").mkdir()
    shop.project = shop.project.model_copy(update={"repo": str(shop.path / "part")})

    assert "no repository's top folder" in broken(shop)


def test_a_bare_repository_is_refused(shop: Shop, tmp_path: Path) -> None:
    shop.git(tmp_path, "clone", "-q", "--bare", str(shop.path), "bare")
    shop.project = shop.project.model_copy(update={"repo": str(tmp_path / "bare")})

    assert "is bare" in broken(shop)


def test_a_repository_without_commits_is_refused(shop: Shop, tmp_path: Path) -> None:
    shop.git(tmp_path, "init", "-q", "empty")
    shop.project = shop.project.model_copy(update={"repo": str(tmp_path / "empty")})

    assert "has no commits" in broken(shop)


def test_a_missing_base_branch_is_refused_by_naming_the_others(shop: Shop) -> None:
    shop.project = shop.project.model_copy(update={"base_branch": "trunk"})

    assert "has no branch trunk; it has: main" in broken(shop)


def test_an_old_git_is_refused(shop: Shop, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text("#!/bin/sh\necho git version 2.37.1\n")
    (tmp_path / "bin" / "git").chmod(0o755)
    shop.environ["PATH"] = f"{tmp_path / 'bin'}:{os.environ['PATH']}"

    assert "git 2.37.1 is too old" in broken(shop)


def test_doctor_says_that_git_is_missing(shop: Shop) -> None:
    shop.environ["PATH"] = "/nowhere"

    (found,) = shop.work.diagnose(shop.project)

    assert (found.type, found.severity) == ("git", Severity.CRITICAL)


def test_doctor_has_nothing_against_a_usable_repository(shop: Shop) -> None:
    shop.at_desk()

    assert {finding.severity for finding in shop.work.diagnose(shop.project)} == {Severity.OK}


def test_doctor_names_a_desk_whose_folder_was_removed(shop: Shop) -> None:
    desk = shop.at_desk()
    shutil.rmtree(desk)

    assert any(str(desk) in finding.message for finding in shop.work.diagnose(shop.project) if finding.type == "desk")
