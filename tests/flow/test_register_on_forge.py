"""Where a new project's issues live: on the forge of its remote or locally, never by a guess, and always said."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.errors import TrackerDenied
from devclaw_py.model.caller import HUMAN
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.pipeline import Provider
from devclaw_py.model.project import Forge, Project
from devclaw_py.rules.labels import COLOURS
from devclaw_py.trackers.auth import Keyring
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.forges import Entry, Forges
from devclaw_py.trackers.memory import MemoryTracker
from devclaw_py.trackers.memory_requests import MemoryRequests
from devclaw_py.trackers.remotes import Known, Place
from devclaw_py.trackers.requests import RequestProvider
from tests.conftest import GROUP, Office

GITHUB = {"origin": "git@github.com:acme/blog.git"}
FORK = {"origin": "git@github.com:me/blog.git", "upstream": "git@github.com:acme/blog.git"}


@dataclass
class Hub:
    """A forge on fakes: its repositories by name, and what each lacks."""

    numbers: dict[str, str] = field(default_factory=lambda: {"acme/blog": "1", "me/blog": "2", "acme/old": "1"})
    names: dict[str, str] = field(default_factory=lambda: {"1": "acme/blog", "2": "me/blog"})
    lacking: list[str] = field(default_factory=list)
    trackers: dict[str, MemoryTracker] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def open(self, entry: Entry) -> Hub:
        self.entries.append(entry)
        return self

    def resolve(self, place: Place, *, remote: str) -> Forge:
        self.entries[-1].credentials()
        number = self.numbers.get(place.path)
        if number is None:
            raise TrackerDenied(f"there is no {place.path}")
        return Forge(host=place.host, api=place.api, path=self.names[number], id=number, remote=remote)

    def rights(self, forge: Forge, *, name: str) -> list[Finding]:
        return [
            Finding(type="rights", severity=Severity.CRITICAL, message=f"the right {right} is missing", mend="give it")
            for right in self.lacking
        ]

    def tracker(self, forge: Forge, *, name: str) -> IssueProvider:
        return self.trackers.setdefault(forge.path, MemoryTracker(name))

    def requests(self, forge: Forge) -> RequestProvider:
        return MemoryRequests(forge.path)


@pytest.fixture
def hub() -> Hub:
    return Hub()


@pytest.fixture
def town(office: Office, hub: Hub) -> Office:
    """An office whose person has a token for github.com."""
    return with_environment(office, hub, GH_TOKEN="ghp_canary")


def with_environment(office: Office, hub: Hub, *, trusts: bool = True, **environ: str) -> Office:
    home = str(office.app.workspace)
    keyring = Keyring(
        office.app.settings,
        office.app.workspace,
        {"PATH": home, "HOME": home, **environ},
        trusts=lambda: trusts,
    )
    forges = Forges(keyring, Path(home) / "memory" / "forges", office.clock, 1.0, hub.open, ask=lambda address: None)

    def open_tracker(project: Project) -> IssueProvider:
        if project.provider is Provider.LOCAL:
            return office.more.setdefault(project.group_id, MemoryTracker(project.name))
        return forges.tracker(project)

    office.app = replace(office.app, forges=forges, open_tracker=open_tracker)
    return office


def register(office: Office, addresses: dict[str, str], *, group: str = "-2", **arguments: Any) -> dict[str, Any]:
    given = {"projectGroupId": group, "name": f"blog{group}", "repo": f"/nowhere/blog{group}", "baseBranch": "main"}
    project = Project(group_id=group, name="blog", repo=str(given["repo"]))
    office.work.repo(project).addresses = addresses
    return catalogue.call(office.app, "project_register", {**given, **arguments}, HUMAN)


def forge_of(office: Office, group: str = "-2") -> Forge | None:
    return office.app.store.registry.get(group).forge


def test_a_remote_on_github_with_a_token_is_registered_there(town: Office, hub: Hub) -> None:
    answer = register(town, GITHUB)

    assert answer["provider"] == "github"
    assert answer["providerReason"] == "origin is on github.com"
    assert answer["forge"] == {"host": "github.com", "path": "acme/blog", "remote": "origin"}
    assert "Issues: acme/blog on github.com" in answer["announcement"]
    assert forge_of(town) == Forge(
        host="github.com", api="https://api.github.com", path="acme/blog", id="1", remote="origin"
    )
    assert hub.trackers["acme/blog"].colours == {state.value: colour for state, colour in COLOURS.items()}


def test_a_renamed_repository_is_stored_under_its_name_of_today(town: Office) -> None:
    register(town, {"origin": "https://github.com/acme/old.git"})

    found = forge_of(town)
    assert found is not None
    assert (found.path, found.id) == ("acme/blog", "1")


def test_without_a_token_the_choice_is_local_and_says_what_to_do(office: Office, hub: Hub) -> None:
    answer = register(with_environment(office, hub), GITHUB)

    assert answer["provider"] == "local"
    assert "there are no credentials for github.com" in answer["providerReason"]
    assert "environment GH_TOKEN and GITHUB_TOKEN" in answer["providerReason"]
    assert "kept locally" in answer["announcement"]


def test_a_forge_that_was_asked_for_is_not_replaced_by_local_issues(office: Office, hub: Hub) -> None:
    answer = register(with_environment(office, hub), GITHUB, provider="github")

    assert answer["error"]["code"] == "tracker_auth"
    assert "token_file" in answer["error"]["hint"]


@pytest.mark.parametrize("addresses", [{}, {"origin": "/srv/git/blog.git"}, {"origin": "git@codeberg.org:o/r.git"}])
def test_a_remote_that_is_on_no_forge_is_local(town: Office, addresses: dict[str, str]) -> None:
    answer = register(town, addresses)

    assert answer["provider"] == "local"
    assert answer["providerReason"]


def test_local_is_local_whatever_the_remote_says(town: Office) -> None:
    assert register(town, GITHUB, provider="local")["provider"] == "local"


def test_several_remotes_are_asked_about(town: Office) -> None:
    answer = register(town, {"one": "git@github.com:acme/blog.git", "two": "git@github.com:me/blog.git"})

    assert answer["error"]["code"] == "config_error"
    assert "one (https://github.com/acme/blog), two (https://github.com/me/blog)" in answer["error"]["message"]
    assert "remote" in answer["error"]["hint"]


@pytest.mark.parametrize("remote", ["upstream", "https://github.com/acme/blog"])
def test_a_forks_upstream_can_be_named(town: Office, remote: str) -> None:
    answer = register(town, FORK, remote=remote)

    assert answer["forge"] == {"host": "github.com", "path": "acme/blog", "remote": "upstream"}


def test_another_provider_than_the_remotes_is_refused(town: Office) -> None:
    answer = register(town, GITHUB, provider="gitlab")

    assert answer["error"]["code"] == "config_error"
    assert "is on github" in answer["error"]["message"]


def test_an_unknown_host_is_what_it_is_said_to_be(office: Office, hub: Hub) -> None:
    with_environment(office, hub, GH_ENTERPRISE_TOKEN="ghp_canary", GH_HOST="code.corp.example")

    answer = register(office, {"origin": "https://code.corp.example:8443/acme/blog"}, provider="github")

    assert answer["forge"]["host"] == "code.corp.example"
    assert hub.entries[0].api == "https://code.corp.example:8443/api/v3"


def test_an_unknown_host_is_what_it_says_itself(office: Office, hub: Hub) -> None:
    with_environment(office, hub, GH_ENTERPRISE_TOKEN="ghp_canary", GH_HOST="code.corp.example")
    office.app.forges.ask = lambda address: Known(Provider.GITHUB, address.web)

    assert register(office, {"origin": "git@code.corp.example:acme/blog"})["provider"] == "github"


def test_each_missing_right_is_named_and_nothing_is_registered(town: Office, hub: Hub) -> None:
    hub.lacking = ["issues: write", "contents: write"]

    answer = register(town, GITHUB)

    assert answer["error"]["code"] == "tracker_denied"
    assert "issues: write is missing; the right contents: write" in answer["error"]["message"]
    assert list(town.app.store.registry.all()) == [GROUP]


def test_a_repository_that_nobody_sees_is_an_error_and_not_local(town: Office) -> None:
    assert register(town, {"origin": "git@github.com:acme/gone"})["error"]["code"] == "tracker_denied"


def test_the_issues_of_one_repository_belong_to_one_project(town: Office) -> None:
    register(town, GITHUB)

    answer = register(town, {"origin": "https://github.com/acme/old"}, group="-3")

    assert answer["error"]["code"] == "already_registered"
    assert "acme/blog on github.com" in answer["error"]["message"]


def test_nothing_that_is_written_or_answered_has_the_token(town: Office) -> None:
    answers = [register(town, GITHUB), register(town, {"origin": "https://u:ghp_canary@github.com/a/b"}, group="-4")]

    written = b"".join(path.read_bytes() for path in town.app.workspace.rglob("*") if path.is_file())
    assert b"canary" not in written
    assert "canary" not in repr(answers)
    assert "canary" not in repr(town.app.forges.keyring.need(Provider.GITHUB, "github.com"))


@pytest.mark.parametrize(
    ("token", "severity", "said"),
    [
        ("ghp_canary", Severity.WARNING, "workers do not get them"),
        ("", Severity.CRITICAL, "there are no credentials"),
    ],
)
def test_doctor_says_where_credentials_come_from(
    town: Office, hub: Hub, token: str, severity: Severity, said: str
) -> None:
    register(town, GITHUB)

    found = with_environment(town, hub, GH_TOKEN=token).app.forges.diagnose(town.app.store.registry.get("-2"))

    assert [one.severity for one in found] == [severity]
    assert said in found[0].message
    assert "canary" not in repr(found)


# --- a worker's call ---


def test_a_report_without_credentials_is_kept_and_settled_by_the_next_call_that_has_them(
    town: Office, hub: Hub
) -> None:
    register(town, GITHUB, group="-2")
    tracker = hub.trackers["acme/blog"]
    issue = tracker.seed("Add a footer", labels=["To Do"])
    catalogue.call(town.app, "task_pickup", {"projectGroupId": "-2", "issueId": issue, "role": "dev"}, HUMAN)

    def locked(entry: Entry) -> Hub:
        entry.credentials()
        return hub

    with_environment(town, hub, trusts=False, GH_TOKEN="ghp_of_the_worker")
    town.app.forges.open_gate = locked
    report = {"projectGroupId": "-2", "issueId": issue, "attempt": 1, "role": "dev", "result": "done"}
    answer = catalogue.call(town.app, "task_complete", report, town.worker(group_id="-2", session="blog-2-dev-medior"))

    assert answer["pending"] is True
    assert "no environment, because a worker calls" in answer["reason"]
    assert "Doing" in tracker.get(issue).labels

    with_environment(town, hub, GH_TOKEN="ghp_canary")
    created = catalogue.call(town.app, "task_create", {"projectGroupId": "-2", "title": "Next"}, HUMAN)

    assert created["settled"] == [f"task_complete of #{issue} was settled"]
    assert "To Test" in tracker.get(issue).labels
