"""A GitHub on this machine for the demo: the program `emulate`, and a small server in front of it.

The front adds what the emulated one lacks and devclaw asks for: repositories by their number, and a git behind them.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import RLock, Thread
from typing import Any

from devclaw_py.demo import sample
from devclaw_py.demo.mirror import Mirror
from devclaw_py.demo.repository import BASE, GIT_S
from devclaw_py.errors import ConfigError
from devclaw_py.kernel import files, proc
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.work.command import Git

VARIABLE = "DEVCLAW_EMULATE_BIN"
OWNER, TOKEN = "acme", "tok_devclaw"
REPOSITORY = f"/repos/{OWNER}/{sample.NAME}"
SEED = f"""
tokens:
  {TOKEN}: {{login: devclaw, scopes: [repo, user]}}
github:
  users: [{{login: devclaw, name: DevClaw}}]
  orgs: [{{login: {OWNER}, name: Acme, members: [{{login: devclaw, role: admin}}]}}]
"""
START_S, ANSWER_S = 30.0, 20.0
BY_NUMBER = re.compile(r"^(?:/api/v3)?(?:/repositories/\d+)?")
STATUS = re.compile(rf"^{REPOSITORY}/commits/[^/]+/status(?:\?|$)")
PULLS = re.compile(rf"^{REPOSITORY}/pulls(?:/\d+)?(?:\?|$)")
MERGE = re.compile(rf"^{REPOSITORY}/pulls/(\d+)/merge$")


@dataclass
class Answer:
    """What the emulated GitHub said. Only one header of it matters."""

    status: int
    text: str
    link: str | None = None


class Hub:
    """The front. ``web`` is its address; the repository is ``acme/till`` there."""

    def __init__(self, upstream: int) -> None:
        self._upstream, self._lock = upstream, RLock()
        self._mirror: Mirror | None = None
        hub = self

        class Handler(_Handler):
            """Answers for this hub."""

            front = hub

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.web = f"http://127.0.0.1:{self._server.server_port}"
        Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def address(self) -> str:
        """The repository's address, as a remote would have it."""
        return f"{self.web}/{OWNER}/{sample.NAME}.git"

    def stop(self) -> None:
        """End the front."""
        self._server.shutdown()
        self._server.server_close()

    def make_repository(self, bare: Path) -> None:
        """Make the repository there for the bare one here."""
        self.ask("POST", f"/orgs/{OWNER}/repos", {"name": sample.NAME, "auto_init": True})
        self._mirror = Mirror(Git(GIT_S), bare, lambda method, below, body: self.ask(method, REPOSITORY + below, body))
        self._mirror.begin()

    def ask(self, method: str, path: str, body: object = None) -> Any:  # noqa: ANN401 - it is JSON
        """Ask the emulated GitHub itself."""
        return json.loads(self._send(method, path, "" if body is None else json.dumps(body)).text or "null")

    def answer(self, method: str, target: str, body: str) -> Answer:
        """Answer a request of devclaw's."""
        path = BY_NUMBER.sub(lambda found: REPOSITORY if "repositories" in found[0] else "", target, count=1)
        with self._lock:
            mirror = self._mirror
            if mirror is None:
                return self._send(method, path, body)
            mirror.push()
            if (lacking := self._lacking(mirror, method, path, body)) is not None:
                return lacking
            if method == "PUT" and (asked := MERGE.match(path)):
                return self._merge(mirror, asked[1], path, json.loads(body))
            answer = self._send(method, mirror.outward(path), mirror.outward(body))
            text = mirror.inward(answer.text)
            if method == "GET" and answer.status == 200 and PULLS.match(path):
                text = json.dumps(mirror.followed(json.loads(text)))
            return Answer(answer.status, text, answer.link)

    def _merge(self, mirror: Mirror, number: str, path: str, body: dict[str, Any]) -> Answer:
        """Merge a request at the commit that is asked for; the emulated one knows that at which it was opened."""
        head = self.ask("GET", f"{REPOSITORY}/pulls/{number}")["head"]
        if mirror.tip(head["ref"]) != body["sha"]:
            return Answer(409, json.dumps({"message": "Head branch was modified. Review and try the merge again."}))
        answer = self._send("PUT", path, json.dumps({**body, "sha": head["sha"]}))
        if answer.status == 200:
            mirror.merge(head["ref"], json.loads(answer.text)["sha"])
        return Answer(answer.status, mirror.inward(answer.text))

    def _lacking(self, mirror: Mirror, method: str, path: str, body: str) -> Answer | None:
        """Return what GitHub says where the emulated one has nothing or takes what it should not."""
        if method == "GET" and STATUS.match(path):
            return Answer(200, json.dumps({"state": "pending", "statuses": [], "total_count": 0}))
        if (method, path) == ("POST", f"{REPOSITORY}/pulls") and not mirror.has(str(json.loads(body).get("head"))):
            return Answer(422, json.dumps({"message": "Validation Failed", "errors": [{"field": "head"}]}))
        return None

    def _send(self, method: str, path: str, body: str) -> Answer:
        connection = HTTPConnection("127.0.0.1", self._upstream, timeout=ANSWER_S)
        try:
            headers = {"Authorization": f"token {TOKEN}", "Content-Type": "application/json"}
            connection.request(method, path, body.encode() or None, headers)
            found = connection.getresponse()
            return Answer(found.status, found.read().decode(), found.getheader("Link"))
        finally:
            connection.close()


