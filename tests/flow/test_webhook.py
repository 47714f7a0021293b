"""Events of forges over real HTTP: who may tell, what is told, and that a project is looked at once."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from devclaw_py.errors import ConfigError
from devclaw_py.faces.webhook import MOST_BYTES, PATH, Ear, Server, look_on, secret_of
from devclaw_py.model.pipeline import Provider, State
from devclaw_py.model.project import Forge
from devclaw_py.model.request import Checks
from devclaw_py.model.settings import WebhookSettings
from devclaw_py.night.heartbeat import Visit, tick
from devclaw_py.state.looks import Looks
from tests.conftest import GROUP, Office

SECRET = "a secret of twenty letters"
REPOSITORY = {"id": 7, "html_url": "https://github.com/acme/shop"}
EVENT = {"action": "completed", "repository": REPOSITORY, "sender": {"login": "ann"}}


@dataclass
class Line:
    """A server at the office, and the forges that call it."""

    office: Office
    server: Server

    def post(self, body: bytes, headers: dict[str, str], path: str = PATH) -> int:
        connection = HTTPConnection("127.0.0.1", self.server.server_port, timeout=20)
        try:
            connection.request("POST", path, body, headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def github(self, event: object = EVENT, *, key: str = "d-1", secret: str = SECRET) -> int:
        body = json.dumps(event).encode()
        signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
        return self.post(body, {"X-Hub-Signature-256": signature, "X-GitHub-Delivery": key})

    def gitlab(self, *, key: str = "d-1", secret: str = SECRET, host: str = "gitlab.com") -> int:
        event = {"project": {"id": 7, "web_url": f"https://{host}/acme/shop"}, "user": {"username": "ann"}}
        return self.post(json.dumps(event).encode(), {"X-Gitlab-Token": secret, "X-Gitlab-Event-UUID": key})

    @property
    def marked(self) -> set[str]:
        return Looks(self.office.app.workspace).wanted()


@pytest.fixture
def line(office: Office) -> Iterator[Line]:
    office.on_forge()
    at_github(office)
    server = Server("127.0.0.1", 0, Ear(office.app, SECRET, frozenset({"devclaw[bot]"})))
    Thread(target=server.serve_forever, daemon=True).start()
    yield Line(office, server)
    server.shutdown()
    server.server_close()


def at_github(office: Office) -> None:
    office.change(forge=Forge(host="github.com", api="https://api.github.com", path="acme/shop", id="7"))


def test_a_signed_event_marks_its_project(line: Line) -> None:
    assert line.github() == 202
    assert line.marked == {GROUP}


def test_an_event_of_gitlab_marks_its_project(line: Line) -> None:
    line.office.change(
        provider=Provider.GITLAB,
        forge=Forge(host="gitlab.com", api="https://gitlab.com/api/v4", path="acme/shop", id="7"),
    )

    assert line.gitlab() == 202
    assert line.marked == {GROUP}


@pytest.mark.parametrize("secret", ["another", ""])
def test_who_does_not_know_the_secret_is_refused(line: Line, secret: str) -> None:
    assert line.github(secret=secret or "x") == 401
    assert line.gitlab(secret=secret) == 401
    assert line.post(json.dumps(EVENT).encode(), {"X-GitHub-Delivery": "d"}) == 401
    assert line.marked == set()


def test_a_body_that_was_changed_on_its_way_is_refused(line: Line) -> None:
    signature = "sha256=" + hmac.new(SECRET.encode(), b"{}", hashlib.sha256).hexdigest()

    assert line.post(b"{ }", {"X-Hub-Signature-256": signature}) == 401


@pytest.mark.parametrize(
    "event",
    [
        {**EVENT, "repository": {**REPOSITORY, "id": 8}},
        {**EVENT, "repository": {**REPOSITORY, "html_url": "https://ghe.example/acme/shop"}},
        {**EVENT, "sender": {"login": "DevClaw[bot]"}},
        {"zen": "Design for failure."},
        ["a list"],
    ],
    ids=["other-repository", "other-host", "own", "ping", "list"],
)
def test_what_concerns_no_project_is_taken_and_marks_nothing(line: Line, event: object) -> None:
    assert line.github(event) == 202
    assert line.marked == set()


def test_the_same_delivery_counts_once(line: Line) -> None:
    line.github()
    Looks(line.office.app.workspace).take(GROUP)

    assert line.github() == 202
    assert line.marked == set()
    line.github(key="d-2")
    assert line.marked == {GROUP}


def test_a_body_that_is_too_long_is_not_read(line: Line) -> None:
    connection = HTTPConnection("127.0.0.1", line.server.server_port, timeout=20)
    connection.putrequest("POST", PATH)
    connection.putheader("Content-Length", str(MOST_BYTES + 1))
    connection.endheaders()

    assert connection.getresponse().status == 413
    connection.close()


def test_other_paths_and_methods_are_refused(line: Line) -> None:
    connection = HTTPConnection("127.0.0.1", line.server.server_port, timeout=20)
    connection.request("GET", PATH)

    assert connection.getresponse().status == 501
    connection.close()
    assert line.post(b"{}", {}, path="/") == 404


def test_a_registry_that_cannot_be_read_is_not_now_and_tells_the_peer_nothing(
    line: Line, capsys: pytest.CaptureFixture[str]
) -> None:
    (line.office.app.workspace / "memory" / "projects.json").write_text("{")

    assert line.github() == 503
    assert "projects.json" in capsys.readouterr().err


# --- what a mark does ---


def waiting(office: Office) -> int:
    """Have a pass that waits for its checks, which are green by now; its next try is yet to come."""
    issue = office.testing()
    assert office.requests is not None
    office.requests.check(1, Checks.PENDING)
    office.done("task_complete", role="qa", result="pass")
    office.requests.check(1, Checks.GREEN)
    return issue


def test_a_tick_looks_at_a_marked_project_before_its_time(line: Line) -> None:
    issue = waiting(line.office)
    tick(line.office.app)
    assert line.office.states(issue) == (State.TESTING,)

    line.github()
    tick(line.office.app)

    assert line.office.states(issue) == (State.DONE,)
    assert line.marked == set()


def test_a_mark_that_meets_a_busy_project_stays(line: Line) -> None:
    waiting(line.office)
    line.github()

    with line.office.app.store.hold(f"project:{GROUP}", wait_s=0, holder="somebody"):
        tick(line.office.app)

    assert line.marked == {GROUP}


def test_the_server_looks_at_once_and_without_a_tick(line: Line) -> None:
    issue = waiting(line.office)
    heard, ended, seen = line.server.ear.heard, Event(), Event()
    told: list[Visit] = []

    def tell(visit: Visit) -> None:
        told.append(visit)
        seen.set()

    looker = Thread(target=look_on, args=(line.office.app, heard, ended, tell), daemon=True)
    looker.start()
    line.github()
    assert seen.wait(20)
    ended.set()
    heard.set()
    looker.join(20)

    assert told[0].settled == [f"task_complete of #{issue} was settled"]
    assert line.office.states(issue) == (State.DONE,)


def test_marks_have_the_names_of_any_group(tmp_path: Path) -> None:
    looks = Looks(tmp_path)
    groups = {"-1001", "120363@g.us", "../x", "a b/c", "."}
    for group in groups:
        looks.want(group)

    assert looks.wanted() == groups
    assert [looks.take(group) for group in sorted(groups)] == [True] * 5
    assert looks.wanted() == set()


@pytest.mark.parametrize("content", [None, "short", "\n"])
def test_without_a_secret_worth_the_name_nothing_is_served(tmp_path: Path, content: str | None) -> None:
    settings: dict[str, Any] = {}
    if content is not None:
        (tmp_path / "secret").write_text(content)
        settings = {"secret_file": "secret"}

    with pytest.raises(ConfigError) as refused:
        secret_of(WebhookSettings(**settings), tmp_path)

    assert "openssl rand" in (refused.value.hint or "")


def test_a_secret_that_is_not_there_is_said_in_words_and_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file or directory") as refused:
        secret_of(WebhookSettings(secret_file="secret"), tmp_path)

    assert refused.value.hint == f"openssl rand -hex 32 > {tmp_path / 'secret'}"


def test_a_port_that_is_taken_is_said(line: Line, office: Office) -> None:

    with pytest.raises(ConfigError, match="nobody can listen"):
        Server("127.0.0.1", line.server.server_port, line.server.ear)
