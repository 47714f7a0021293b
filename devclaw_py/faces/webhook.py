"""``devclaw webhook``: a small server that turns a forge's events into a look at the project, now.

It hastens and is never the truth: an event that is lost, doubled or late costs nothing but time. The mark is on the
disk before the forge is answered, and the look happens after that, in a thread of its own. The standard library's
server does, because there is one path, one method and a peer that is the operator's own proxy.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread

from devclaw_py.app import App
from devclaw_py.errors import ConfigError, DevClawError
from devclaw_py.faces.deliveries import genuine, read
from devclaw_py.kernel.wake import ring
from devclaw_py.model.caller import HEARTBEAT
from devclaw_py.model.settings import WebhookSettings
from devclaw_py.night.dispatch import Known
from devclaw_py.night.heartbeat import Visit, visit_all
from devclaw_py.night.loop import bell_of
from devclaw_py.state.looks import Looks

PATH = "/webhook"
MOST_BYTES = 5_000_000
PEER_S = 10.0
SEEN_AS = "webhook"
SHORTEST_SECRET = 16


def secret_of(settings: WebhookSettings, workspace: Path) -> str:
    """Return the secret that forges and devclaw share.

    Raises:
        ConfigError: no file is set, it cannot be read, or what it holds could be guessed.
    """
    if not settings.secret_file:
        raise ConfigError(
            "a webhook needs a secret: without one anybody could set devclaw to work",
            hint="write one into a file (openssl rand -hex 32) and set secret_file in [webhook]",
        )
    path = workspace / Path(settings.secret_file).expanduser()
    try:
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(
            f"[webhook] secret_file: {path} cannot be read: {why}", hint=f"openssl rand -hex 32 > {path}"
        ) from None
    if len(secret) < SHORTEST_SECRET:
        raise ConfigError(
            f"[webhook] secret_file: {path} holds fewer than {SHORTEST_SECRET} characters", hint="openssl rand -hex 32"
        )
    return secret


@dataclass
class Ear:
    """What becomes of a request: a status, and perhaps a marked project. ``heard`` is set with each mark."""

    app: App
    secret: str
    ignored: frozenset[str]
    heard: Event = field(default_factory=Event)

    def hear(self, headers: Mapping[str, str], body: bytes) -> tuple[int, str]:
        """Take one delivery and return status and text of the answer."""
        if not genuine(headers, body, self.secret):
            return 401, "the secret is another one"
        delivery = read(headers, body)
        if delivery is None:
            return 202, "about no repository"
        if delivery.actor.casefold() in self.ignored:
            return 202, "devclaw's own"
        groups = delivery.about(self.app.store.registry.all().values())
        if not groups:
            return 202, "about no project"
        if delivery.id and not self.app.store.journal.first_seen(SEEN_AS, f"{delivery.provider} {delivery.id}"):
            return 202, "known"
        for group_id in groups:
            Looks(self.app.workspace).want(group_id)
        ring(bell_of(self.app.workspace))
        self.heard.set()
        return 202, "looking"


class Server(ThreadingHTTPServer):
    """The server; ``ear`` takes what is delivered. Port 0 chooses a free one."""

    daemon_threads = True

    def __init__(self, host: str, port: int, ear: Ear) -> None:
        self.ear = ear
        try:
            super().__init__((host, port), _Handler)
        except OSError as error:
            raise ConfigError(
                f"[webhook] nobody can listen at {host}:{port}: {error.strerror}", hint="set host and port in [webhook]"
            ) from error


class _Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "devclaw", ""
    timeout = PEER_S  # a peer that says nothing must not keep a thread

    def do_POST(self) -> None:
        """Take one delivery."""
        if self.path.partition("?")[0] != PATH:
            return self._answer(404, "no such path")
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal():
            return self._answer(411, "the length is missing")
        if int(length) > MOST_BYTES:
            return self._answer(413, "too long")
        body = self.rfile.read(int(length))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            status, said = self.server.ear.hear(headers, body)
        except (DevClawError, OSError) as error:
            # The forge may show this to others; what is wrong is for the operator.
            print(f"webhook: {error}", file=sys.stderr)
            status, said = 503, "not now"
        return self._answer(status, said)

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: paths and peers are the proxy's to log."""

    def _answer(self, status: int, said: str) -> None:
        content = f"{said}\n".encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        # What was not read of a request that is refused must not be taken for the next one.
        self.send_header("Connection", "close")
        self.close_connection = True
        self.end_headers()
        self.wfile.write(content)


def look_on(app: App, heard: Event, ended: Event, tell: Callable[[Visit], None]) -> None:
    """Visit marked projects until ``ended``; marks of an earlier process first."""
    while not ended.is_set():
        heard.clear()
        for group_id in sorted(Looks(app.workspace).wanted() & app.store.registry.all().keys()):
            try:
                for visit in visit_all(app, force=False, caller=HEARTBEAT, groups=[group_id], known=Known()):
                    tell(visit)
            except (DevClawError, OSError) as error:
                print(f"webhook: {error}", file=sys.stderr)
        heard.wait()


def serve(app: App, server: Server, tell: Callable[[Visit], None]) -> None:
    """Serve until interrupted; events are looked into one after another."""
    ended = Event()
    looker = Thread(target=look_on, args=(app, server.ear.heard, ended, tell), daemon=True)
    looker.start()
    try:
        server.serve_forever()
    finally:
        ended.set()
        server.ear.heard.set()
        server.server_close()
