"""The demo's workers judge by what the tests say, whatever the story wants."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from devclaw_py.demo import dev, qa
from devclaw_py.demo.desk import ShellDesk, Verdict
from devclaw_py.demo.message import Assignment
from devclaw_py.demo.repository import make_repository, run_tests
from devclaw_py.demo.story import OFFERS, ROUNDING, TYPO, Chapter
from devclaw_py.model.pipeline import Result, Role


@pytest.fixture
def desk(tmp_path: Path, needed: object) -> ShellDesk:
    """The sample repository on a branch, as a worker finds it."""
    assert callable(needed)
    needed("git")
    git = make_repository(tmp_path / "till")
    git.run(tmp_path / "till", "switch", "--quiet", "--create", "work", asked="make a branch")
    return ShellDesk(folder=tmp_path / "till", git=git, environ={**os.environ})


def task(chapter: Chapter, sent_back: str | None = None, title: str | None = None) -> Assignment:
    return Assignment(role=Role.DEV, issue=1, attempt=1, base="main", title=title or chapter.title, sent_back=sent_back)


def judged(desk: ShellDesk, chapter: Chapter) -> Verdict:
    return qa.work(desk, task(chapter))


def commit(desk: ShellDesk, path: str, text: str) -> None:
    (desk.folder / path).write_text(text)
    desk.run("add", "--all")
    desk.run("commit", "--quiet", "-m", "change")


@pytest.mark.parametrize("chapter", [TYPO, ROUNDING, OFFERS], ids=lambda chapter: chapter.title)
def test_qa_fails_a_branch_on_which_nothing_was_done(desk: ShellDesk, chapter: Chapter) -> None:
    verdict = judged(desk, chapter)

    assert verdict.result is Result.FAIL
    assert verdict.summary.startswith("What the issue asks for is not there")


def test_qa_fails_what_breaks_a_test_that_passes_on_the_base_branch(desk: ShellDesk) -> None:
    dev.work(desk, task(TYPO))
    commit(desk, "till/basket.py", (desk.folder / "till/basket.py").read_text().replace("sum(", "1 + sum("))

    verdict = judged(desk, TYPO)

    assert verdict.result is Result.FAIL
    assert "tests.test_basket.TestBasket.test_an_empty_basket_costs_nothing" in verdict.summary
    assert "AssertionError: 1 != 0" in verdict.summary


def test_qa_fails_a_branch_whose_tests_cannot_be_run(desk: ShellDesk) -> None:
    commit(desk, "till/prices.py", "def (")

    assert judged(desk, TYPO).result is Result.FAIL


def test_qa_passes_what_is_done_although_the_base_branch_has_a_red_test(desk: ShellDesk) -> None:
    assert dev.work(desk, task(TYPO)).result is Result.DONE

    verdict = judged(desk, TYPO)

    assert verdict.result is Result.PASS
    assert "red on main before: tests.test_prices.TestDiscount.test_half_a_cent_goes_up" in verdict.summary


def test_the_first_attempt_at_rounding_fails_and_the_second_passes_by_what_qa_said(desk: ShellDesk) -> None:
    dev.work(desk, task(ROUNDING))
    failed = judged(desk, ROUNDING)
    assert failed.result is Result.FAIL

    again = dev.work(desk, task(ROUNDING, sent_back=failed.summary))

    assert again.result is Result.DONE
    assert judged(desk, ROUNDING).result is Result.PASS


def test_dev_asks_for_a_person_when_what_qa_names_passes(desk: ShellDesk) -> None:
    reason = "FAIL: x (tests.test_basket.TestBasket.test_an_empty_basket_costs_nothing)"

    verdict = dev.work(desk, task(ROUNDING, sent_back=reason))

    assert verdict.result is Result.BLOCKED
    assert "here they pass" in verdict.summary


def test_dev_asks_for_a_person_when_the_issue_is_not_of_the_story(desk: ShellDesk) -> None:
    assert dev.work(desk, task(TYPO, title="Add a footer")).result is Result.BLOCKED


def test_dev_asks_for_a_person_when_a_file_is_not_as_expected(desk: ShellDesk) -> None:
    commit(desk, "till/receipt.py", (desk.folder / "till/receipt.py").read_text().replace("for you", "for your"))

    assert dev.work(desk, task(TYPO)).result is Result.BLOCKED


def test_an_edit_of_the_same_length_within_a_second_is_seen_by_the_next_run(desk: ShellDesk) -> None:
    path = desk.folder / "till/prices.py"
    before = run_tests(desk.folder, environ={**os.environ}).red
    path.write_text(path.read_text().replace("* (100 - percent)", "* (101 - percent)"))

    assert run_tests(desk.folder, environ={**os.environ}).red != before
