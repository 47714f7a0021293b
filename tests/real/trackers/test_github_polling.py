"""Polling an emulated GitHub: what it costs when nothing happens, and that nothing is missed when something does."""

from __future__ import annotations

import re
import time
from datetime import timedelta

import pytest

from devclaw_py.errors import InvalidArguments
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.model.pipeline import State
from devclaw_py.rules.labels import COLOURS
from devclaw_py.trackers.forge import poll
from devclaw_py.trackers.forge.budget import Pace
from devclaw_py.trackers.github.tracker import GitHubTracker
from tests.forge.emulated import GitHub
from tests.forge.proxy import Answer, Fault, said


@pytest.fixture
def tracker(github: GitHub) -> GitHubTracker:
    """A tracker on a clock that stands still, whose labels are there."""
    github.clock = VirtualClock()
    made = github.tracker()
    made.ensure_labels({state.value: colour for state, colour in COLOURS.items()})
    return made


def waiting(tracker: GitHubTracker) -> list[int]:
    return [task.number for task in tracker.list_by_label("To Do")]


def by_hand(github: GitHub, *labels: str) -> int:
    number: int = github.human("POST", "/issues", {"title": "By hand", "labels": list(labels)})["number"]
    return number


def test_an_idle_poll_is_one_list_call_that_costs_nothing(github: GitHub, tracker: GitHubTracker) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    waiting(tracker)
    waiting(tracker)
    github.proxy.clear()

    for _ in range(20):
        waiting(github.tracker())

    assert [status for _, status in github.proxy.log] == [304] * 20
    assert (github.proxy.used, github.proxy.not_modified) == (0, 20)


def test_the_look_for_issues_labelled_by_hand_costs_nothing_when_idle(github: GitHub, tracker: GitHubTracker) -> None:
    waiting(tracker)
    github.proxy.clear()

    for _ in range(10):
        github.clock.sleep(121)
        waiting(tracker)

    assert [status for _, status in github.proxy.log] == [304] * 20


def test_all_queues_of_a_status_are_one_list_call(github: GitHub, tracker: GitHubTracker) -> None:
    waiting(tracker)
    github.proxy.clear()

    for state in State:
        tracker.list_by_label(state)

    assert len(github.proxy.log) == 1


def test_open_and_closed_issues_come_from_the_same_list(github: GitHub, tracker: GitHubTracker) -> None:
    first, second = (tracker.create("An issue", "", labels=["To Do"]).number for _ in range(2))
    tracker.close(second)
    waiting(tracker)
    github.proxy.clear()

    assert [(task.number, task.closed) for task in tracker.list_all()] == [(first, False), (second, True)]
    assert [status for _, status in github.proxy.log] == [304]


def test_what_another_process_changed_is_seen_at_the_next_poll(github: GitHub, tracker: GitHubTracker) -> None:
    number = tracker.create("An issue", "", labels=["To Do"]).number
    assert waiting(tracker) == [number]

    github.human("DELETE", f"/issues/{number}/labels/To%20Do")

    assert waiting(tracker) == []


def test_a_second_change_within_one_second_is_seen(github: GitHub, tracker: GitHubTracker) -> None:
    def at_once(answer: Answer) -> Answer:
        answer.content = re.sub(rb'"updated_at":"[^"]*"', b'"updated_at":"2026-01-02T03:04:05Z"', answer.content)
        return answer

    number = tracker.create("An issue", "", labels=["To Do"]).number
    github.proxy.faults.append(Fault(r"^GET .*/issues\?", edit=at_once, times=20))
    seen = [waiting(tracker)]
    for label in ("Doing", "To Do"):
        github.human("PUT", f"/issues/{number}/labels", {"labels": [label, "devclaw"]})
        seen.append(waiting(tracker))

    assert seen == [[number], [], [number]]


