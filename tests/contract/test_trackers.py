"""What every issue tracker promises. Only the port is used, so a new adapter is held to it by one line in TRACKERS."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import cast

import pytest

from devclaw_py.errors import UnknownTask
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.finding import Severity
from devclaw_py.model.pipeline import State
from devclaw_py.rules.labels import COLOURS
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.faulty import FaultyTracker
from devclaw_py.trackers.local import LocalTracker
from devclaw_py.trackers.memory import MemoryTracker
from tests.forge.emulated import GitHub
from tests.forge.gitlab_hands import GitLab


def local(folder: Path) -> LocalTracker:
    return LocalTracker(folder / "issues", name="shop", clock=SystemClock(), timeout_s=15)


TRACKERS: dict[str, Callable[[Path], IssueProvider]] = {
    "local": local,
    "memory": lambda _: MemoryTracker("shop"),
    "memory that swaps": lambda _: MemoryTracker("shop", swaps=True),
    "faulty": lambda folder: FaultyTracker(local(folder)),
}

FORGES: dict[str, Callable[[pytest.FixtureRequest], IssueProvider]] = {
    "github": lambda request: cast(GitHub, request.getfixturevalue("github")).tracker(),
    "gitlab": lambda request: cast(GitLab, request.getfixturevalue("gitlab")).tracker(),
}

LABELS = {state.value: colour for state, colour in COLOURS.items()}

ABSENT = 999_999

BODIES = {
    "empty": "",
    "quotes": 'say "hi", it\'s `here`',
    "shell": "$(rm -rf /) `id` ${HOME} && echo \\ | tee",
    "unicode": "naïve 日本語 🚀 👩‍👩‍👧 \u202eabc",
    "fences": "---\nnumber: 9\n---\n\n---\nstate: closed\n---\n",
    "blank lines around": "\n\n  indented\n\n\n",
    "no newline at the end": "one\ntwo",
    "64 KB": "x" * 65_536,
    "markup": "<!-- devclaw:op=abc --> # not a title\n- [ ] *a* | b |",
}


@pytest.fixture(params=[*TRACKERS, *FORGES])
def tracker(request: pytest.FixtureRequest, tmp_path: Path) -> IssueProvider:
    made = FORGES[request.param](request) if request.param in FORGES else TRACKERS[request.param](tmp_path)
    made.ensure_labels(LABELS)
    return made


@pytest.fixture
def issue(tracker: IssueProvider) -> int:
    return tracker.create("An issue", "Do it.", labels=["To Do", "bug"]).number


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_body_comes_back_as_it_was_given(tracker: IssueProvider, body: str) -> None:
    number = tracker.create("An issue", body, labels=["To Do"]).number

    assert tracker.get(number).body == body


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES.keys())
def test_a_body_survives_a_move_and_a_close(tracker: IssueProvider, body: str) -> None:
    number = tracker.create("An issue", body, labels=["To Do"]).number

    tracker.take(number, "To Do")
    tracker.put(number, "Done")
    tracker.close(number)

    assert tracker.get(number).body == body


@pytest.mark.parametrize(
    "title", ["plain", "1.10", "yes", "null", "a: b # c", "'q' \"d\"", "🚀 日本語", "[x] {y}", "- &z *z"]
)
def test_a_title_comes_back_as_it_was_given(tracker: IssueProvider, title: str) -> None:
    assert tracker.get(tracker.create(title, "", labels=[]).number).title == title


def test_lone_surrogates_break_nothing(tracker: IssueProvider) -> None:
    number = tracker.create("a\ud800", "b\ud800", labels=[]).number
    tracker.comment(number, "c\ud800")

    assert tracker.get(number).body == "b\\ud800"
    assert [comment.body for comment in tracker.comments(number)] == ["c\\ud800"]


def test_what_create_returns_is_what_get_returns(tracker: IssueProvider) -> None:
    created = tracker.create("An issue", "Do it.", labels=["To Do", "bug"])

    assert tracker.get(created.number) == created


def test_a_new_issue_is_open_and_carries_its_labels(tracker: IssueProvider) -> None:
    created = tracker.create("An issue", "", labels=["To Do", "bug"])

    assert (created.closed, set(created.labels)) == (False, {"To Do", "bug"})


def test_a_new_issue_is_dated_now(tracker: IssueProvider) -> None:
    created = tracker.create("An issue", "", labels=[]).created

    assert created is not None
    assert abs(created - datetime.now(UTC)) < timedelta(minutes=5)


def test_a_new_issue_has_an_address(tracker: IssueProvider, issue: int) -> None:
    assert str(issue) in tracker.get(issue).url


def test_numbers_rise(tracker: IssueProvider) -> None:
    numbers = [tracker.create("An issue", "", labels=[]).number for _ in range(3)]

    assert numbers == sorted(set(numbers))


def test_the_queue_is_all_open_issues_with_the_label_lowest_number_first(tracker: IssueProvider) -> None:
    waiting = [tracker.create(f"Issue {count}", "", labels=["To Do"]).number for count in range(105)]
    tracker.create("Elsewhere", "", labels=["Doing"])
    tracker.close(waiting[7])

    assert [task.number for task in tracker.list_by_label("To Do")] == waiting[:7] + waiting[8:]


def test_an_issue_that_moved_left_the_queue(tracker: IssueProvider, issue: int) -> None:
    tracker.take(issue, "To Do")
    tracker.put(issue, "Doing")

    assert [task.number for task in tracker.list_by_label("To Do")] == []
    assert [task.number for task in tracker.list_by_label("Doing")] == [issue]


def test_all_issues_are_open_and_closed_ones_lowest_number_first(tracker: IssueProvider) -> None:
    numbers = [tracker.create(f"Issue {count}", "", labels=[]).number for count in range(3)]
    tracker.close(numbers[1])

    assert [(task.number, task.closed) for task in tracker.list_all()] == [
        (numbers[0], False),
        (numbers[1], True),
        (numbers[2], False),
    ]


@pytest.mark.parametrize(("newest", "kept"), [(0, 0), (2, 2), (9, 3)])
def test_the_newest_issues_are_those_of_the_highest_numbers(tracker: IssueProvider, newest: int, kept: int) -> None:
    numbers = [tracker.create(f"Issue {count}", "", labels=[]).number for count in range(3)]

    assert [task.number for task in tracker.list_all(newest=newest)] == numbers[3 - kept :]


def test_take_answers_what_is_left(tracker: IssueProvider, issue: int) -> None:
    assert tracker.take(issue, "To Do") == frozenset({"bug"})


def test_take_of_a_label_that_is_not_there_answers_none(tracker: IssueProvider, issue: int) -> None:
    assert tracker.take(issue, "Doing") is None
    assert set(tracker.get(issue).labels) == {"To Do", "bug"}


def test_only_the_first_take_succeeds(tracker: IssueProvider, issue: int) -> None:
    tracker.take(issue, "To Do")

    assert tracker.take(issue, "To Do") is None


def test_the_last_label_leaves_an_empty_set_not_none(tracker: IssueProvider) -> None:
    number = tracker.create("An issue", "", labels=["To Do"]).number

    assert tracker.take(number, "To Do") == frozenset()


def test_a_state_is_put_and_taken_as_any_label(tracker: IssueProvider, issue: int) -> None:
    tracker.put(issue, State.DOING)

    assert tracker.take(issue, State.TO_DO) == frozenset({"bug", "Doing"})
    assert set(tracker.get(issue).labels) == {"bug", "Doing"}


def test_put_answers_the_full_set(tracker: IssueProvider, issue: int) -> None:
    assert tracker.put(issue, "Doing") == {"To Do", "bug", "Doing"}


def test_put_of_a_label_that_is_there_changes_nothing(tracker: IssueProvider, issue: int) -> None:
    events = tracker.label_events(issue)

    assert tracker.put(issue, "To Do") == {"To Do", "bug"}
    assert tracker.label_events(issue) == events


@pytest.mark.parametrize("label", ["🚀 ship", "a:b", "needs/review", "two words", "'q'", "- x", "#1"])
def test_foreign_labels_survive_a_move(tracker: IssueProvider, label: str) -> None:
    number = tracker.create("An issue", "", labels=["To Do", label]).number

    tracker.take(number, "To Do")
    tracker.put(number, "Doing")

    assert set(tracker.get(number).labels) == {label, "Doing"}


def test_a_swap_changes_two_labels_and_answers_the_full_set(tracker: IssueProvider, issue: int) -> None:
    assert tracker.swap(issue, "To Do", "Doing") == {"bug", "Doing"}
    assert set(tracker.get(issue).labels) == {"bug", "Doing"}


def test_a_swap_takes_its_source_off_in_any_case(tracker: IssueProvider) -> None:
    number = tracker.create("An issue", "", labels=["to do"]).number

    assert tracker.swap(number, "To Do", "Doing") == {"Doing"}


def test_a_swap_does_not_ask_whether_its_source_is_there(tracker: IssueProvider, issue: int) -> None:
    assert tracker.swap(issue, "Testing", "Doing") == {"To Do", "bug", "Doing"}


def test_a_label_is_taken_in_any_case(tracker: IssueProvider, issue: int) -> None:
    assert tracker.take(issue, "to do") == frozenset({"bug"})


def test_comments_come_back_in_order_as_they_were_given(tracker: IssueProvider, issue: int) -> None:
    said = [body for body in BODIES.values() if body.strip()]
    for body in said:
        tracker.comment(issue, body)

    assert [comment.body for comment in tracker.comments(issue)] == said


def test_a_comment_is_answered_as_it_is_listed(tracker: IssueProvider, issue: int) -> None:
    comment = tracker.comment(issue, "Well done.")

    assert tracker.comments(issue) == [comment]


def test_comments_have_ids_of_their_own(tracker: IssueProvider, issue: int) -> None:
    assert tracker.comment(issue, "same").id != tracker.comment(issue, "same").id


def test_an_issue_can_be_closed_twice(tracker: IssueProvider, issue: int) -> None:
    tracker.close(issue)
    tracker.close(issue)

    assert tracker.get(issue).closed


def test_an_issue_can_be_reopened_twice(tracker: IssueProvider, issue: int) -> None:
    tracker.close(issue)
    tracker.reopen(issue)
    tracker.reopen(issue)

    assert not tracker.get(issue).closed


def test_a_closed_issue_can_be_moved(tracker: IssueProvider, issue: int) -> None:
    tracker.close(issue)

    assert tracker.take(issue, "To Do") == frozenset({"bug"})


def test_labels_can_be_ensured_again(tracker: IssueProvider) -> None:
    tracker.ensure_labels(LABELS)
    tracker.ensure_labels({"to do": "000000"})

    assert tracker.create("An issue", "", labels=["To Do"]).labels == ("To Do",)


def test_label_events_tell_each_move_oldest_first_as_ours(tracker: IssueProvider) -> None:
    number = tracker.create("An issue", "", labels=["To Do"]).number
    tracker.take(number, "To Do")
    tracker.put(number, "Doing")

    events = [(event.label, event.added, event.ours) for event in tracker.label_events(number)]
    assert events == [("To Do", True, True), ("To Do", False, True), ("Doing", True, True)]


def test_label_events_are_dated_now(tracker: IssueProvider, issue: int) -> None:
    assert abs(tracker.label_events(issue)[-1].at - datetime.now(UTC)) < timedelta(minutes=5)


def test_the_last_event_is_the_newest_of_that_label(tracker: IssueProvider, issue: int) -> None:
    tracker.take(issue, "To Do")
    tracker.put(issue, "Doing")

    event = tracker.last_event(issue, "to do")

    assert event is not None
    assert (event.added, event.ours) == (False, True)


def test_a_label_that_never_was_there_has_no_last_event(tracker: IssueProvider, issue: int) -> None:
    assert tracker.last_event(issue, "Testing") is None


def test_a_tracker_in_order_reports_nothing_bad(tracker: IssueProvider, issue: int) -> None:
    assert {finding.severity for finding in tracker.diagnose()} <= {Severity.OK}


ASKED: dict[str, Callable[[IssueProvider], object]] = {
    "get": lambda tracker: tracker.get(ABSENT),
    "take": lambda tracker: tracker.take(ABSENT, "To Do"),
    "put": lambda tracker: tracker.put(ABSENT, "To Do"),
    "swap": lambda tracker: tracker.swap(ABSENT, "To Do", "Doing"),
    "comment": lambda tracker: tracker.comment(ABSENT, "x"),
    "comments": lambda tracker: tracker.comments(ABSENT),
    "close": lambda tracker: tracker.close(ABSENT),
    "reopen": lambda tracker: tracker.reopen(ABSENT),
    "last_event": lambda tracker: tracker.last_event(ABSENT, "To Do"),
    "label_events": lambda tracker: tracker.label_events(ABSENT),
}


@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED.keys())
def test_an_issue_that_is_not_there_is_an_unknown_task(
    tracker: IssueProvider, ask: Callable[[IssueProvider], object]
) -> None:
    with pytest.raises(UnknownTask, match=str(ABSENT)):
        ask(tracker)
