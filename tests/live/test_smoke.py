"""A dozen calls to a real forge: what no emulator can promise. Opt-in; see docs/guides/maintainers.md.

DEVCLAW_LIVE_GITHUB_REPO and DEVCLAW_LIVE_GITLAB_PROJECT name a scratch repository, as owner/name or a whole address;
credentials are found as devclaw finds them. An issue is made, moved and closed; nothing else is touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.finding import Severity
from devclaw_py.model.pipeline import Provider, State
from devclaw_py.model.project import Project
from devclaw_py.model.settings import Settings
from devclaw_py.rules.comments import marker
from devclaw_py.rules.labels import COLOURS, states_in
from devclaw_py.trackers import move
from devclaw_py.trackers.auth import Keyring
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.forges import Forges
from devclaw_py.trackers.gates import open_gate

FORGES = {
    Provider.GITHUB: ("DEVCLAW_LIVE_GITHUB_REPO", "https://github.com"),
    Provider.GITLAB: ("DEVCLAW_LIVE_GITLAB_PROJECT", "https://gitlab.com"),
}


@pytest.fixture(params=FORGES, ids=[str(provider) for provider in FORGES])
def live(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Forges, Project]:
    """Forges with the credentials of whoever runs this, and a project in the scratch repository."""
    provider = request.param
    variable, web = FORGES[provider]
    named = os.environ.get(variable)
    if not named:
        pytest.skip(f"{variable} names no scratch repository, so no real forge can be had")
    forges = Forges(Keyring(Settings(), tmp_path, os.environ), tmp_path / "forges", SystemClock(), 30, open_gate)
    place = forges.locate(named if "://" in named else f"{web}/{named}", wanted=provider)
    assert place is not None
    forge = forges.resolve(place, remote="origin")
    return forges, Project(group_id="-1", name="live", repo="/nowhere", provider=provider, forge=forge)


@pytest.fixture
def tracker(live: tuple[Forges, Project]) -> IssueProvider:
    forges, project = live
    return forges.tracker(project)


@pytest.fixture
def issue(tracker: IssueProvider) -> Iterator[int]:
    tracker.ensure_labels({state.value: colour for state, colour in COLOURS.items()})
    made = tracker.create("devclaw live smoke test", f"To be closed.\n\n{marker('live')}", labels=[State.TO_DO.value])
    yield made.number
    tracker.close(made.number)


def test_the_account_has_the_rights_that_are_needed(live: tuple[Forges, Project]) -> None:
    forges, project = live

    assert [found.message for found in forges.rights(project) if found.severity is not Severity.OK] == []


def test_an_issue_is_moved_commented_closed_and_found_again(tracker: IssueProvider, issue: int) -> None:
    move.take(tracker, issue, State.TO_DO)
    assert tracker.take(issue, State.TO_DO.value) is None, "a second take must find nothing to take"
    move.put(tracker, issue, State.DOING)
    tracker.comment(issue, f"seen {marker('live-comment')}")
    tracker.close(issue)

    task = tracker.get(issue)
    event = tracker.last_event(issue, State.DOING.value)
    assert (states_in(task.labels), task.closed) == ((State.DOING,), True)
    assert any(marker("live-comment") in comment.body for comment in tracker.comments(issue))
    assert event is not None
    assert (event.added, event.ours) == (True, True)


def test_a_branch_without_a_request_has_none(live: tuple[Forges, Project]) -> None:
    forges, project = live

    assert forges.requests(project).find("devclaw/0-no-such-branch") is None