def test_of_a_long_list_only_the_page_with_changes_is_read(
    github: GitHub, tracker: GitHubTracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(poll, "OVERLAP", timedelta(0))  # the issues are made within seconds
    numbers = [tracker.create(f"Issue {count}", "", labels=["To Do"]).number for count in range(129)]
    second = int(time.time())
    while int(time.time()) == second:
        time.sleep(0.02)
    numbers.append(tracker.create("The newest, of a later second", "", labels=["To Do"]).number)
    assert waiting(tracker) == numbers
    github.clock.sleep(1)
    tracker.close(numbers[0])
    github.proxy.clear()

    assert waiting(tracker) == numbers[1:]
    assert [status for _, status in github.proxy.log] == [200, 304]
    github.proxy.clear()
    assert waiting(tracker) == numbers[1:]
    assert [status for _, status in github.proxy.log] == [304]


def test_a_long_list_is_read_whole_once_an_hour(github: GitHub, tracker: GitHubTracker) -> None:
    numbers = [tracker.create(f"Issue {count}", "", labels=["To Do"]).number for count in range(101)]
    waiting(tracker)
    github.clock.sleep(timedelta(hours=1).total_seconds())
    github.proxy.clear()

    assert waiting(tracker) == numbers
    assert len([line for line in github.proxy.lines() if "page=2" in line]) == 1


def test_an_issue_that_moves_between_two_pages_is_not_missed(github: GitHub, tracker: GitHubTracker) -> None:
    numbers = [tracker.create(f"Issue {count}", "", labels=["To Do"]).number for count in range(101)]
    # The oldest one comes to the top of page 1, which was read, while page 2, where it was, is asked for.
    moved = Fault(r"[?&]page=2", before=lambda: github.human("POST", f"/issues/{numbers[0]}/labels", {"labels": ["x"]}))
    github.proxy.faults.append(moved)

    assert waiting(tracker) == numbers


def test_another_token_costs_a_full_answer_and_changes_nothing(github: GitHub, tracker: GitHubTracker) -> None:
    number = tracker.create("An issue", "", labels=["To Do"]).number
    waiting(tracker)
    github.proxy.clear()
    github.token = "tok_human"

    assert waiting(github.tracker()) == [number]
    assert [status for _, status in github.proxy.log] == [200]


def test_an_issue_labelled_by_hand_before_the_first_poll_is_taken_in(github: GitHub, tracker: GitHubTracker) -> None:
    number = by_hand(github, "To Do")

    assert waiting(tracker) == [number]
    assert github.labels(number) == {"To Do", "devclaw"}


def test_an_issue_labelled_by_hand_is_taken_in_within_two_minutes(github: GitHub, tracker: GitHubTracker) -> None:
    waiting(tracker)
    number = by_hand(github, "to do")
    by_hand(github, "bug")

    assert waiting(tracker) == []
    github.clock.sleep(120)
    assert waiting(tracker) == [number]


def test_an_issue_that_cannot_be_labelled_is_listed_all_the_same(github: GitHub, tracker: GitHubTracker) -> None:
    number = by_hand(github, "To Do")
    archived = said(403, {"message": "Repository was archived so is read-only."})
    github.proxy.faults.append(Fault("^POST", instead=archived))

    assert waiting(tracker) == [number]
    assert waiting(tracker) == [number]
    github.clock.sleep(120)
    assert waiting(tracker) == [number]
    assert github.labels(number) == {"To Do", "devclaw"}


def test_taking_in_many_issues_leaves_room_for_the_end_of_a_move(github: GitHub, tracker: GitHubTracker) -> None:
    numbers = [by_hand(github, "To Do") for _ in range(8)]
    client = github.client(pace=Pace(per_minute=6))
    github.clock.sleep(61)

    assert waiting(github.tracker(client)) == numbers
    assert client.budget.left()[0] == 1


def test_an_issue_without_a_state_stays_in_the_list(github: GitHub, tracker: GitHubTracker) -> None:
    number = tracker.create("An issue", "", labels=["To Do"]).number
    github.human("DELETE", f"/issues/{number}/labels/To%20Do")

    assert [(task.number, task.labels) for task in tracker.list_all()] == [(number, ())]


def test_a_state_deleted_in_the_settings_leaves_its_issues_in_the_list_and_is_named(
    github: GitHub, tracker: GitHubTracker
) -> None:
    number = tracker.create("An issue", "", labels=["To Do"]).number
    github.human("DELETE", "/labels/To%20Do")

    assert [task.number for task in tracker.list_all()] == [number]
    assert [found.message for found in tracker.diagnose() if "To Do was deleted" in found.message] != []


def test_a_state_renamed_in_the_settings_is_named_with_its_new_name(github: GitHub, tracker: GitHubTracker) -> None:
    github.human("PATCH", "/labels/To%20Do", {"new_name": "Backlog"})

    assert [found.message for found in tracker.diagnose() if "To Do was renamed to Backlog" in found.message] != []


def test_pull_requests_in_the_list_are_passed_over_without_a_request_each(
    github: GitHub, tracker: GitHubTracker
) -> None:
    number = tracker.create("An issue", "", labels=["To Do"]).number

    def among_requests(answer: Answer) -> Answer:
        (issue,) = answer.body
        requests = [{**issue, "number": 1000 + count, "pull_request": {"url": "x"}} for count in range(99)]
        return said(200, [*requests, issue])

    github.proxy.faults.append(Fault("labels=devclaw", edit=among_requests))
    github.proxy.log.clear()

    assert waiting(tracker) == [number]
    assert [line for line in github.proxy.lines() if "/issues/" in line or "/pulls" in line] == []


def test_the_newest_issues_are_found_with_one_request(github: GitHub, tracker: GitHubTracker) -> None:
    numbers = [tracker.create("An issue", "<!-- devclaw:op=abc -->", labels=[]).number for _ in range(3)]
    github.proxy.clear()

    assert [task.number for task in tracker.list_all(newest=100)] == numbers
    assert len(github.proxy.log) == 1


def test_a_file_that_is_torn_costs_a_poll_and_nothing_else(github: GitHub, tracker: GitHubTracker) -> None:
    number = tracker.create("An issue", "", labels=["To Do"]).number
    waiting(tracker)
    (github.folder / f"issues-{github.forge.id}.json").write_text('{"etag": "W/')

    assert waiting(tracker) == [number]


def test_a_label_with_a_comma_is_refused(tracker: GitHubTracker) -> None:
    with pytest.raises(InvalidArguments, match="comma"):
        tracker.ensure_labels({"a,b": "ffffff"})
    with pytest.raises(InvalidArguments, match="comma"):
        tracker.create("An issue", "", labels=["a,b"])


def test_labels_that_another_process_makes_at_once_are_no_error(github: GitHub, tracker: GitHubTracker) -> None:
    github.human("POST", "/labels", {"name": "mine", "color": "ffffff"})
    github.proxy.faults.append(Fault("^GET .*/labels", edit=lambda _: said(200, [])))

    tracker.ensure_labels({"Mine": "000000"})


def test_a_colour_that_github_does_not_know_is_an_error(tracker: GitHubTracker) -> None:
    with pytest.raises(Exception, match="does not make the label"):
        tracker.ensure_labels({"new": "abc"})


def test_what_is_kept_of_the_issues_is_readable_by_its_owner_only(github: GitHub, tracker: GitHubTracker) -> None:
    waiting(tracker)

    assert {
        path.stat().st_mode & 0o077 for path in (github.folder, github.folder / f"issues-{github.forge.id}.json")
    } == {0}
