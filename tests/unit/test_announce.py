"""What a group is told."""

from __future__ import annotations

import pytest

from devclaw_py.chat.text import one_line, plain
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.pipeline import Integration, Result, Role, SessionAction, State, Tier
from devclaw_py.model.task import TaskRef
from devclaw_py.rules import announce

TASK = TaskRef(number=42, title="Add a login page", url="https://example.org/42")
BARE = TaskRef(number=42, title="Add a login page")


@pytest.mark.parametrize(
    ("told", "text"),
    [
        (
            announce.picked_up(BARE, Role.DEV, Tier.MEDIOR, SessionAction.SPAWN),
            "🔧 Spawning DEV (medior) for #42: Add a login page",
        ),
        (
            announce.picked_up(BARE, Role.DEV, Tier.JUNIOR, SessionAction.SEND),
            "⚡ Sending DEV (junior) for #42: Add a login page",
        ),
        (
            announce.picked_up(BARE, Role.DEV, Tier.SENIOR, SessionAction.RESUME),
            "🧠 Resuming DEV (senior) for #42: Add a login page",
        ),
        (
            announce.picked_up(BARE, Role.QA, Tier.QA, SessionAction.SPAWN),
            "🔍 Spawning QA (qa) for #42: Add a login page",
        ),
        (
            announce.completed(BARE, Role.DEV, Result.DONE, "Form added"),
            "✅ DEV done #42 — Form added. Moved to QA queue.",
        ),
        (announce.completed(BARE, Role.DEV, Result.DONE), "✅ DEV done #42. Moved to QA queue."),
        (
            announce.completed(BARE, Role.QA, Result.PASS, "All 12 tests pass.", merged_into="main"),
            "🎉 QA PASS #42 — All 12 tests pass. Merged into main, issue closed.",
        ),
        (announce.completed(BARE, Role.QA, Result.PASS), "🎉 QA PASS #42. Issue closed."),
        (
            announce.completed(BARE, Role.QA, Result.FAIL, "500 on save"),
            "❌ QA FAIL #42 — 500 on save. Sent back to DEV.",
        ),
        (
            announce.completed(BARE, Role.QA, Result.REFINE, "Which roles?"),
            "🤔 QA REFINE #42 — Which roles? Awaiting human decision.",
        ),
        (
            announce.completed(BARE, Role.DEV, Result.BLOCKED, "no API key"),
            "🚫 DEV BLOCKED #42 — no API key. Needs a human.",
        ),
        (
            announce.pass_undone(BARE, "", "conflict in app.py"),
            "🔀 QA passed #42. The work cannot be merged: conflict in app.py. Sent back to DEV.",
        ),
        (announce.waits(BARE, "tracker down"), "⏳ #42: Add a login page waits: tracker down."),
        (
            announce.merge_awaited(BARE, "Works", "main", Integration.HUMAN),
            "🎉 QA PASS #42 — Works. Issue closed; a person has yet to merge its work into main.",
        ),
        (announce.created(BARE, State.TO_DO), "📋 Created #42: Add a login page (To Do)"),
        (
            announce.updated(BARE, State.PLANNING, State.TO_DO, "approved"),
            "🔄 Updated #42: Planning → To Do (approved)",
        ),
        (announce.updated(BARE, None, State.TO_DO), "🔄 Updated #42: no state → To Do"),
        (announce.unchanged(BARE, State.TO_DO), "🔄 #42 is in To Do already"),
        (announce.commented(BARE, "qa"), "💬 Comment added to #42 by QA"),
        (announce.commented(BARE, None), "💬 Comment added to #42"),
        (
            announce.registered("shop", "Dev - Shop", labels=8, roles_written=True),
            '📋 Project "shop" registered for Dev - Shop. 8 labels created. Role files written. Ready for tasks.',
        ),
        (
            announce.project_changed("shop", {"baseBranch": ("main", "dev")}),
            '🛠️ Project "shop": baseBranch: main → dev',
        ),
        (announce.set_up("/ws", written=["AGENTS.md"]), "🧰 DevClaw is set up in /ws: AGENTS.md"),
        (
            announce.queue(
                "shop", {State.TO_IMPROVE: 0, State.TO_TEST: 1, State.TO_DO: 2}, {Role.DEV: 42, Role.QA: None}
            ),
            "📊 shop: 1 To Test, 2 To Do. DEV on #42, QA idle",
        ),
        (announce.health([]), "💚 All healthy"),
        (announce.recovered(BARE, "the report was carried out"), "🩹 Recovered #42: the report was carried out."),
        (
            announce.conflict(BARE, Role.DEV, State.PLANNING),
            "🤚 #42 was moved to Planning by somebody else and stays there. DEV stops.",
        ),
        (announce.released(BARE, Role.QA, "its session is gone"), "👋 QA left #42: its session is gone."),
    ],
)
def test_a_group_reads_this_of_the_outcome(told: Announcement, text: str) -> None:
    assert plain(told) == text


def test_a_link_stands_on_the_second_line() -> None:
    told = announce.picked_up(TASK, Role.DEV, Tier.MEDIOR, SessionAction.SPAWN).noting("⚠️ dirty")

    assert plain(told).splitlines()[1:] == ["🔗 https://example.org/42", "⚠️ dirty"]


def test_findings_are_told_gravest_first_with_what_was_mended() -> None:
    told = announce.health(
        [
            Finding(type="a", severity=Severity.WARNING, message="slow"),
            Finding(type="b", severity=Severity.OK, message="fine"),
            Finding(type="c", severity=Severity.CRITICAL, message="dead", project="shop", fixed=True),
        ]
    )

    assert plain(told).splitlines() == ["🩺 2 findings, 1 mended", "🩹 shop: dead", "⚠️ slow"]


@pytest.mark.parametrize("title", ["a\nb", "a\r\nb", "a\x1b[31mb", "a\u2028b", "a\u202eb", "a\x00b"])
def test_a_title_cannot_start_a_line_or_hide_anything(title: str) -> None:
    said = plain(announce.created(TaskRef(number=1, title=title), State.TO_DO))

    assert len(said.splitlines()) == 1
    assert not set(said) & set("\x1b\u202e\x00")


def test_a_summary_of_many_lines_is_told_on_one() -> None:
    told = announce.completed(BARE, Role.QA, Result.FAIL, "1 failed\n  in test_login\n")

    assert plain(told) == "❌ QA FAIL #42 — 1 failed in test_login. Sent back to DEV."


def test_a_summary_of_a_thousand_words_leaves_the_outcome_readable() -> None:
    said = plain(announce.completed(BARE, Role.QA, Result.FAIL, "word " * 1000))

    assert said.endswith("… Sent back to DEV.")


def test_a_very_long_title_is_cut() -> None:
    assert len(plain(announce.created(TaskRef(number=1, title="x" * 5000), State.TO_DO))) == 1000


def test_joined_emoji_survive() -> None:
    assert one_line("👩‍💻 works") == "👩‍💻 works"


def test_a_summary_with_output_is_told_by_its_first_paragraph() -> None:
    told = announce.completed(BARE, Role.QA, Result.FAIL, "1 of 6 tests broke\n\n$ python3 -m unittest\nF")

    assert told.text == "QA FAIL #42 — 1 of 6 tests broke. Sent back to DEV."
