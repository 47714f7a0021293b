from __future__ import annotations

import pytest

from devclaw_py.demo.sample import FILES
from devclaw_py.demo.story import CHAPTERS, OFFERS, ROUNDING, TYPO, Chapter, chapter_of
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.rules.tiers import choose


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda chapter: chapter.title)
def test_every_edit_finds_its_place_in_what_the_turn_before_it_left(chapter: Chapter) -> None:
    files = dict(FILES)
    for edit in (edit for turn in chapter.turns for edit in turn.edits):
        before = files.get(edit.path, "")
        assert before.count(edit.old) == 1 if edit.old else edit.path not in files
        files[edit.path] = before.replace(edit.old, edit.new) if edit.old else edit.new


@pytest.mark.parametrize(
    ("chapter", "tier"), [(TYPO, Tier.JUNIOR), (ROUNDING, Tier.MEDIOR), (OFFERS, Tier.SENIOR)], ids=lambda each: None
)
def test_the_three_issues_go_to_the_three_tiers_by_their_words(chapter: Chapter, tier: Tier) -> None:
    assert choose(Role.DEV, given=None, labels=[], title=chapter.title, body=chapter.body).tier is tier


def test_no_two_issues_touch_the_same_file() -> None:
    touched = [{edit.path for turn in chapter.turns for edit in turn.edits} for chapter in CHAPTERS]

    assert sum(map(len, touched)) == len(set.union(*touched))


def test_an_issue_that_is_not_of_the_story_has_no_chapter() -> None:
    assert chapter_of("Add a footer") is None
