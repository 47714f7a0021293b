"""Which tier gets a task."""

from __future__ import annotations

import pytest

from devclaw_py.errors import RoleMismatch, UnknownTier
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.rules.tiers import Choice, choose


def guess(title: str, body: str = "") -> Choice:
    return choose(Role.DEV, given=None, labels=(), title=title, body=body)


@pytest.mark.parametrize(
    "title",
    [
        "Fix typo in README",
        "Typos on the landing page",
        "docs: typo",
        "Spelling mistakes in the help page",
        "Wording of the sign-up mail",
        "Copy change on the pricing page",
        "Copy changes",
        "Fix copy",
        "Update the copy",
        "Update the copy on the landing page",
        "Change the button text",
        "Update text in the footer",
        "Change color of the header",
        "Change the colour of all links",
        "CSS: footer overlaps the button",
        "Restyle the login form",
        "Style of the table header",
        "Rename getUser to fetchUser",
        "Renames in the config module",
        "minor fix in the footer",
        "Small CSS tweak",
        "Minor: drop the unused import",
    ],
)
def test_an_easy_word_in_the_title_makes_a_junior(title: str) -> None:
    assert guess(title).tier is Tier.JUNIOR


@pytest.mark.parametrize(
    "title",
    [
        "Redesign the security architecture of the copy service",
        "Database migration: rename customer id",
        "Migrate sessions to Redis",
        "Refactoring of the payment module",
        "Refactor the router and fix a typo",
        "System-wide logging",
        "system wide error codes",
        "New database schema for orders",
        "Performance of the search page",
        "Infrastructure for nightly builds",
        "Multi-service tracing",
        "Re-architect the queue",
        "Fix typo in the security policy",
    ],
)
def test_a_hard_word_makes_a_senior_whatever_else_stands_there(title: str) -> None:
    assert guess(title).tier is Tier.SENIOR


@pytest.mark.parametrize(
    "title",
    [
        "Add a login page",
        "Copy service returns 500",
        "Fix the copy service",
        "Fix the copy and paste of tables",
        "Photocopy of the invoice is rejected",
        "Update full text search",
        "Small files are not uploaded",
        "Bump the minor version of the API",
        "Lifestyle section on the home page",
        "Support renaming a project",
        "Users cannot rename a project",
        "Users can't rename a project",
        "Typo-tolerant search",
        "Style guide generator",
        "Smaller images",
        "添加登录页面",
        "修复重命名问题",
        "",
    ],
)
def test_a_title_without_a_telling_word_makes_a_medior(title: str) -> None:
    assert guess(title).tier is Tier.MEDIOR


def test_an_easy_word_in_the_body_alone_does_not_make_a_junior() -> None:
    assert guess("Add a login page", "Mind the CSS and fix any typo.").tier is Tier.MEDIOR


def test_a_hard_word_in_the_body_makes_a_senior() -> None:
    assert guess("Fix typo", "It is part of the migration.").tier is Tier.SENIOR


def test_a_hard_word_that_is_denied_does_not_count() -> None:
    assert guess("Fix typo", "There is no performance impact, and this is not a security issue.").tier is Tier.JUNIOR


def test_a_hard_word_in_a_hidden_comment_does_not_count() -> None:
    assert guess("Fix typo", "<!-- template: mention any security impact -->").tier is Tier.JUNIOR


def test_an_easy_title_over_a_hundred_words_makes_a_medior() -> None:
    assert guess("Fix typo", "word " * 100).tier is Tier.MEDIOR


def test_ninety_nine_words_are_still_junior_work() -> None:
    assert guess("Fix typo", "word " * 97).tier is Tier.JUNIOR


def test_over_five_hundred_words_make_a_senior() -> None:
    assert guess("Fix typo", "word " * 500).tier is Tier.SENIOR


@pytest.mark.parametrize(
    ("title", "word"),
    [("Fix typo in README", '"typo"'), ("Refactoring of x", '"refactoring"'), ("x " * 501, "501 words")],
)
def test_the_reason_names_what_decided(title: str, word: str) -> None:
    assert word in guess(title).reason


@pytest.mark.parametrize("tier", [Tier.JUNIOR, Tier.MEDIOR, Tier.SENIOR])
def test_a_given_tier_beats_label_and_words(tier: Tier) -> None:
    chosen = choose(Role.DEV, given=tier.value, labels=["senior"], title="Fix typo", body="")

    assert (chosen.tier, chosen.source) == (tier, "given")


def test_a_label_beats_the_words() -> None:
    chosen = choose(Role.DEV, given=None, labels=["bug", "Senior"], title="Fix typo", body="")

    assert (chosen.tier, chosen.source) == (Tier.SENIOR, "label")


def test_the_highest_of_several_tier_labels_counts() -> None:
    assert choose(Role.DEV, given=None, labels=["junior", "medior"], title="x", body="").tier is Tier.MEDIOR


def test_a_qa_label_does_not_change_a_dev_task() -> None:
    assert choose(Role.DEV, given=None, labels=["qa"], title="Fix typo", body="").tier is Tier.JUNIOR


def test_qa_is_qa_whatever_label_the_issue_carries() -> None:
    chosen = choose(Role.QA, given=None, labels=["senior"], title="Migration", body="")

    assert (chosen.tier, chosen.source) == (Tier.QA, "role")


@pytest.mark.parametrize("role", list(Role))
def test_an_unknown_tier_is_refused_with_the_four_that_exist(role: Role) -> None:
    with pytest.raises(UnknownTier, match=r"'banana'.*junior, medior, senior, qa"):
        choose(role, given="banana", labels=(), title="x", body="")


@pytest.mark.parametrize(("role", "given"), [(Role.QA, "senior"), (Role.DEV, "qa")])
def test_a_tier_of_the_other_role_is_refused(role: Role, given: str) -> None:
    with pytest.raises(RoleMismatch):
        choose(role, given=given, labels=(), title="x", body="")
