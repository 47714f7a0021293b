"""What a forge's webhook delivers: whether it is genuine, which repository it is about. Nothing else is believed."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from devclaw_py.kernel.secrets import same
from devclaw_py.model.pipeline import Provider
from devclaw_py.model.project import Project

SIGNATURE, GITHUB_ID = "x-hub-signature-256", "x-github-delivery"
TOKEN, GITLAB_IDS = "x-gitlab-token", ("idempotency-key", "x-gitlab-event-uuid")


@dataclass(frozen=True)
class Delivery:
    """One event. ``id`` is the forge's own for it, ``actor`` who did it; ``repository`` its number on ``host``."""

    provider: Provider
    id: str
    host: str
    repository: str
    actor: str

    def about(self, projects: Iterable[Project]) -> list[str]:
        """Return the groups whose projects live in this repository."""
        return [
            project.group_id
            for project in projects
            if project.forge is not None
            and (project.provider, project.forge.id) == (self.provider, self.repository)
            and project.forge.host == self.host
        ]


def genuine(headers: Mapping[str, str], body: bytes, secret: str) -> bool:
    """Say whether a delivery comes from who knows the secret: GitHub signs the very bytes, GitLab shows it."""
    if signature := headers.get(SIGNATURE):
        return same(signature, "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest())
    return same(headers.get(TOKEN, ""), secret)


def read(headers: Mapping[str, str], body: bytes) -> Delivery | None:
    """Return what a genuine delivery is about, or None where it names no repository."""
    try:
        event = json.loads(body)
    except ValueError:
        return None
    if not isinstance(event, dict):
        return None
    if GITHUB_ID in headers:
        found, actor = _fields(event, "repository"), _fields(event, "sender").get("login")
        number, address, key = found.get("id"), found.get("html_url"), headers[GITHUB_ID]
        provider = Provider.GITHUB
    else:
        found, provider = _fields(event, "project"), Provider.GITLAB
        actor = _fields(event, "user").get("username") or event.get("user_username")
        number, address = found.get("id") or event.get("project_id"), found.get("web_url")
        key = next((headers[name] for name in GITLAB_IDS if name in headers), "")
    host = urlsplit(str(address or "")).hostname
    if number is None or not host:
        return None
    return Delivery(provider=provider, id=key, host=host, repository=str(number), actor=str(actor or ""))


def _fields(event: Mapping[str, object], name: str) -> Mapping[str, object]:
    found = event.get(name)
    return found if isinstance(found, dict) else {}
