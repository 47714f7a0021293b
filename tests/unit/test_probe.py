"""What an unknown host is: it is asked over real HTTP, once, and never shown a token."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from devclaw_py.model.pipeline import Provider
from devclaw_py.trackers.probe import Probe
from devclaw_py.trackers.remotes import Address

Answer = tuple[int, dict[str, str], str]
Serve = Callable[[dict[str, Answer]], Address]


@pytest.fixture
def asked() -> list[tuple[str, dict[str, str]]]:
    """The path and the headers of each request."""
    return []


@pytest.fixture
def serve(asked: list[tuple[str, dict[str, str]]]) -> Iterator[Serve]:
    """Start a server with the given answers; everything else is 404."""
    servers: list[ThreadingHTTPServer] = []

    def start(answers: dict[str, Answer]) -> Address:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked.append((self.path, dict(self.headers)))
                status, headers, body = answers.get(self.path, (404, {}, "no"))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body.encode())

            def log_message(self, *args: object) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        Thread(target=server.serve_forever, daemon=True).start()
        return Address("http", "127.0.0.1", server.server_port, "root/grp/w")

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


GITLAB = {"/api/v4/version": (401, {"X-Gitlab-Meta": "{}"}, '{"message": "401 Unauthorized"}')}
BELOW = {"/root/api/v4/version": (401, {"X-Gitlab-Meta": "{}"}, "{}")}
ENTERPRISE: dict[str, Answer] = {"/api/v3/meta": (200, {}, '{"installed_version": "3.14.0"}')}
SIGN_IN = {"/api/v4/version": (302, {"Location": "/sign-in"}, ""), "/sign-in": (200, {"X-Gitlab-Meta": "{}"}, "{}")}
FORGEJO: dict[str, Answer] = {"/api/v1/version": (200, {}, '{"version": "9.0.0"}')}


@pytest.mark.parametrize(
    ("answers", "provider", "root"),
    [
        (GITLAB, Provider.GITLAB, ""),
        (BELOW, Provider.GITLAB, "/root"),
        (ENTERPRISE, Provider.GITHUB, ""),
        (SIGN_IN, None, ""),
        (FORGEJO, None, ""),
        ({"/api/v4/version": (200, {}, "<html>")}, None, ""),
    ],
    ids=["gitlab", "gitlab-below-a-root", "enterprise", "sign-in", "forgejo", "html"],
)
def test_a_host_is_what_it_answers(
    serve: Serve, answers: dict[str, Answer], provider: Provider | None, root: str
) -> None:
    address = serve(answers)

    found = Probe().ask(address)

    assert (found.provider if found else None) is provider
    assert found is None or found.web == address.web + root


def test_a_host_is_asked_once_and_shown_nothing(serve: Serve, asked: list[tuple[str, dict[str, str]]]) -> None:
    probe, address = Probe(), serve(GITLAB)

    assert probe.ask(address) == probe.ask(address)

    assert [path for path, _ in asked] == ["/api/v4/version"]
    assert not {"authorization", "private-token"} & {name.lower() for name in asked[0][1]}


def test_a_host_that_does_not_answer_in_time_is_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = Address("http", "127.0.0.1", silent.getsockname()[1], "a/b")

        assert Probe(timeout_s=0.2).ask(address) is None


def test_a_host_where_nobody_listens_is_unknown() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    assert Probe().ask(Address("http", "127.0.0.1", port, "a/b")) is None
