"""The way in: from a place to the ports of its project, over the wire, with credentials read when they are used."""

from __future__ import annotations

from pathlib import Path

import pytest

from devclaw_py.errors import NoCredentials, TrackerDenied
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.finding import Severity
from devclaw_py.model.pipeline import Provider, State
from devclaw_py.model.project import Project
from devclaw_py.model.settings import GitHubSettings, GitLabSettings, Settings
from devclaw_py.trackers import move
from devclaw_py.trackers.auth import Keyring
from devclaw_py.trackers.forges import Forges
from devclaw_py.trackers.gates import open_gate
from devclaw_py.trackers.remotes import Place
from tests.forge.emulated import GitHub
from tests.forge.gitlab_hands import GitLab


@pytest.fixture(params=[Provider.GITHUB, Provider.GITLAB], ids=str)
def place(request: pytest.FixtureRequest) -> Place:
    """A repository on a stand-in. The stand-ins have their interface at their top."""
    name = str(request.param)
    hands: GitHub | GitLab = request.getfixturevalue(name)

    class Standing(Place):
        api = hands.forge.api

    return Standing(request.param, "127.0.0.1", hands.forge.api, hands.forge.path)


def forges_of(folder: Path) -> Forges:
    hosts = ("http://127.0.0.1",)
    settings = Settings(
        github=GitHubSettings(hosts=hosts, token_file="token", writes_per_minute=10_000, writes_per_hour=100_000),
        gitlab=GitLabSettings(hosts=hosts, token_file="token"),
    )
    keyring = Keyring(settings, folder, {"PATH": "/usr/bin:/bin", "HOME": str(folder)})
    return Forges(keyring, folder / "forges", SystemClock(), 15, open_gate)


def test_an_address_leads_to_issues_that_can_be_moved(place: Place, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("tok_bot")
    forges = forges_of(tmp_path)

    forge = forges.resolve(place, remote="origin")
    project = Project(group_id="-1", name="shop", repo="/nowhere", provider=place.provider, forge=forge)

    assert (forge.path, forge.remote) == (place.path, "origin")
    assert [found.severity for found in forges.rights(project)] == [Severity.OK]
    tracker = forges.tracker(project)
    issue = tracker.create("Add a footer", "", labels=[State.TO_DO.value]).number
    move.take(tracker, issue, State.TO_DO)
    move.put(tracker, issue, State.DOING, source=State.TO_DO)
    assert State.DOING.value in tracker.get(issue).labels
    assert forges.requests(project).find("devclaw/1-none") is None


def test_credentials_are_asked_for_when_something_is_asked(place: Place, tmp_path: Path) -> None:
    settings = Settings()
    keyring = Keyring(settings, tmp_path, {"PATH": str(tmp_path), "HOME": str(tmp_path)})
    forges = Forges(keyring, tmp_path / "forges", SystemClock(), 15, open_gate)

    with pytest.raises(NoCredentials):
        forges.resolve(place, remote="origin")


def test_a_repository_that_the_account_does_not_see_is_denied(place: Place, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("tok_bot")

    class Elsewhere(Place):
        api = place.api

    with pytest.raises(TrackerDenied):
        forges_of(tmp_path).resolve(Elsewhere(place.provider, place.host, place.web, "acme/nothing"), remote="origin")
