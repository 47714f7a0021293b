"""The emulated GitHub with git behind its repositories: what is pushed appears there, a merge there is one in git."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from urllib.parse import urlsplit

from devclaw_py.demo.mirror import Mirror
from devclaw_py.work.command import Git
from tests.forge.proxy import Answer, Asked, Proxy

REPOSITORY = re.compile(r"^(?:/api/v3)?(/repos/[^/]+/[^/]+)(/.*)?$")
MERGE = re.compile(r"/pulls/(\d+)/merge")


class GitProxy(Proxy):
    """The proxy with `mirrors`, by the path of the repository. A repository without one has no git."""

    def __init__(self, upstream: int) -> None:
        super().__init__(upstream)
        self.mirrors: dict[str, Mirror] = {}
        self._mirroring = threading.RLock()

    def clear(self) -> None:
        super().clear()
        self.mirrors.clear()

    def stand_behind(self, path: str, bare: Path) -> None:
        """Let the bare repository be the git of ``owner/name``; its base branch is taken for that of the forge."""

        def ask(method: str, below: str, body: object) -> object:
            return self.upstream(method, f"/repos/{path}{below}", body, token="tok_bot").body

        mirror = Mirror(Git(60), bare, ask)
        mirror.begin()
        self.mirrors[path] = mirror

    def _as_github(self, asked: Asked) -> Answer:
        asked = Asked(asked.method, asked.target.replace("/api/v3/", "/", 1), asked.token, asked.body)
        found = REPOSITORY.match(self._by_name(urlsplit(asked.target).path))
        mirror = self.mirrors.get(found[1].removeprefix("/repos/")) if found else None
        if mirror is None or found is None:
            return super()._as_github(asked)
        with self._mirroring:
            mirror.push()
            theirs = Asked(
                asked.method, mirror.outward(asked.target), asked.token, mirror.outward(asked.body.decode()).encode()
            )
            answer = super()._as_github(theirs)
            merged = MERGE.fullmatch(found[2] or "")
            if merged and asked.method == "PUT" and answer.status == 200:
                pull = self.upstream("GET", f"{found[1]}/pulls/{merged[1]}").body
                mirror.merge(pull["head"]["ref"], answer.body["sha"])
            if "/pulls" in (found[2] or "") and asked.method == "GET" and answer.status == 200:
                answer.content = json.dumps(self._settled(mirror, answer.body)).encode()
            answer.content = mirror.inward(answer.content.decode()).encode()
            return answer

    def _settled(self, mirror: Mirror, pulls: object) -> object:
        """Return requests with the heads of merged ones where their branches stand."""
        for pull in pulls if isinstance(pulls, list) else [pulls]:
            if isinstance(pull, dict) and pull.get("merged_at") and mirror.has(pull["head"]["ref"]):
                pull["head"]["sha"] = mirror.tip(pull["head"]["ref"])
        return pulls
