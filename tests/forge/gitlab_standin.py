"""A GitLab for tests: projects, labels, issues, notes, histories and merge requests, as far as devclaw asks for them.

The forms of its answers are held to recorded ones; its rules are those of GitLab's documentation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import count
from typing import Any
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tests.forge.proxy import Answer, Asked, Proxy, said

API = "/api/v4"
USERS = {"tok_bot": "bot", "tok_human": "human", "tok_read": "reader", "glcbt-job": ""}
SCOPES = {"tok_read": ["read_api"]}
ROLES = {"bot": 30, "human": 40, "reader": 30}
ABSENT = said(404, {"message": "404 Not found"})

Body = dict[str, Any]
Route = Callable[["Standing", Body, "Who"], Answer]


@dataclass(frozen=True)
class Who:
    """Who asks, with which query."""

    name: str
    query: dict[str, str]
    words: tuple[str, ...]
    path: str


@dataclass
class Standing:
    """One project as it stands."""

    id: int
    path: str
    labels: list[Body] = field(default_factory=list)
    issues: dict[int, Body] = field(default_factory=dict)
    notes: dict[int, list[Body]] = field(default_factory=dict)
    events: dict[int, list[Body]] = field(default_factory=dict)
    requests: dict[int, Body] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    settings: Body = field(default_factory=dict)
    roles: dict[str, int] = field(default_factory=lambda: dict(ROLES))
    approvals: Body = field(default_factory=lambda: {"approvals_left": 0, "approved_by": []})


class StandIn(Proxy):
    """The server, with ``more`` routes. `log`, `faults` and ETags are as in front of the emulated GitHub."""

    def __init__(self, *more: tuple[str, str, Route]) -> None:
        self.routes = [*ROUTES, *more]
        super().__init__(0)
        self.projects: dict[int, Standing] = {}
        self.moved: dict[str, int] = {}
        self.numbers = count(1000)

    def project(self, path: str) -> Standing:
        """Make an empty project with one commit on main."""
        made = Standing(next(self.numbers), path, branches={"main": f"{next(self.numbers):040x}"})
        self.projects[made.id] = made
        return made

    def upstream(self, method: str, path: str, body: object = None, *, token: str = "tok_human") -> Answer:
        content = b"" if body is None else json.dumps(body).encode()
        return self._as_github(Asked(method, API + path, token, content))

    def human(self, method: str, path: str, body: object = None) -> Any:
        answer = self.upstream(method, path, body)
        assert answer.status < 400, (method, path, answer)
        return answer.body

    def _as_github(self, asked: Asked) -> Answer:
        with self._lock:
            return self._answer(asked)

    def _answer(self, asked: Asked) -> Answer:
        url = urlsplit(asked.target)
        path = url.path.removeprefix(API)
        name = USERS.get(asked.token)
        if not name:
            return said(401, {"message": "401 Unauthorized"})
        if asked.method != "GET" and "api" not in SCOPES.get(asked.token, ["api"]):
            told = "The request requires higher privileges than provided by the access token."
            return said(403, {"error": "insufficient_scope", "error_description": told, "scope": "api"})
        if path == "/user":
            return said(200, user(name))
        if path == "/personal_access_tokens/self":
            return said(200, {"scopes": SCOPES.get(asked.token, ["api"]), "expires_at": None})
        query = dict(parse_qsl(url.query))
        if path == "/users":
            return said(200, [user(each) for each in ROLES if each == query.get("username")])
        return self._in_project(asked, path, query, name)

    def _in_project(self, asked: Asked, path: str, query: dict[str, str], name: str) -> Answer:
        _, _, key, *rest = path.split("/")
        if unquote(key) in self.moved:
            return Answer(301, b"{}", {"Location": f"{self.url}{API}/projects/{self.moved[unquote(key)]}"})
        found = next((each for each in self.projects.values() if unquote(key) in (str(each.id), each.path)), None)
        if found is None:
            return said(404, {"message": "404 Project Not Found"})
        if found.settings.get("archived") and asked.method != "GET":
            return said(403, {"message": "403 Forbidden"})
        below = "/".join(rest)
        body = json.loads(asked.body) if asked.body else {}
        for method, pattern, route in self.routes:
            matched = re.fullmatch(pattern, below)
            if matched and method == asked.method:
                return route(found, body, Who(name, query, matched.groups(), f"{self.url}{API}{path}"))
        return said(404, {"error": "404 Not Found"})


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def user(name: str) -> Body:
    return {"id": list(ROLES).index(name) + 1, "username": name, "name": name.title(), "state": "active"}


def paged(found: Iterable[Body], who: Who) -> Answer:
    items, size, page = list(found), int(who.query.get("per_page", 20)), int(who.query.get("page", 1))
    headers = {"X-Total": str(len(items))}
    if page * size < len(items):
        following = urlencode({**who.query, "page": page + 1, "per_page": size})
        headers["Link"] = f'<{who.path}?{following}>; rel="next", <{who.path}?page=1>; rel="first"'
    answer = said(200, items[(page - 1) * size : page * size])
    answer.headers.update(headers)
    return answer


def split(names: str | list[str] | None) -> list[str]:
    found = names if isinstance(names, list) else (names or "").split(",")
    return [name.strip() for name in found if name.strip()]


def relabel(project: Standing, issue: Body, who: Who, *, add: list[str], remove: list[str]) -> None:
    before = list(issue["labels"])
    after = [name for name in before if name not in remove]
    after += [name for name in dict.fromkeys(add) if name not in after]
    for name in after:
        if all(label["name"] != name for label in project.labels):
            project.labels.append({"id": len(project.labels) + 1, "name": name, "color": "#6699cc"})
    changes = [(name, "add") for name in after if name not in before]
    changes += [(name, "remove") for name in before if name not in after]
    kept = project.events.setdefault(issue["iid"], [])
    for name, action in changes:
        label = {"id": 1, "name": name, "color": "#6699cc", "description": None}
        event = {"id": len(kept) + 1, "user": user(who.name), "created_at": now(), "label": label, "action": action}
        kept.append({**event, "resource_type": "Issue", "resource_id": issue["id"]})
    if changes:
        write_note(project, issue, "bot", f"{len(changes)} labels changed", system=True)
    issue["labels"] = sorted(after)


def write_note(project: Standing, issue: Body, author: str, text: str, *, system: bool = False) -> Body:
    notes = project.notes.setdefault(issue["iid"], [])
    note = {"id": issue["id"] * 1000 + len(notes), "author": user(author), "body": text, "system": system}
    note |= {"created_at": now(), "updated_at": now(), "noteable_id": issue["id"], "noteable_iid": issue["iid"]}
    notes.append(note)
    return note


def commands(project: Standing, issue: Body, who: Who, text: str) -> str:
    """Carry out the quick actions of a text and return what is left of it."""
    for word, given in re.findall(r"^/(close|reopen|label) ?(.*)$", text, re.MULTILINE):
        if word == "label":
            relabel(project, issue, who, add=re.findall(r'~"?([\w ]+)"?', given), remove=[])
        else:
            issue["state"] = "closed" if word == "close" else "opened"
    return re.sub(r"^/(close|reopen|label).*\n?", "", text, flags=re.MULTILINE)


def list_issues(project: Standing, body: Body, who: Who) -> Answer:
    if project.settings.get("issues_access_level") == "disabled":
        return said(403, {"message": "403 Forbidden"})
    wanted, state = split(who.query.get("labels")), who.query.get("state", "all")
    found = [issue for issue in project.issues.values() if state in ("all", issue["state"])]
    found = [issue for issue in found if all(name in issue["labels"] for name in wanted)]
    key = who.query.get("order_by", "created_at")
    found.sort(key=lambda issue: (issue[key], issue["iid"]), reverse=who.query.get("sort", "desc") == "desc")
    return paged(found, who)


def create_issue(project: Standing, body: Body, who: Who) -> Answer:
    if project.settings.get("issues_access_level") == "disabled":
        return said(403, {"message": "403 Forbidden"})
    if not body.get("title"):
        return said(400, {"message": {"title": ["can't be blank"]}})
    number = max(project.issues, default=0) + 1
    known = {each["id"]: each for each in map(user, ROLES)}
    issue = {
        "id": project.id * 1000 + number,
        "iid": number,
        "project_id": project.id,
        "title": body["title"],
        "description": body.get("description"),
        "state": "opened",
        "labels": [],
        "assignees": [known[each] for each in body.get("assignee_ids", ())],
        "author": user(who.name),
        "confidential": bool(body.get("confidential")),
        "discussion_locked": None,
        "moved_to_id": None,
        "issue_type": body.get("issue_type", "issue"),
        "created_at": now(),
        "updated_at": now(),
        "closed_at": None,
        "web_url": f"https://gitlab.test/{project.path}/-/issues/{number}",
    }
    project.issues[number] = issue
    issue["description"] = commands(project, issue, who, body.get("description") or "")
    relabel(project, issue, who, add=split(body.get("labels")), remove=[])
    return said(201, issue)


def read_issue(project: Standing, body: Body, who: Who) -> Answer:
    issue = project.issues.get(int(who.words[0]))
    return said(200, issue) if issue else ABSENT


def edit_issue(project: Standing, body: Body, who: Who) -> Answer:
    issue = project.issues.get(int(who.words[0]))
    if issue is None:
        return ABSENT
    if "labels" in body:
        wanted = split(body["labels"])
        relabel(project, issue, who, add=wanted, remove=[name for name in issue["labels"] if name not in wanted])
    relabel(project, issue, who, add=split(body.get("add_labels")), remove=split(body.get("remove_labels")))
    if "state_event" in body:
        issue["state"] = "closed" if body["state_event"] == "close" else "opened"
        issue["closed_at"] = now() if issue["state"] == "closed" else None
    issue |= {key: body[key] for key in ("confidential", "issue_type", "discussion_locked") if key in body}
    issue["updated_at"] = now()
    return said(200, issue)


def delete_issue(project: Standing, body: Body, who: Who) -> Answer:
    return Answer(204) if project.issues.pop(int(who.words[0]), None) else ABSENT


def list_notes(project: Standing, body: Body, who: Who) -> Answer:
    number = int(who.words[0])
    notes = project.notes.get(number, [])
    oldest = who.query.get("sort") == "asc"
    return paged(notes if oldest else notes[::-1], who) if number in project.issues else ABSENT


def add_note(project: Standing, body: Body, who: Who) -> Answer:
    issue = project.issues.get(int(who.words[0]))
    if issue is None:
        return ABSENT
    if issue["discussion_locked"]:
        return said(403, {"message": "403 Forbidden"})
    text = commands(project, issue, who, body["body"])
    return said(201, write_note(project, issue, who.name, text))


def list_events(project: Standing, body: Body, who: Who) -> Answer:
    number = int(who.words[0])
    return paged(project.events.get(number, []), who) if number in project.issues else ABSENT


def list_labels(project: Standing, body: Body, who: Who) -> Answer:
    return paged(project.labels, who)


def create_label(project: Standing, body: Body, who: Who) -> Answer:
    if any(label["name"] == body["name"] for label in project.labels):
        return said(409, {"message": "Label already exists"})
    if not re.fullmatch("#[0-9a-f]{6}", body["color"]):
        return said(400, {"message": {"color": ["must be a valid color code"]}})
    label = {"id": len(project.labels) + 1, "name": body["name"], "color": body["color"], "description": None}
    project.labels.append(label)
    return said(201, label)


def read_project(project: Standing, body: Body, who: Who) -> Answer:
    access = {"access_level": project.roles.get(who.name, 0), "notification_level": 3}
    found = {"id": project.id, "path_with_namespace": project.path, "default_branch": "main", "archived": False}
    found |= {"issues_access_level": "enabled", "merge_requests_access_level": "enabled"}
    return said(200, {**found, "permissions": {"project_access": access, "group_access": None}, **project.settings})


ISSUE = r"issues/(\d+)"
ROUTES: list[tuple[str, str, Route]] = [
    ("GET", "", read_project),
    ("GET", "labels", list_labels),
    ("POST", "labels", create_label),
    ("GET", "issues", list_issues),
    ("POST", "issues", create_issue),
    ("GET", ISSUE, read_issue),
    ("PUT", ISSUE, edit_issue),
    ("DELETE", ISSUE, delete_issue),
    ("GET", f"{ISSUE}/notes", list_notes),
    ("POST", f"{ISSUE}/notes", add_note),
    ("GET", f"{ISSUE}/resource_label_events", list_events),
]
