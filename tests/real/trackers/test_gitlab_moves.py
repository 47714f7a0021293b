"""Moves on a stand-in for GitLab: how many requests they are, and what stands when something comes between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from devclaw_py.errors import (
    CommentRefused,
    InvalidArguments,
    TrackerAuth,
    TrackerDenied,
    TrackerUnavailable,
    TransferredTask,
    UnknownTask,
)
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.pipeline import State
from devclaw_py.trackers import move
from devclaw_py.trackers.gitlab.tracker import GitLabTracker
from devclaw_py.trackers.move import Moved
from tests.forge.gitlab_hands import GitLab
from tests.forge.proxy import Answer, Fault, said

TO_DO, DOING, TO_TEST = State.TO_DO, State.DOING, State.TO_TEST


@pytest.fixture
def tracker(gitlab: GitLab) -> GitLabTracker:
    return gitlab.tracker()


@pytest.fixture
def issue(gitlab: GitLab, tracker: GitLabTracker) -> int:
    number = tracker.create("An issue", "Do it.", labels=["To Do", "bug"]).number
    gitlab.server.log.clear()
    return number


def moved(tracker: GitLabTracker, issue: int) -> None:
    move.take(tracker, issue, TO_DO)
    move.put(tracker, issue, DOING, source=TO_DO)


def by_hand(gitlab: GitLab, issue: int, **changes: object) -> Callable[[], object]:
    return lambda: gitlab.human("PUT", f"/issues/{issue}", changes)


def test_a_move_is_one_read_and_one_write(gitlab: GitLab, tracker: GitLabTracker, issue: int) -> None:
    moved(tracker, issue)

    assert gitlab.lines() == [f"GET /issues/{issue}", f"PUT /issues/{issue}"]
    assert gitlab.labels(issue) == {"Doing", "bug", "devclaw"}


@pytest.mark.parametrize("gap", ["^GET", "^PUT"])
@pytest.mark.parametrize("taken_off", ["To Do", ""], ids=["moves", "adds"])
def test_a_human_who_acts_in_either_gap_keeps_the_issue(
    gitlab: GitLab, tracker: GitLabTracker, issue: int, gap: str, taken_off: str
) -> None:
    theirs = by_hand(gitlab, issue, add_labels="To Test", remove_labels=taken_off)
    gitlab.server.faults.append(Fault(gap, before=theirs))

    with pytest.raises(Moved) as raised:
        moved(tracker, issue)

    assert raised.value.found == (TO_TEST,)
    assert gitlab.labels(issue) == {"To Test", "bug", "devclaw"}


def test_a_label_that_a_human_adds_meanwhile_stays(gitlab: GitLab, tracker: GitLabTracker, issue: int) -> None:
    gitlab.server.faults.append(Fault("^PUT", before=by_hand(gitlab, issue, add_labels="urgent")))

    moved(tracker, issue)

    assert gitlab.labels(issue) == {"Doing", "bug", "urgent", "devclaw"}


@pytest.mark.parametrize("drop", ["before", "after"])
def test_a_put_without_an_answer_is_sent_once_and_read_back(
    gitlab: GitLab, tracker: GitLabTracker, issue: int, drop: str
) -> None:
    since = SystemClock().now()
    gitlab.server.faults.append(Fault("^PUT", drop=drop))

    with pytest.raises(TrackerUnavailable):
        moved(tracker, issue)

    assert gitlab.lines().count(f"PUT /issues/{issue}") == 1
    happened = move.put_happened(gitlab.tracker(), issue, source=TO_DO, target=DOING, since=since)
    assert happened is (drop == "after")


@pytest.mark.parametrize("drop", ["before", "after"])
def test_a_move_whose_answer_was_lost_is_put_back(
    gitlab: GitLab, tracker: GitLabTracker, issue: int, drop: str
) -> None:
    since = SystemClock().now()
    gitlab.server.faults.append(Fault("^PUT", drop=drop))
    with pytest.raises(TrackerUnavailable):
        moved(tracker, issue)

    assert move.put_back(gitlab.tracker(), issue, source=TO_DO, target=DOING, since=since) is TO_DO
    assert gitlab.labels(issue) == {"To Do", "bug", "devclaw"}


WRITES: dict[str, Callable[[GitLabTracker, int], object]] = {
    "comment": lambda tracker, issue: tracker.comment(issue, "Well done."),
    "create": lambda tracker, issue: tracker.create("Another", "", labels=["To Do"]),
    "close": lambda tracker, issue: tracker.close(issue),
    "put": lambda tracker, issue: tracker.put(issue, "Doing"),
    "swap": lambda tracker, issue: tracker.swap(issue, "To Do", "Doing"),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_write_that_was_answered_502_is_not_sent_again(
    gitlab: GitLab, tracker: GitLabTracker, issue: int, write: Callable[[GitLabTracker, int], object]
) -> None:
    gitlab.server.faults.append(Fault("^(POST|PUT)", edit=lambda _: said(502, {"message": "Bad Gateway"}), times=9))

    with pytest.raises(TrackerUnavailable):
        write(tracker, issue)

    assert len(gitlab.server.log) == 1


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_write_whose_answer_was_lost_is_not_sent_again(
    gitlab: GitLab, tracker: GitLabTracker, issue: int, write: Callable[[GitLabTracker, int], object]
) -> None:
    gitlab.server.faults.append(Fault("^(POST|PUT)", drop="after", times=9))

    with pytest.raises(TrackerUnavailable):
        write(tracker, issue)

    assert len(gitlab.server.log) == 1


def test_a_read_is_sent_again_when_its_answer_was_lost(gitlab: GitLab, tracker: GitLabTracker, issue: int) -> None:
    gitlab.server.faults.append(Fault("^GET", drop="before"))

    assert tracker.get(issue).number == issue


def test_a_source_in_another_spelling_goes_as_well(gitlab: GitLab, tracker: GitLabTracker) -> None:
    number = tracker.create("An issue", "", labels=["to do"]).number

    moved(tracker, number)

    assert gitlab.labels(number) == {"Doing", "devclaw"}


@pytest.mark.parametrize("text", ["/close", "Well.\n/label ~Done\n", "  /reopen"])
def test_nothing_of_a_text_is_carried_out(gitlab: GitLab, tracker: GitLabTracker, text: str) -> None:
    number = tracker.create("An issue", text, labels=["To Do"]).number
    tracker.comment(number, text)

    assert (gitlab.labels(number), tracker.get(number).closed) == ({"To Do", "devclaw"}, False)
    assert text.strip().split("\n")[-1].strip("/ ")[:5] in tracker.comments(number)[0].body


def test_notes_of_gitlabs_own_are_no_comments(tracker: GitLabTracker, issue: int) -> None:
    moved(tracker, issue)
    said_ = tracker.comment(issue, "Well done.")

    assert tracker.comments(issue) == [said_]


def test_all_of_a_long_discussion_is_read(gitlab: GitLab, tracker: GitLabTracker, issue: int) -> None:
    for count in range(105):
        gitlab.human("POST", f"/issues/{issue}/notes", {"body": f"Note {count}"})

    assert [comment.body for comment in tracker.comments(issue)] == [f"Note {count}" for count in range(105)]


def test_whoever_moved_a_label_is_told_from_us(gitlab: GitLab, tracker: GitLabTracker, issue: int) -> None:
    moved(tracker, issue)
    by_hand(gitlab, issue, add_labels="To Test", remove_labels="Doing")()

    ours, theirs = tracker.last_event(issue, "To Do"), tracker.last_event(issue, "To Test")

    assert ours is not None
    assert theirs is not None
    assert (ours.ours, ours.added, theirs.ours, theirs.actor) == (True, False, False, "human")


@pytest.mark.parametrize("kind", [{"confidential": True}, {"issue_type": "incident"}, {"issue_type": "task"}], ids=str)
def test_what_is_no_issue_for_everybody_is_left_alone(
    gitlab: GitLab, tracker: GitLabTracker, issue: int, kind: dict[str, object]
) -> None:
    by_hand(gitlab, issue, **kind)()

    with pytest.raises(UnknownTask, match="left alone"):
        move.take(tracker, issue, TO_DO)
    assert tracker.list_by_label("To Do") == []
    assert tracker.list_all(newest=9) == []


def test_an_issue_that_was_moved_to_another_project_is_nobodys(
    gitlab: GitLab, tracker: GitLabTracker, issue: int
) -> None:
    gitlab.project.issues[issue] |= {"moved_to_id": 7, "state": "closed"}

    with pytest.raises(TransferredTask):
        move.take(tracker, issue, TO_DO)


def test_a_project_that_was_renamed_is_the_same_one(gitlab: GitLab, tracker: GitLabTracker, issue: int) -> None:
    gitlab.project.path = "acme/renamed"

    moved(tracker, issue)

    assert gitlab.labels(issue) == {"Doing", "bug", "devclaw"}


def test_a_redirect_is_not_followed(gitlab: GitLab, tracker: GitLabTracker, issue: int) -> None:
    elsewhere = Answer(301, b"", {"Location": "http://127.0.0.1:1/api/v4/projects/9"})
    gitlab.server.faults.append(Fault("^GET", instead=elsewhere))

    with pytest.raises(TrackerDenied, match="not followed"):
        tracker.get(issue)


def test_a_deleted_issue_is_unknown(gitlab: GitLab, tracker: GitLabTracker, issue: int) -> None:
    gitlab.human("DELETE", f"/issues/{issue}")

    with pytest.raises(UnknownTask):
        tracker.put(issue, "Doing")


def test_a_project_that_cannot_be_seen_does_not_make_its_issues_deleted(
    gitlab: GitLab, tracker: GitLabTracker, issue: int
) -> None:
    gitlab.server.faults.append(Fault("", instead=said(404, {"message": "404 Project Not Found"}), times=9))

    with pytest.raises(TrackerDenied):
        tracker.get(issue)


def test_a_locked_issue_can_be_moved_and_takes_no_comment(gitlab: GitLab, tracker: GitLabTracker, issue: int) -> None:
    by_hand(gitlab, issue, discussion_locked=True)()

    moved(tracker, issue)
    with pytest.raises(CommentRefused):
        tracker.comment(issue, "Well done.")


@pytest.mark.parametrize("setting", [{"archived": True}, {"issues_access_level": "disabled"}], ids=str)
def test_a_project_that_takes_no_issues_denies_them(
    gitlab: GitLab, tracker: GitLabTracker, setting: dict[str, object]
) -> None:
    gitlab.project.settings |= setting

    with pytest.raises(TrackerDenied, match="403 Forbidden"):
        tracker.create("An issue", "", labels=["To Do"])


def test_a_token_without_the_scope_is_told_which_one_it_lacks(gitlab: GitLab, issue: int) -> None:
    with pytest.raises(TrackerDenied, match="lacks the scope api"):
        gitlab.tracker(gitlab.client(token="tok_read")).put(issue, "Doing")


def test_a_revoked_token_is_shown_once_and_never_named(gitlab: GitLab, issue: int) -> None:
    for _ in range(3):
        with pytest.raises(TrackerAuth) as raised:
            gitlab.tracker(gitlab.client(token="tok_gone")).get(issue)
        assert "tok_gone" not in str(raised.value)

    assert len(gitlab.server.log) == 1


def test_a_server_that_stalls_is_given_up(gitlab: GitLab, issue: int) -> None:
    tracker, over = gitlab.tracker(gitlab.client(timeout_s=0.2)), threading.Event()
    gitlab.server.faults.append(Fault("^PUT", before=lambda: over.wait(20)))

    with pytest.raises(TrackerUnavailable, match="Timeout"):
        tracker.put(issue, "Doing")

    over.set()
    deadline = time.monotonic() + 20
    while not gitlab.server.log and time.monotonic() < deadline:
        time.sleep(0.01)  # its line must not come into the log of another test


def test_assignees_are_found_by_their_names(gitlab: GitLab, tracker: GitLabTracker) -> None:
    assert tracker.create("An issue", "", labels=[], assignees=["human"]).assignees == ("human",)


def test_an_assignee_whom_nobody_knows_is_refused(tracker: GitLabTracker) -> None:
    with pytest.raises(InvalidArguments, match="nobody"):
        tracker.create("An issue", "", labels=[], assignees=["nobody"])


@pytest.mark.parametrize("call", ["create", "put", "list_by_label", "ensure_labels"])
def test_a_label_with_a_comma_is_refused(gitlab: GitLab, tracker: GitLabTracker, issue: int, call: str) -> None:
    acts: dict[str, Callable[[], object]] = {
        "create": lambda: tracker.create("An issue", "", labels=["a,b"]),
        "put": lambda: tracker.put(issue, "a,b"),
        "list_by_label": lambda: tracker.list_by_label("a,b"),
        "ensure_labels": lambda: tracker.ensure_labels({"a,b": "000000"}),
    }

    with pytest.raises(InvalidArguments, match="comma"):
        acts[call]()
    assert gitlab.server.log == []
