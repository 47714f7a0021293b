"""A server in front of an emulated GitHub: what the emulator lacks, faults on demand, and a log of all requests.

It adds what GitHub does and `emulate` 0.12.2 does not: ETag and 304, a quota that a 304 does not touch, label names
without regard to case, the texts and codes of refusals, whole seconds, repositories by their number.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import quote, unquote, urlsplit

LIMIT = 5000
MILLISECONDS = re.compile(rb"(\d\d:\d\d:\d\d)\.\d{3}Z")
TOKEN = re.compile(r"(?i)(?:token|bearer)\s+")


@dataclass
class Answer:
    """What goes back."""

    status: int
    content: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def body(self) -> Any:
        return json.loads(self.content or b"null")


def said(status: int, body: object, headers: Mapping[str, str] | None = None) -> Answer:
    return Answer(status, json.dumps(body).encode(), dict(headers or {}))


class Dropped(Exception):
    """The connection ends without an answer."""


@dataclass
class Fault:
    """What happens to the next request that matches ``on``, a pattern for ``METHOD /path?query``.

    ``before`` acts first; ``instead`` answers without asking upstream; ``drop`` ends the connection before upstream is
    asked or after it; ``edit`` makes another answer of upstream's. ``spared`` requests are let through, then
    ``times`` are met.
    """

    on: str
    before: Callable[[], object] | None = None
    instead: Answer | None = None
    drop: str = ""
    edit: Callable[[Answer], Answer] | None = None
    times: int = 1
    spared: int = 0


@dataclass
class Asked:
    """A request as it came."""

    method: str
    target: str
    token: str
    body: bytes

    @property
    def line(self) -> str:
        return f"{self.method} {self.target}"


class Proxy:
    """In front of ``upstream``, a port on loopback; `log` has each request's line and status, `bodies` what it sent."""

    def __init__(self, upstream: int) -> None:
        self._upstream = upstream
        self.faults: list[Fault] = []
        self.log: list[tuple[str, int]] = []
        self.bodies: list[tuple[str, bytes]] = []
        self.used = self.not_modified = 0
        self.statuses: dict[str, str] = {}
        self._names: dict[str, str] = {}
        self._labels: dict[str, dict[str, str]] = {}
        self._lock = threading.RLock()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.port: int = self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def clear(self) -> None:
        """Forget log, counts and faults."""
        self.faults.clear()
        self.log.clear()
        self.bodies.clear()
        self.used = self.not_modified = 0

    def lines(self) -> list[str]:
        return [line for line, _ in self.log]

    def statuses_of(self, pattern: str) -> list[int]:
        """Return how requests were answered, 0 for none."""
        return [status for line, status in self.log if re.search(pattern, line)]

    def upstream(self, method: str, path: str, body: object = None, *, token: str = "tok_human") -> Answer:
        """Ask the emulator itself."""
        connection = HTTPConnection("127.0.0.1", self._upstream, timeout=20)
        try:
            content = None if body is None else json.dumps(body)
            headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            kept = {name: value for name, value in response.getheaders() if name.lower() == "link"}
            return Answer(response.status, MILLISECONDS.sub(rb"\1Z", response.read()), kept)
        finally:
            connection.close()

    def human(self, method: str, path: str, body: object = None) -> Any:
        """Let a human do something, which is not logged."""
        answer = self._as_github(Asked(method, path, "tok_human", b"" if body is None else json.dumps(body).encode()))
        assert answer.status < 400, (method, path, answer)
        return answer.body

    def answer(self, asked: Asked, if_none_match: str) -> Answer:
        fault = self._fault(asked)
        if fault and fault.before:
            fault.before()
        if fault and fault.drop == "before":
            raise Dropped
        if fault and fault.instead:
            return fault.instead
        answer = self._as_github(asked)
        if fault and fault.edit:
            answer = fault.edit(answer)
        if fault and fault.drop == "after":
            raise Dropped
        return self._counted(asked, answer, if_none_match)

    def _fault(self, asked: Asked) -> Fault | None:
        with self._lock:
            for fault in self.faults:
                if re.search(fault.on, asked.line):
                    if fault.spared:
                        fault.spared -= 1
                        continue
                    fault.times -= 1
                    if fault.times <= 0:
                        self.faults.remove(fault)
                    return fault
        return None

    def _counted(self, asked: Asked, answer: Answer, if_none_match: str) -> Answer:
        with self._lock:
            if asked.method == "GET" and answer.status == 200:
                digest = hashlib.sha1(asked.token.encode() + answer.content, usedforsecurity=False).hexdigest()
                answer.headers["ETag"] = etag = f'W/"{digest}"'
                if if_none_match == etag:
                    self.not_modified += 1
                    answer = Answer(304, b"", answer.headers)
            self.used += answer.status != 304
            answer.headers.setdefault("X-RateLimit-Remaining", str(LIMIT - self.used))
            answer.headers.setdefault("X-RateLimit-Reset", str(int(time.time()) + 3600))
        return answer

    def _as_github(self, asked: Asked) -> Answer:
        path = self._by_name(urlsplit(asked.target).path)
        repo = "/".join(path.split("/")[2:4]) if path.startswith("/repos/") else ""
        body = self._spelled(repo, path, asked)
        if isinstance(body, Answer):
            return body
        if path.endswith("/merge") and isinstance(body, dict):
            return self._merge(repo, path, body, asked)
        if path.endswith("/status"):
            found = self.statuses.get(path.split("/")[-2], "")
            return said(200, {"state": found or "pending", "total_count": int(bool(found))})
        query = urlsplit(asked.target).query
        # The emulator writes no history of the labels that an issue is made with.
        labels = body.pop("labels", None) if path == f"/repos/{repo}/issues" and isinstance(body, dict) else None
        answer = self.upstream(asked.method, f"{path}?{query}" if query else path, body, token=asked.token)
        if asked.method == "PATCH" and path.count("/") == 3:
            self._names.clear()
        if answer.status == 404 and asked.method == "DELETE" and "/labels/" in path:
            return self._take(path, asked)
        if re.fullmatch(r"GET /repos/[^/]+/[^/]+/pulls(/\d+)?", f"{asked.method} {path}") and answer.status == 200:
            answer.content = json.dumps(self._followed(repo, answer.body)).encode()
        if labels and answer.status == 201:
            number = answer.body["number"]
            self.upstream("POST", f"{path}/{number}/labels", {"labels": labels}, token=asked.token)
            return Answer(201, self.upstream("GET", f"{path}/{number}", token=asked.token).content)
        return answer

    def _by_name(self, path: str) -> str:
        found = re.fullmatch(r"/repositories/(\d+)(/.*)?", path)
        if not found:
            return path
        if found[1] not in self._names:
            repository = self.upstream("GET", f"/repositories/{found[1]}", token="tok_bot")
            if repository.status != 200:
                return path
            self._names[found[1]] = repository.body["full_name"]
        return f"/repos/{self._names[found[1]]}{found[2] or ''}"

    def _spelled(self, repo: str, path: str, asked: Asked) -> object:
        """Return the body with labels as the repository spells them, or an answer that refuses it."""
        body = json.loads(asked.body) if asked.body else None
        if asked.method != "POST" or not isinstance(body, dict):
            return body
        known = self._labels.setdefault(repo, {})
        with self._lock:
            if path == f"/repos/{repo}/labels":
                if body["name"].casefold() in known:
                    return refused("Label", "name", "already_exists")
                if not re.fullmatch("[0-9a-f]{6}", body["color"]):
                    return refused("Label", "color", "invalid")
                known[body["name"].casefold()] = body["name"]
            elif "labels" in body:
                body["labels"] = [known.setdefault(label.casefold(), label) for label in body["labels"]]
        if path == f"/repos/{repo}/pulls":
            return self._openable(repo, body) or body
        return body

    def _merge(self, repo: str, path: str, body: dict[str, Any], asked: Asked) -> Answer:
        """Merge as GitHub does: at the head that is asked for, once, and with the statuses of its own."""
        pull = self.upstream("GET", path.removesuffix("/merge")).body
        if pull["state"] != "open":
            return said(405, {"message": "Pull Request is not mergeable"})
        if self._followed(repo, pull)["head"]["sha"] != body.pop("sha"):
            return said(409, {"message": "Head branch was modified. Review and try the merge again."})
        return self.upstream("PUT", path, body, token=asked.token)

    def _followed(self, repo: str, pulls: Any) -> Any:
        """Let open requests stand at the tips of their branches; the emulator leaves them where they were opened."""
        for pull in pulls if isinstance(pulls, list) else [pulls]:
            tip = self.upstream("GET", f"/repos/{repo}/git/ref/heads/{pull['head']['ref']}")
            if pull["state"] == "open" and tip.status == 200:
                pull["head"]["sha"] = tip.body["object"]["sha"]
        return pulls

    def _openable(self, repo: str, body: dict[str, Any]) -> Answer | None:
        tips = [self.upstream("GET", f"/repos/{repo}/git/ref/heads/{body[end]}") for end in ("head", "base")]
        if any(tip.status != 200 for tip in tips):
            return refused("PullRequest", "head", "invalid")
        if tips[0].body["object"]["sha"] == tips[1].body["object"]["sha"]:
            return said(422, {"message": "Validation Failed", "errors": [{"message": "No commits between the two"}]})
        owner = repo.partition("/")[0]
        for pull in self.upstream("GET", f"/repos/{repo}/pulls?state=open&head={owner}:{body['head']}").body:
            if pull["head"]["ref"] == body["head"]:
                return said(422, {"message": "Validation Failed", "errors": [{"message": "A request already exists"}]})
        return None

    def _take(self, path: str, asked: Asked) -> Answer:
        """Take a label off that stands there in another spelling, else say that it does not."""
        issue_path, _, label = path.rpartition("/labels/")
        issue = self.upstream("GET", issue_path, token=asked.token)
        if issue.status != 200:
            return said(404, {"message": "Not Found"})
        for name in (label["name"] for label in issue.body["labels"]):
            if name.casefold() == unquote(label).casefold() and name != unquote(label):
                return self.upstream("DELETE", f"{issue_path}/labels/{quote(name, safe='')}", token=asked.token)
        return said(404, {"message": "Label does not exist"})

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def parse_request(self) -> bool:
                if super().parse_request():
                    self._serve()
                return False

            def _serve(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                token = TOKEN.sub("", self.headers.get("Authorization") or "")
                asked = Asked(self.command, self.path, token, self.rfile.read(size))
                proxy.bodies.append((asked.line, asked.body))
                try:
                    answer = proxy.answer(asked, self.headers.get("If-None-Match") or "")
                except (Dropped, HTTPException):
                    proxy.log.append((asked.line, 0))
                    self.close_connection = True
                    return
                proxy.log.append((asked.line, answer.status))
                self.send_response(answer.status)
                for name, value in answer.headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer.content)))
                with suppress(OSError):  # whoever asked has given up waiting
                    self.end_headers()
                    self.wfile.write(answer.content)

            def log_message(self, *_: object) -> None:
                pass

        return Handler


def refused(resource: str, of: str, code: str) -> Answer:
    error = {"resource": resource, "field": of, "code": code}
    return said(422, {"message": "Validation Failed", "errors": [error]})
