"""task_complete when a human has moved the issue: theirs stays, the report is kept as a comment."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from devclaw_py.model.pipeline import State
from tests.conftest import Office, make_office


@pytest.fixture(params=[False, True], ids=["take-and-put", "swap"])
def office(request: pytest.FixtureRequest, tmp_path: Path) -> Office:
    """An office with nothing going on, on a tracker that moves an issue in two writes and on one that does in one."""
    return make_office(tmp_path, swaps=request.param)


@pytest.mark.parametrize("to", [State.PLANNING, State.TO_DO, State.DONE])
def test_a_humans_move_beats_a_report(office: Office, to: State) -> None:
    issue = office.doing()
    office.tracker.human_moves(issue, to)

    answer = office.call("task_complete", role="dev", result="done", summary="My work")

    assert answer["error"]["code"] == "conflict"
    assert "stop working" in answer["error"]["hint"]
    assert office.states(issue) == (to,)
    assert not office.seat("dev").active
    assert "My work" in office.comments(issue)[-1]


def test_a_beaten_report_without_words_leaves_a_comment_all_the_same(office: Office) -> None:
    issue = office.doing()
    office.tracker.human_moves(issue, State.PLANNING)

    answer = office.call("task_complete", role="dev", result="done")

    assert "comment" in answer["error"]["hint"]
    assert "done, attempt 1" in office.comments(issue)[-1]


@pytest.mark.parametrize("number", range(1, 8))
def test_a_human_who_moves_during_a_report_keeps_the_label(office: Office, number: int) -> None:
    issue = office.doing()
    tracker = office.flaky_tracker()
    tracker.before[number] = lambda: office.tracker.human_moves(issue, State.PLANNING)

    answer = office.call("task_complete", role="dev", result="done", summary="My work")

    if len(tracker.calls) >= number:
        assert office.states(issue) == (State.PLANNING,)
        assert answer["error"]["code"] == "conflict"
    assert not office.seat("dev").active
    assert len(office.comments(issue)) == 1


def test_nothing_is_merged_when_a_human_beats_a_pass(office: Office) -> None:
    issue = office.testing()
    office.tracker.human_moves(issue, State.REFINING)

    office.refused("task_complete", role="qa", result="pass")

    assert office.work.repo(office.project).publications == []


def test_the_seat_that_a_conflict_frees_is_filled_again(office: Office) -> None:
    issue = office.doing()
    waits = office.done("task_create", title="Next", pickup=True)["issueId"]
    office.tracker.human_moves(issue, State.PLANNING)

    answer = office.call("task_complete", role="dev", result="done")

    assert answer["error"]["code"] == "conflict"
    assert office.seat("dev").issue == waits


def test_a_conflict_after_the_merge_tells_of_the_merge(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    issue = office.testing()
    heard = office.hear()
    write = "swap" if office.tracker.swaps else "put"
    put = getattr(office.tracker, write)

    def late(*given: Any) -> frozenset[str]:
        office.tracker.human_moves(issue, State.PLANNING)
        left: frozenset[str] = put(*given)
        return left

    monkeypatch.setattr(office.tracker, write, late)  # somebody moves the issue right before we do
    answer = office.call("task_complete", role="qa", result="pass", summary="ok")

    merged = office.work.repo(office.project).base[-1]
    assert answer["error"]["code"] == "conflict"
    assert answer["merged"] == merged
    assert merged[:12] in answer["error"]["message"]
    assert office.lines("task_complete")[-1]["merged"] == merged
    assert any(merged in note for row in heard for note in row.announcement.notes)
