"""Keeping a dev's work: fetch and plain push to a real remote."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.errors import RepositoryError
from devclaw_py.model.project import Forge

Shop = Any  # the fixture's class stands in conftest.py, which tests do not import

BRANCH = "devclaw/7-fix-it"


@pytest.fixture
def remote(shop: Shop, tmp_path: Path) -> Path:
    """A bare remote named origin."""
    shop.git(tmp_path, "clone", "-q", "--bare", str(shop.path), "remote.git")
    shop.git(shop.path, "remote", "add", "origin", str(tmp_path / "remote.git"))
    return tmp_path / "remote.git"


def test_a_branch_is_pushed_and_fetched_to_the_remote(shop: Shop, remote: Path) -> None:
    head = shop.commit(shop.at_desk(), "b.txt", "mine\n")

    kept = shop.keep()

    assert (kept.pushed, kept.warnings) == (True, ())
    assert shop.head(remote, BRANCH) == head


def test_keeping_twice_is_keeping_once(shop: Shop, remote: Path) -> None:
    shop.commit(shop.at_desk(), "b.txt", "mine\n")

    assert shop.keep() == shop.keep()


def test_without_a_remote_nothing_is_pushed_and_nothing_is_odd(shop: Shop) -> None:
    head = shop.commit(shop.at_desk(), "b.txt", "mine\n")

    kept = shop.keep()

    assert (kept.commit, kept.pushed, kept.warnings) == (head, False, ())


def test_a_branch_whose_remote_has_other_commits_is_not_forced(shop: Shop, remote: Path) -> None:
    desk = shop.at_desk()
    there = shop.commit(desk, "b.txt", "theirs\n")
    shop.keep()
    shop.git(desk, "reset", "-q", "--hard", shop.first)
    shop.commit(desk, "b.txt", "ours\n")

    kept = shop.keep()

    assert not kept.pushed
    assert "non-fast-forward" in kept.warnings[0]
    assert shop.head(remote, BRANCH) == there


def test_a_remote_that_refuses_is_a_warning_in_its_words(shop: Shop, remote: Path) -> None:
    hook = remote / "hooks" / "pre-receive"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    shop.commit(shop.at_desk(), "b.txt", "mine\n")

    assert "pre-receive hook declined" in shop.keep().warnings[0]


def test_a_failing_hook_before_the_push_is_a_warning(shop: Shop, remote: Path) -> None:
    hook = shop.path / ".git" / "hooks" / "pre-push"
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    shop.commit(shop.at_desk(), "b.txt", "mine\n")

    kept = shop.keep()

    assert (kept.pushed, len(kept.warnings)) == (False, 1)


def test_a_remote_that_cannot_be_reached_may_be_tried_again(shop: Shop, remote: Path) -> None:
    shop.commit(shop.at_desk(), "b.txt", "mine\n")
    shutil.rmtree(remote)

    with pytest.raises(RepositoryError, match=r"remote\.git") as failed:
        shop.keep()

    assert failed.value.retryable


def test_the_branchs_own_remote_is_preferred_to_origin(shop: Shop, remote: Path, tmp_path: Path) -> None:
    shop.git(tmp_path, "clone", "-q", "--bare", str(shop.path), "fork.git")
    head = shop.commit(shop.at_desk(), "b.txt", "mine\n")
    shop.git(shop.path, "remote", "add", "fork", str(tmp_path / "fork.git"))
    shop.git(shop.path, "config", f"branch.{BRANCH}.remote", "fork")

    shop.keep()

    assert shop.head(tmp_path / "fork.git", BRANCH) == head


def test_tags_and_the_base_branch_are_not_pushed(shop: Shop, remote: Path) -> None:
    desk = shop.at_desk()
    shop.commit(shop.path, "c.txt", "a person's\n")
    shop.commit(desk, "b.txt", "mine\n")
    shop.git(desk, "tag", "-a", "-m", "mine", "v1")
    shop.git(shop.path, "config", "push.followTags", "true")

    shop.keep()

    assert shop.head(remote, "main") == shop.first
    assert shop.git(remote, "tag") == ""


def test_a_desk_that_left_the_branch_is_a_warning(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.commit(desk, "b.txt", "mine\n")
    shop.git(desk, "checkout", "-q", "--detach")

    assert "not on devclaw/7-fix-it" in shop.keep().warnings[0]


def test_many_uncommitted_files_are_counted_not_listed(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.commit(desk, "b.txt", "mine\n")
    for number in range(8):
        shop.write(desk, f"new{number}.txt", "unsaved\n")

    assert shop.keep().warnings[0].endswith("and 3 more")


# --- the base branch follows ---


def merged_there(shop: Shop, remote: Path) -> str:
    """Let somebody merge a branch in the remote; return main there."""
    shop.commit(shop.at_desk(), "b.txt", "mine\n")
    shop.keep()
    shop.git(remote, "update-ref", "refs/heads/main", f"refs/heads/{BRANCH}")
    return str(shop.head(remote, "main"))


def test_the_base_branch_follows_the_remotes_and_its_clean_checkout_with_it(shop: Shop, remote: Path) -> None:
    there = merged_there(shop, remote)

    assert shop.work.follow(shop.project) == ""
    assert shop.head(shop.path, "main") == there
    assert (shop.path / "b.txt").read_text() == "mine\n"
    assert shop.work.follow(shop.project) == ""


def test_a_base_branch_with_commits_of_its_own_stays_and_that_is_said(shop: Shop, remote: Path) -> None:
    merged_there(shop, remote)
    own = shop.commit(shop.path, "c.txt", "here\n")

    assert "commits that origin does not have" in shop.work.follow(shop.project)
    assert shop.head(shop.path, "main") == own


def test_a_checkout_with_changes_stays_and_that_is_said(shop: Shop, remote: Path) -> None:
    merged_there(shop, remote)
    tracked = next(path for path in shop.path.iterdir() if path.is_file())
    tracked.write_text("being edited\n")

    assert "was not brought forward" in shop.work.follow(shop.project)
    assert tracked.read_text() == "being edited\n"
    assert shop.head(shop.path, "main") == shop.first


def test_a_branch_goes_to_the_remote_that_named_the_forge(shop: Shop, remote: Path, tmp_path: Path) -> None:
    shop.git(tmp_path, "clone", "-q", "--bare", str(shop.path), "upstream.git")
    shop.git(shop.path, "remote", "add", "upstream", str(tmp_path / "upstream.git"))
    head = shop.commit(shop.at_desk(), "b.txt", "mine\n")
    forge = Forge(host="github.com", api="https://api.github.com", path="a/b", id="1", remote="upstream")
    project = shop.project.model_copy(update={"forge": forge})

    assert shop.work.push(project, branch=BRANCH).pushed
    assert shop.head(tmp_path / "upstream.git", BRANCH) == head
