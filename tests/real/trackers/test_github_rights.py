"""What registration and doctor say of a token and a repository, on an emulated GitHub."""

from __future__ import annotations

import pytest

from devclaw_py.errors import ConfigError, TrackerAuth, TrackerDenied
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.model.finding import Severity
from devclaw_py.trackers.github.installation import Installation
from devclaw_py.trackers.github.rights import resolve
from tests.forge.emulated import GitHub
from tests.forge.proxy import Answer, Fault, said

DENIED = said(403, {"message": "Resource not accessible by personal access token"})

RIGHTS = {
    "issues: write": "^POST .*/labels",
    "pull requests: write": "^POST .*/pulls",
    "contents: write": "^POST .*/git/refs",
    "checks: read": "/check-runs",
    "commit statuses: read": "/status$",
}


def test_a_token_with_all_rights_is_fine_and_nothing_is_left_behind(github: GitHub) -> None:
    (found,) = github.tracker().check_rights()

    assert found.severity is Severity.OK
    assert github.human("GET", "/pulls?state=all") == []
    assert [ref["ref"] for ref in github.human("GET", "/git/matching-refs/heads/")] == ["refs/heads/main"]


@pytest.mark.parametrize("right", RIGHTS)
def test_exactly_the_right_that_is_missing_is_named(github: GitHub, right: str) -> None:
    github.proxy.faults.append(Fault(RIGHTS[right], instead=DENIED))

    (found,) = github.tracker().check_rights()

    assert found.severity is Severity.CRITICAL
    assert f"the right {right} is missing" in found.message


def edited(github: GitHub, **changes: object) -> None:
    whole = rf"^GET /repositories/{github.forge.id}$"
    github.proxy.faults.append(Fault(whole, edit=lambda answer: said(200, {**answer.body, **changes}), times=2))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"permissions": {"pull": True}}, "no write role"),
        ({"archived": True}, "archived"),
        ({"has_issues": False}, "switched off"),
        ({"disabled": True}, "disabled"),
    ],
)
def test_what_is_wrong_with_the_repository_is_said(github: GitHub, changes: dict[str, object], words: str) -> None:
    edited(github, **changes)

    for findings in (github.tracker().check_rights(), github.tracker().diagnose()):
        assert [found for found in findings if found.severity is Severity.CRITICAL and words in found.message] != []


def test_doctor_writes_nothing(github: GitHub) -> None:
    github.tracker().diagnose()

    assert {line.split()[0] for line in github.proxy.lines()} == {"GET"}


def test_doctor_tells_an_address_that_does_not_answer(github: GitHub) -> None:
    github.proxy.faults.append(Fault("", instead=said(503, {"message": "No server is available"}), times=9))

    (found,) = github.tracker().diagnose()

    assert (found.severity, "could not answer" in found.message) == (Severity.UNKNOWN, True)


def test_a_repository_is_resolved_to_its_number_and_name(github: GitHub) -> None:
    found = resolve(github.client(), github.forge.path)

    assert (str(found.id), found.full_name) == (github.forge.id, github.forge.path)


def test_a_former_name_is_resolved_to_the_present_one(github: GitHub) -> None:
    moved = {"Location": f"{github.proxy.url}/repositories/{github.forge.id}"}
    github.proxy.faults.append(Fault("^GET /repos/", instead=said(301, {"message": "Moved Permanently"}, moved)))

    assert resolve(github.client(), "acme/formerly").full_name == github.forge.path


def test_a_repository_that_is_not_there_cannot_be_resolved(github: GitHub) -> None:
    with pytest.raises(TrackerDenied, match="does not see it"):
        resolve(github.client(), "acme/nothing")


@pytest.fixture(scope="session")
def key() -> str:
    """A private key of an App."""
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return made.private_bytes(serialization.Encoding.PEM, *form).decode()


def installed(github: GitHub, key: str) -> Installation:
    return Installation(
        github.forge.api,
        app_id="7",
        key=key,
        installation="9",
        folder=github.folder,
        clock=github.clock,
        timeout_s=15,
    )


def minted(token: str) -> Answer:
    return said(201, {"token": token, "expires_at": "2026-03-01T13:00:00Z"})


def test_an_apps_token_is_made_once_an_hour_for_all_processes(github: GitHub, key: str) -> None:
    github.clock = VirtualClock()
    for token in ("first", "second"):
        github.proxy.faults.append(Fault("access_tokens", instead=minted(token)))

    assert [installed(github, key).token() for _ in range(3)] == ["first"] * 3
    github.clock.sleep(51 * 60)
    assert installed(github, key).token() == "second"
    assert {path.stat().st_mode & 0o077 for path in github.folder.iterdir()} == {0}


def test_what_an_app_did_is_ours_by_its_name(github: GitHub, key: str) -> None:
    github.clock = VirtualClock()
    github.proxy.faults.append(Fault("access_tokens", instead=minted("tok_bot")))
    github.proxy.faults.append(Fault("GET /app$", instead=said(200, {"slug": "bot"})))
    app = installed(github, key)
    tracker = github.tracker(github.client(token=app.token, login=app.login, account=app.account))
    number = tracker.create("An issue", "", labels=["To Do"]).number

    def by_the_app(answer: Answer) -> Answer:
        return said(200, [{**event, "actor": {"login": "bot[bot]"}} for event in answer.body])

    github.proxy.faults.append(Fault("/events", edit=by_the_app))

    assert [event.ours for event in tracker.label_events(number)] == [True]
    assert [line for line in github.proxy.lines() if line == "GET /user"] == []


def test_a_token_whose_owner_cannot_be_asked_is_an_error(github: GitHub) -> None:
    tracker = github.tracker()
    number = tracker.create("An issue", "", labels=["To Do"]).number
    denied = said(403, {"message": "Resource not accessible by integration"})
    github.proxy.faults.append(Fault("GET /user$", instead=denied))

    with pytest.raises(TrackerDenied, match="whose token"):
        tracker.label_events(number)


def test_an_app_that_github_does_not_know_is_an_error(github: GitHub, key: str) -> None:
    github.proxy.faults.append(Fault("access_tokens", instead=said(404, {"message": "Integration not found"})))

    with pytest.raises(TrackerAuth, match="App 7"):
        installed(github, key).token()


def test_a_key_that_is_none_is_named_without_its_text(github: GitHub) -> None:
    with pytest.raises(ConfigError) as raised:
        installed(github, "-----BEGIN not a key of mine-----").token()

    assert "not a key of mine" not in str(raised.value)