class _Handler(BaseHTTPRequestHandler):
    front: Hub
    protocol_version = "HTTP/1.1"

    def _respond(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
        try:
            answer = self.front.answer(self.command, self.path, body)
        except (OSError, HTTPException) as error:
            answer = Answer(502, json.dumps({"message": f"the emulated GitHub is gone: {type(error).__name__}"}))
        content = answer.text.encode()
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        if answer.status != 204:
            self.send_header("Content-Length", str(len(content)))
        if answer.link:
            self.send_header("Link", answer.link)
        self.end_headers()
        if answer.status != 204:
            self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _respond

    def log_message(self, format: str, *args: object) -> None:
        """Keep quiet: the demo draws on this terminal."""


@contextmanager
def emulated(folder: Path, environ: Mapping[str, str]) -> Iterator[Hub]:
    """Run an emulated GitHub for as long as the block lasts.

    Raises:
        ConfigError: its program is not named, or does not start.
    """
    program = environ.get(VARIABLE)
    if not program:
        raise ConfigError(
            f"the demo on GitHub needs an emulated one, and {VARIABLE} names none",
            hint=f"npm install emulate@0.12.2 (Node 22.15 or newer); {VARIABLE}=node_modules/.bin/emulate",
        )
    seed, quiet = folder / "emulate.yaml", folder / "emulate.log"
    files.write(seed, SEED.encode())
    port = _free_port()
    hub = Hub(port)
    words = ["start", "-s", "github", "-p", str(port), "--base-url", hub.web, "--seed", str(seed)]
    try:
        with files.writing(quiet):
            process = proc.start(_quietly([program, *words], quiet), cwd=folder, env=dict(environ), stdin=seed)
    except proc.NotAnswered as error:
        hub.stop()
        raise ConfigError(str(error), hint=f"set {VARIABLE} to its command") from error
    try:
        _wait(hub, quiet)
        yield hub
    finally:
        hub.stop()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait()


def _quietly(argv: list[str], log: Path) -> list[str]:
    """Return the command with its output in a file: the demo draws on this terminal."""
    return ["sh", "-c", 'log=$1; shift; exec "$@" >"$log" 2>&1', "sh", str(log), *argv]


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
    return port


def _wait(hub: Hub, log: Path) -> None:
    clock = SystemClock()
    deadline = clock.monotonic() + START_S
    while clock.monotonic() < deadline:
        with suppress(OSError, HTTPException, ValueError):
            if (hub.ask("GET", "/user") or {}).get("login"):
                return
        clock.sleep(0.05)
    said = (files.read(log) or b"").decode(errors="replace").strip().splitlines()
    raise ConfigError(f"the emulated GitHub does not answer: {said[-1] if said else 'it said nothing'}")


def publish(repository: Path, bare: Path) -> None:
    """Give the sample repository a remote on the disk, which stands for GitHub's git."""
    git = Git(GIT_S)
    files.folder(bare)
    asked = "make the demo's remote"
    git.run(bare, "init", "--quiet", "--bare", "--template=", f"--initial-branch={BASE}", asked=asked)
    git.run(repository, "remote", "add", "origin", str(bare), asked=asked)
    git.run(repository, "push", "--quiet", "origin", BASE, asked=asked)
