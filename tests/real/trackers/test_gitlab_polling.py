"""Polling a stand-in for GitLab: what it costs when nothing happens, and its labels."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from devclaw_py.errors import RateLimited
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.model.pipeline import State
from devclaw_py.rules.labels import COLOURS
from devclaw_py.trackers.forge.budget import Spend
from devclaw_py.trackers.gitlab.client import GitLabClient
from devclaw_py.trackers.gitlab.tracker import GitLabTracker
from tests.forge.gitlab_hands import GitLab
from tests.forge.proxy import Fault, said

LABELS = {state.value: colour for state, colour in COLOURS.items()}


@pytest.fixture
def tracker(gitlab: GitLab) -> GitLabTracker:
    """A tracker on a clock that stands still, whose labels are there."""
    gitlab.clock = VirtualClock()
    made = gitlab.tracker()
    made.ensure_labels(LABELS)
    return made


def waiting(tracker: GitLabTracker) -> list[int]:
    return [task.number for task in tracker.list_by_label("To Do")]


def test_an_idle_poll_is_one_list_call_without_a_body(gitlab: GitLab, tracker: GitLabTracker) -> None:
    tracker.create("An issue", "", labels=["To Do"])
    waiting(tracker)
    waiting(tracker)
    gitlab.server.clear()

    for _ in range(20):
        waiting(gitlab.tracker())

    assert [status for _, status in gitlab.server.log] == [304] * 20


def test_all_queues_of_a_status_are_one_list_call(gitlab: GitLab, tracker: GitLabTracker) -> None:
    waiting(tracker)
    gitlab.server.clear()

    for state in State:
        tracker.list_by_label(state)

    assert len(gitlab.server.log) == 1


def test_an_issue_labelled_by_hand_is_taken_in(gitlab: GitLab, tracker: GitLabTracker) -> None:
    waiting(tracker)
    number = gitlab.human("POST", "/issues", {"title": "By hand", "labels": "To Do"})["iid"]
    gitlab.clock.sleep(121)

    assert waiting(tracker) == [number]
    assert gitlab.labels(number) == {"To Do", "devclaw"}


def test_a_confidential_issue_labelled_by_hand_is_not_taken_in(gitlab: GitLab, tracker: GitLabTracker) -> None:
    waiting(tracker)
    made = gitlab.human("POST", "/issues", {"title": "By hand", "labels": "To Do", "confidential": True})
    gitlab.clock.sleep(121)

    assert waiting(tracker) == []
    assert gitlab.labels(made["iid"]) == {"To Do"}


def test_labels_are_made_once_with_their_colours(gitlab: GitLab, tracker: GitLabTracker) -> None:
    tracker.ensure_labels(LABELS)

    made = {label["name"]: label["color"] for label in gitlab.project.labels}
    assert made == {**{name: f"#{colour}" for name, colour in LABELS.items()}, "devclaw": "#ededed"}


def test_a_label_that_another_process_makes_at_once_is_no_error(gitlab: GitLab) -> None:
    tracker = gitlab.tracker()
    quicker = Fault("^POST .*/labels", before=lambda: gitlab.tracker().ensure_labels({"To Do": "428bca"}))
    gitlab.server.faults.append(quicker)

    tracker.ensure_labels({"To Do": "428bca"})

    assert [label["name"] for label in gitlab.project.labels] == ["To Do", "devclaw"]


def test_a_label_of_a_group_serves_as_well(gitlab: GitLab) -> None:
    gitlab.project.labels.append({"id": 1, "name": "To Do", "color": "#000000", "is_project_label": False})

    gitlab.tracker().ensure_labels({"To Do": "428bca"})

    assert [label["name"] for label in gitlab.project.labels] == ["To Do", "devclaw"]


@pytest.mark.parametrize("form", ["seconds", "date", "reset"])
def test_a_limit_is_told_with_its_end_and_to_every_process(gitlab: GitLab, form: str) -> None:
    tracker = gitlab.tracker()
    number = tracker.create("An issue", "", labels=["To Do"]).number
    at = time.time() + 3000
    headers = {
        "seconds": {"Retry-After": "3000"},
        "date": {"Retry-After": format_datetime(datetime.fromtimestamp(at, UTC), usegmt=True)},
        "reset": {"RateLimit-Reset": str(int(at))},
    }
    gitlab.server.faults.append(Fault("^PUT", instead=said(429, {"message": "429 Too Many Requests"}, headers[form])))
    gitlab.server.log.clear()

    for asked in (tracker, gitlab.tracker(), gitlab.tracker()):
        with pytest.raises(RateLimited) as raised:
            asked.put(number, "Doing")
        assert abs(raised.value.retry_at.timestamp() - at) <= 3

    assert len(gitlab.server.log) == 1


def test_a_limit_that_names_no_end_is_a_pause_of_a_minute(gitlab: GitLab, tracker: GitLabTracker) -> None:
    number = tracker.create("An issue", "", labels=["To Do"]).number
    gitlab.server.faults.append(Fault("^POST", instead=said(429, {"message": {"error": "too many times"}})))

    with pytest.raises(RateLimited) as raised:
        tracker.comment(number, "Well done.")

    assert raised.value.retry_at == gitlab.clock.now() + timedelta(seconds=60)


def test_devclaw_keeps_within_sixty_writes_a_minute(gitlab: GitLab) -> None:
    budget = gitlab.client(pace=None).budget
    for _ in range(GitLabClient.usual_pace.per_minute):
        budget.admit(Spend.FINISH, "x")

    with pytest.raises(RateLimited):
        gitlab.tracker(gitlab.client(pace=None)).create("An issue", "", labels=[])
    assert gitlab.server.log == []
