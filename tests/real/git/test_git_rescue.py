"""Nothing that a worker left unsaved is lost when its desk's checkout changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.errors import RepositoryError
from devclaw_py.model.pipeline import Tier

Shop = Any  # the fixture's class stands in conftest.py, which tests do not import

HOSTILE = ["with space.txt", "new\nline.txt", "-dash.txt", "--force", "ünï→.txt", 'qu"ote.txt', "tab\there", "*", ":x"]


def move_on(shop: Shop) -> str:
    """Let the desk change to another task; return the commit of the one rescue."""
    (rescue,) = shop.dev(8).rescued
    return str(rescue.commit)


def test_a_changed_file_is_in_the_rescue(shop: Shop) -> None:
    shop.write(shop.at_desk(), "a.txt", "unsaved\n")

    assert shop.show(move_on(shop), "a.txt") == "unsaved"


def test_a_deleted_file_is_missing_from_the_rescue(shop: Shop) -> None:
    (shop.at_desk() / "a.txt").unlink()

    assert "a.txt" not in shop.names(move_on(shop))


@pytest.mark.parametrize("name", HOSTILE)
def test_an_untracked_file_of_any_name_is_in_the_rescue_and_leaves_the_desk(shop: Shop, name: str) -> None:
    desk = shop.at_desk()
    shop.write(desk, name, "unsaved\n")

    assert name in shop.names(move_on(shop))
    assert not (desk / name).exists()


def test_an_untracked_file_whose_name_is_no_text_is_in_the_rescue(shop: Shop) -> None:
    desk = shop.at_desk()
    (desk / os.fsdecode(b"\xff\xfe.txt")).write_text("unsaved\n")

    assert shop.show(move_on(shop), ".gitignore") == "ignored.txt"
    assert sorted(os.listdir(desk)) == [".git", ".gitignore", "a.txt"]


def test_a_file_in_a_new_folder_is_in_the_rescue(shop: Shop) -> None:
    shop.write(shop.at_desk(), "deep/er/b.txt", "unsaved\n")

    assert shop.show(move_on(shop), "deep/er/b.txt") == "unsaved"


def test_a_staged_version_that_was_changed_again_is_kept_beside_the_last_one(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.write(desk, "a.txt", "staged\n")
    shop.git(desk, "add", "a.txt")
    shop.write(desk, "a.txt", "changed again\n")

    commit = move_on(shop)

    assert shop.show(commit, "a.txt") == "changed again"
    assert shop.show(f"{commit}^2", "a.txt") == "staged"


def test_a_change_within_the_clock_tick_of_the_index_is_not_overlooked(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.git(desk, "config", "core.trustctime", "false")
    index = Path(shop.git(desk, "rev-parse", "--absolute-git-dir")) / "index"
    tick = (desk / "a.txt").stat().st_mtime_ns - 60 * 10**9
    os.utime(desk / "a.txt", ns=(tick, tick))
    shop.git(desk, "update-index", "--refresh")
    (desk / "a.txt").write_text("two\n")  # as long as the committed text: only its time could tell them apart
    for file in (desk / "a.txt", index):
        os.utime(file, ns=(tick, tick))

    assert shop.show(move_on(shop), "a.txt") == "two"


def test_an_ignored_file_stays_where_it_is(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.write(desk, "ignored.txt", "mine\n")
    shop.write(desk, "a.txt", "unsaved\n")

    commit = move_on(shop)

    assert (desk / "ignored.txt").read_text() == "mine\n"
    assert "ignored.txt" not in shop.names(commit)


def test_an_ignored_file_in_the_way_of_a_checkout_is_not_overwritten(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.write(shop.path, "ignored.txt", "tracked after all\n")
    shop.git(shop.path, "add", "-f", "ignored.txt")
    shop.git(shop.path, "commit", "-qm", "track it")
    shop.write(desk, "ignored.txt", "mine\n")

    with pytest.raises(RepositoryError, match="overwritten by checkout"):
        shop.dev(8)

    assert (desk / "ignored.txt").read_text() == "mine\n"


def test_commits_on_a_detached_head_get_a_ref_of_their_own(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.git(desk, "checkout", "-q", "--detach")
    commit = shop.commit(desk, "b.txt", "alone\n")

    assert move_on(shop) == commit
    assert shop.unreachable() == set()


def half_merge(shop: Shop, desk: Path) -> str:
    shop.git(desk, "checkout", "-q", "--detach", "main")
    theirs = shop.commit(desk, "a.txt", "theirs\n")
    shop.git(desk, "checkout", "-q", "devclaw/7-fix-it")
    shop.commit(desk, "a.txt", "ours\n")
    assert shop.try_git(desk, "merge", theirs).code == 1
    return str(theirs)


def half_rebase(shop: Shop, desk: Path) -> str:
    shop.git(desk, "checkout", "-q", "--detach")
    shop.commit(desk, "b.txt", "fine\n")
    mine = shop.commit(desk, "a.txt", "ours\n")
    shop.commit(shop.path, "a.txt", "theirs\n")
    shop.write(desk, "b.txt", "dirty before the rebase\n")
    assert shop.try_git(desk, "rebase", "--autostash", "main").code == 1
    return str(mine)


def half_pick(shop: Shop, desk: Path) -> str:
    shop.git(desk, "checkout", "-q", "--detach")
    picked = shop.commit(desk, "a.txt", "picked\n")
    shop.git(desk, "checkout", "-q", "devclaw/7-fix-it")
    shop.commit(desk, "a.txt", "ours\n")
    assert shop.try_git(desk, "cherry-pick", picked).code == 1
    return str(picked)


def half_am(shop: Shop, desk: Path) -> str:
    mine = shop.commit(desk, "a.txt", "patched\n")
    shop.git(desk, "format-patch", "-1", "-o", str(shop.home))
    (patch,) = shop.home.glob("*.patch")
    shop.git(desk, "reset", "-q", "--hard", "HEAD~1")
    shop.git(desk, "update-ref", "refs/heads/kept", mine)
    shop.commit(desk, "a.txt", "ours\n")
    assert shop.try_git(desk, "am", str(patch)).code
    return str(shop.head(desk))


HALVES = [half_merge, half_rebase, half_pick, half_am]


@pytest.mark.parametrize("begin", HALVES)
def test_after_a_half_done_operation_no_commit_is_unreachable(shop: Shop, begin: Callable[[Shop, Path], str]) -> None:
    held = begin(shop, shop.at_desk())

    commit = move_on(shop)

    shop.git(shop.path, "merge-base", "--is-ancestor", held, commit)
    assert shop.unreachable() == set()


@pytest.mark.parametrize("begin", HALVES)
def test_a_half_done_operation_is_over_when_the_desk_has_moved_on(
    shop: Shop, begin: Callable[[Shop, Path], str]
) -> None:
    desk = shop.at_desk()
    begin(shop, desk)

    move_on(shop)

    assert shop.git(desk, "status", "--porcelain=v2", "--branch").splitlines()[1] == "# branch.head devclaw/8-fix-it"
    assert shop.git(desk, "status").endswith("working tree clean")


def test_the_conflict_markers_of_a_half_done_merge_are_in_the_rescue(shop: Shop) -> None:
    half_merge(shop, shop.at_desk())

    assert shop.show(move_on(shop), "a.txt").startswith("<<<<<<<")


def test_what_an_autostash_held_is_reachable_from_the_rescue(shop: Shop) -> None:
    half_rebase(shop, shop.at_desk())

    parents = shop.git(shop.path, "rev-list", "--parents", "-1", move_on(shop)).split()[1:]

    assert "dirty before the rebase" in {shop.try_git(shop.path, "show", f"{one}:b.txt").out.strip() for one in parents}


def test_the_patches_still_to_apply_are_in_the_rescue(shop: Shop) -> None:
    half_am(shop, shop.at_desk())

    parents = shop.git(shop.path, "rev-list", "--parents", "-1", move_on(shop)).split()[1:]

    assert any("0001" in shop.names(one) for one in parents)


def test_a_half_done_rebase_of_its_own_branch_is_left_alone_for_the_dev_that_returns(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.commit(desk, "a.txt", "ours\n")
    shop.commit(shop.path, "a.txt", "theirs\n")
    assert shop.try_git(desk, "rebase", "main").code == 1
    before = shop.git(desk, "status")

    assert shop.dev().rescued == ()
    assert shop.git(desk, "status") == before


def test_a_half_rebased_branch_at_a_free_desk_moves_over(shop: Shop) -> None:
    desk = shop.at_desk()
    mine = shop.commit(desk, "a.txt", "ours\n")
    shop.commit(shop.path, "a.txt", "theirs\n")
    assert shop.try_git(desk, "rebase", "main").code == 1

    prepared = shop.dev(tier=Tier.SENIOR, free=frozenset({desk}))

    assert (prepared.commit, len(prepared.rescued)) == (mine, 1)


def test_a_repository_among_the_untracked_files_stops_the_change(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.write(desk, "nested/b.txt", "mine\n")
    shop.git(desk / "nested", "init", "-q")

    with pytest.raises(RepositoryError, match="nested/"):
        shop.dev(8)

    assert (desk / "nested" / "b.txt").read_text() == "mine\n"


def test_an_unreadable_file_stops_the_change(shop: Shop) -> None:
    if os.geteuid() == 0:
        pytest.skip("root reads everything")
    desk = shop.at_desk()
    shop.write(desk, "b.txt", "mine\n")
    (desk / "b.txt").chmod(0)

    with pytest.raises(RepositoryError, match=r"b\.txt"):
        shop.dev(8)

    assert (desk / "b.txt").exists()


def test_the_same_work_can_be_taken_back_from_the_rescue(shop: Shop) -> None:
    desk = shop.at_desk()
    shop.write(desk, "b.txt", "unsaved\n")
    commit = move_on(shop)

    shop.git(desk, "checkout", commit, "--", ".")

    assert (desk / "b.txt").read_text() == "unsaved\n"


def test_a_rescue_says_which_task_left_the_work(shop: Shop) -> None:
    shop.write(shop.at_desk(), "b.txt", "unsaved\n")

    message = shop.git(shop.path, "log", "-1", "--format=%B", move_on(shop))

    assert message.splitlines()[:4] == ["devclaw rescue: 1 untracked files", "", "Issue: 7", "Attempt: 2"]


def test_a_rescue_leaves_the_stash_and_the_branch_as_they_were(shop: Shop) -> None:
    desk = shop.at_desk()
    head = shop.commit(desk, "b.txt", "mine\n")
    shop.write(desk, "a.txt", "unsaved\n")

    move_on(shop)

    assert shop.head(shop.path, "devclaw/7-fix-it") == head
    assert shop.git(shop.path, "stash", "list") == ""


def test_qa_on_the_tested_commit_with_a_clean_tree_is_left_alone(shop: Shop) -> None:
    shop.at_desk()
    first = shop.qa()

    assert shop.qa() == first.model_copy(update={"rescued": (), "cleared": ()})


def test_what_a_test_run_left_at_the_qa_desk_is_rescued(shop: Shop) -> None:
    shop.at_desk()
    shop.qa()
    shop.write(shop.path.parent / "shop.worktrees" / "qa-qa", "out.txt", "1\n")

    (rescue,) = shop.qa().rescued

    assert "out.txt" in shop.names(rescue.commit)


def test_a_rescue_killed_before_any_command_has_lost_nothing_when_repeated(shop: Shop) -> None:
    """The work is a half-done merge with a changed and an untracked file, made anew for each command."""
    call = (
        "work.prepare_dev(project, work.desk(project, Role.DEV, Tier.MEDIOR), issue=8, branch='devclaw/8-fix-it',"
        " leaving=(7, 2), free=frozenset())"
    )
    number, killed = 0, True
    while killed:
        number += 1
        desk = shop.at_desk()
        shop.git(desk, "reset", "-q", "--hard", shop.first)
        held = half_merge(shop, desk)
        shop.write(desk, "b.txt", f"unsaved {number}\n")

        killed = shop.mortal(number, "before", call)
        shop.dev(8)

        saved = shop.git(shop.path, "for-each-ref", "--format=%(refname)", "refs/devclaw/rescue").split()
        texts = {shop.try_git(shop.path, "show", f"{ref}:b.txt").out.strip() for ref in saved}
        assert f"unsaved {number}" in texts, number
        assert any(shop.try_git(shop.path, "merge-base", "--is-ancestor", held, ref).code == 0 for ref in saved)
        assert shop.git(desk, "status", "--porcelain") == ""

    assert number > 15
