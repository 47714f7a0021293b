"""Moves on an emulated GitHub: how many requests they are, and what stands when something comes between two of them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from devclaw_py.errors import (
    CommentRefused,
    TrackerAuth,
    TrackerDenied,
    TrackerUnavailable,
    TransferredTask,
    UnknownTask,
)
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.pipeline import State
from devclaw_py.trackers import move
from devclaw_py.trackers.github.tracker import GitHubTracker
from devclaw_py.trackers.move import Moved
from tests.forge.emulated import GitHub
from tests.forge.proxy import Answer, Fault, said

TO_DO, DOING, TO_TEST = State.TO_DO, State.DOING, State.TO_TEST


@pytest.fixture
def tracker(github: GitHub) -> GitHubTracker:
    return github.tracker()


@pytest.fixture
def issue(github: GitHub, tracker: GitHubTracker) -> int:
    number = tracker.create("An issue", "Do it.", labels=["To Do", "bug"]).number
    github.proxy.log.clear()
    return number


def moved(tracker: GitHubTracker, issue: int) -> None:
    move.take(tracker, issue, TO_DO)
    move.put(tracker, issue, DOING)


def moved_by_hand(github: GitHub, issue: int, to: str) -> None:
    for label in github.labels(issue) & set(State):
        github.human("DELETE", f"/issues/{issue}/labels/{label.replace(' ', '%20')}")
    github.human("POST", f"/issues/{issue}/labels", {"labels": [to]})


def test_a_move_is_two_requests(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    moved(tracker, issue)

    assert github.proxy.lines() == [
        f"DELETE /repositories/{github.forge.id}/issues/{issue}/labels/To%20Do",
        f"POST /repositories/{github.forge.id}/issues/{issue}/labels",
    ]
    assert github.labels(issue) == {"Doing", "bug", "devclaw"}


def test_a_human_who_was_quicker_keeps_the_issue(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    github.proxy.faults.append(Fault("^DELETE", before=lambda: moved_by_hand(github, issue, "To Test")))

    with pytest.raises(Moved) as raised:
        moved(tracker, issue)

    assert raised.value.found == (TO_TEST,)
    assert github.labels(issue) == {"To Test", "bug", "devclaw"}


def test_a_human_between_the_two_requests_keeps_the_issue(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    theirs = Fault("^POST .*/labels$", before=lambda: moved_by_hand(github, issue, "To Test"))
    github.proxy.faults.append(theirs)

    with pytest.raises(Moved):
        moved(tracker, issue)

    assert github.labels(issue) == {"To Test", "bug", "devclaw"}


def test_a_label_that_a_human_adds_meanwhile_stays(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    urgent = Fault("^POST", before=lambda: github.human("POST", f"/issues/{issue}/labels", {"labels": ["urgent"]}))
    github.proxy.faults.append(urgent)

    moved(tracker, issue)

    assert github.labels(issue) == {"Doing", "bug", "urgent", "devclaw"}


@pytest.mark.parametrize("drop", ["before", "after"])
def test_a_take_without_an_answer_is_sent_once_and_told_by_the_history(
    github: GitHub, tracker: GitHubTracker, issue: int, drop: str
) -> None:
    since = SystemClock().now()
    github.proxy.faults.append(Fault("^DELETE", drop=drop))

    with pytest.raises(TrackerUnavailable):
        move.take(tracker, issue, TO_DO)

    assert [line for line in github.proxy.lines() if line.startswith("DELETE")] == [
        f"DELETE /repositories/{github.forge.id}/issues/{issue}/labels/To%20Do"
    ]
    assert move.taken(github.tracker(), issue, TO_DO, since=since) is (drop == "after")


def test_a_take_that_was_answered_502_and_done_is_told_by_the_history(
    github: GitHub, tracker: GitHubTracker, issue: int
) -> None:
    since = SystemClock().now()
    github.proxy.faults.append(Fault("^DELETE", edit=lambda _: said(502, {"message": "Bad Gateway"})))

    with pytest.raises(TrackerUnavailable):
        move.take(tracker, issue, TO_DO)

    assert move.taken(tracker, issue, TO_DO, since=since)


@pytest.mark.parametrize("method", ["comment", "create", "close", "put"])
def test_a_write_that_was_answered_502_is_not_sent_again(
    github: GitHub, tracker: GitHubTracker, issue: int, method: str
) -> None:
    acts: dict[str, Callable[[], object]] = {
        "comment": lambda: tracker.comment(issue, "Well done."),
        "create": lambda: tracker.create("Another", "", labels=["To Do"]),
        "close": lambda: tracker.close(issue),
        "put": lambda: tracker.put(issue, "Doing"),
    }
    github.proxy.faults.append(Fault("^(POST|PATCH)", edit=lambda _: said(502, {"message": "Bad Gateway"}), times=9))

    with pytest.raises(TrackerUnavailable):
        acts[method]()

    assert len(github.proxy.log) == 1


def test_a_read_is_sent_again_when_its_answer_was_lost(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    github.proxy.faults.append(Fault("^GET", drop="before"))

    assert tracker.get(issue).number == issue


def test_what_close_did_can_be_read_back_after_a_502(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    github.proxy.faults.append(Fault("^PATCH", edit=lambda _: said(502, {"message": "Bad Gateway"})))

    with pytest.raises(TrackerUnavailable):
        tracker.close(issue)

    assert tracker.get(issue).closed
    assert github.human("GET", f"/issues/{issue}")["state_reason"] == "completed"


@pytest.mark.parametrize("label", ["needs/review", "🚀 ship", "a:b", "what?", "#1", "100%"])
def test_a_label_is_taken_whatever_its_name_is(github: GitHub, tracker: GitHubTracker, issue: int, label: str) -> None:
    tracker.put(issue, label)

    assert tracker.take(issue, label) == frozenset({"To Do", "bug"})


def test_a_state_put_by_hand_in_another_spelling_is_that_state(
    github: GitHub, tracker: GitHubTracker, issue: int
) -> None:
    assert tracker.put(issue, "to do") == {"To Do", "bug"}


def test_an_ignored_label_is_an_error_and_not_a_move(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    def without_doing(answer: Answer) -> Answer:
        return said(200, [label for label in answer.body if label["name"] != "Doing"])

    github.proxy.faults.append(Fault("^POST", edit=without_doing))

    with pytest.raises(TrackerDenied, match="ignored"):
        moved(tracker, issue)


def test_an_issue_made_without_its_labels_is_an_error(github: GitHub, tracker: GitHubTracker) -> None:
    github.proxy.faults.append(Fault("^POST", edit=lambda answer: said(201, {**answer.body, "labels": []})))

    with pytest.raises(TrackerDenied, match="without its labels To Do, devclaw"):
        tracker.create("An issue", "", labels=["To Do"])


def test_the_hundred_and_first_label_is_an_error(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    full = said(422, {"message": "Validation Failed", "errors": ["Labels cannot exceed 100 per issue"]})
    github.proxy.faults.append(Fault("^POST", instead=full))

    with pytest.raises(TrackerDenied, match="100 per issue"):
        tracker.put(issue, "Doing")


def test_a_transferred_issue_is_nobodys_and_the_other_repository_is_left_alone(
    github: GitHub, tracker: GitHubTracker, issue: int
) -> None:
    elsewhere = {"Location": f"{github.proxy.url}/repositories/999/issues/5/labels/To%20Do"}
    github.proxy.faults.append(
        Fault("issues/", instead=said(301, {"message": "Moved Permanently"}, elsewhere), times=9)
    )

    for ask in (lambda: tracker.take(issue, "To Do"), lambda: tracker.put(issue, "x"), lambda: tracker.get(issue)):
        with pytest.raises(TransferredTask, match="was transferred"):
            ask()

    assert [line for line in github.proxy.lines() if "999" in line] == []


def test_a_repository_that_was_renamed_is_the_same_one(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    github.human("PATCH", "", {"name": f"renamed-{github.forge.id}"})

    moved(tracker, issue)

    assert tracker.get(issue).labels == ("bug", "Doing")
    assert [found.message for found in tracker.diagnose() if "is called" in found.message] != []


@pytest.mark.parametrize(
    "gone", [said(404, {"message": "Not Found"}), said(410, {"message": "This issue was deleted"})]
)
def test_a_deleted_issue_is_unknown(github: GitHub, tracker: GitHubTracker, issue: int, gone: Answer) -> None:
    github.proxy.faults.append(Fault(f"issues/{issue}", instead=gone, times=9))

    with pytest.raises(UnknownTask):
        tracker.put(issue, "Doing")


def test_a_deleted_issue_leaves_the_lists(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    assert [task.number for task in tracker.list_by_label("To Do")] == [issue]
    gone = said(410, {"message": "This issue was deleted"})
    github.proxy.faults.append(Fault(f"issues/{issue}", instead=gone))
    github.proxy.faults.append(Fault("issues.*labels=devclaw", edit=lambda _: said(200, [])))

    with pytest.raises(UnknownTask):
        tracker.get(issue)

    assert tracker.list_by_label("To Do") == []


def test_a_repository_that_cannot_be_seen_does_not_make_its_issues_deleted(
    github: GitHub, tracker: GitHubTracker, issue: int
) -> None:
    github.proxy.faults.append(Fault("repositories", instead=said(404, {"message": "Not Found"}), times=9))

    with pytest.raises(TrackerDenied, match="does not see it"):
        tracker.get(issue)


def test_switched_off_issues_are_the_projects_trouble(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    off = said(410, {"message": "Issues are disabled for this repo"})
    github.proxy.faults.append(Fault("issues", instead=off, times=2))

    with pytest.raises(TrackerDenied, match="switched off"):
        tracker.get(issue)
    with pytest.raises(TrackerDenied, match="disabled"):
        tracker.list_by_label("To Do")


def test_an_archived_repository_is_denied(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    archived = said(403, {"message": "Repository was archived so is read-only."})
    github.proxy.faults.append(Fault("^DELETE", instead=archived))

    with pytest.raises(TrackerDenied, match="archived"):
        tracker.take(issue, "To Do")


def test_a_locked_issue_can_be_moved_and_takes_no_comment(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    locked = said(403, {"message": "Unable to create comment because issue is locked."})
    github.proxy.faults.append(Fault("comments", instead=locked))

    with pytest.raises(CommentRefused):
        tracker.comment(issue, "Well done.")
    moved(tracker, issue)

    assert github.labels(issue) == {"Doing", "bug", "devclaw"}


def test_a_token_that_may_not_write_issues_is_no_rate_limit(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    denied = said(
        403,
        {"message": "Resource not accessible by personal access token"},
        {"X-Accepted-GitHub-Permissions": "issues=write"},
    )
    github.proxy.faults.append(Fault("^DELETE", instead=denied))

    with pytest.raises(TrackerDenied, match="issues=write"):
        tracker.take(issue, "To Do")
    assert tracker.get(issue).number == issue


def test_a_revoked_token_is_named_by_its_fingerprint_and_shown_once(
    github: GitHub, tracker: GitHubTracker, issue: int
) -> None:
    github.proxy.faults.append(Fault("", instead=said(401, {"message": "Bad credentials"})))

    for _ in range(3):
        with pytest.raises(TrackerAuth) as raised:
            github.tracker().get(issue)

    assert len(github.proxy.log) == 1
    assert "0cfe9c15" in str(raised.value)
    assert "tok_bot" not in str(raised.value)


def test_a_comment_that_is_too_long_keeps_its_marker(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    marker = "<!-- devclaw:op=abc -->"

    tracker.comment(issue, f"{'x' * 65_536}\n\n{marker}")

    (said_there,) = tracker.comments(issue)
    assert len(said_there.body) <= 65_536
    assert said_there.body.endswith(marker)


def test_a_pull_request_is_no_issue(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    request = {"pull_request": {"url": "x"}}
    github.proxy.faults.append(Fault("^GET", edit=lambda answer: said(200, {**answer.body, **request})))

    with pytest.raises(UnknownTask):
        tracker.get(issue)


def test_an_answer_that_is_not_githubs_is_an_error(github: GitHub, tracker: GitHubTracker, issue: int) -> None:
    github.proxy.faults.append(Fault("^GET", instead=Answer(200, b"<html>Log in to the hotel</html>")))
    with pytest.raises(TrackerUnavailable, match="not JSON"):
        tracker.get(issue)

    github.proxy.faults.append(Fault("^GET", instead=said(200, {"hello": "world"})))
    with pytest.raises(TrackerUnavailable, match="unknown form"):
        tracker.get(issue)
