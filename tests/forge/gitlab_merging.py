"""Merge requests of the GitLab for tests."""

from __future__ import annotations

import hashlib

from tests.forge.gitlab_standin import ABSENT, Body, Route, Standing, Who, now, paged, user
from tests.forge.proxy import Answer, said


def followed(project: Standing, request: Body) -> Body:
    """Let an open request stand at the tip of its branch."""
    tip = project.branches.get(request["source_branch"])
    if request["state"] == "opened" and tip and tip != request["sha"]:
        request["sha"] = tip
        request["head_pipeline"] = None
    return request


def open_request(project: Standing, body: Body, who: Who) -> Answer:
    branch = body["source_branch"]
    if branch not in project.branches:
        return said(400, {"message": {"source_branch": ["does not exist"]}})
    for other in project.requests.values():
        if (other["source_branch"], other["state"]) == (branch, "opened"):
            told = f"Another open merge request already exists for this source branch: !{other['iid']}"
            return said(409, {"message": [told]})
    number = len(project.requests) + 1
    project.requests[number] = {
        "id": project.id * 1000 + number,
        "iid": number,
        "project_id": project.id,
        "title": body["title"],
        "description": body.get("description"),
        "state": "opened",
        "source_branch": branch,
        "target_branch": body["target_branch"],
        "source_project_id": project.id,
        "target_project_id": project.id,
        "sha": project.branches[branch],
        "draft": body["title"].startswith("Draft:"),
        "work_in_progress": body["title"].startswith("Draft:"),
        "has_conflicts": False,
        "merge_status": "can_be_merged",
        "detailed_merge_status": "mergeable",
        "merge_commit_sha": None,
        "squash_commit_sha": None,
        "head_pipeline": None,
        "author": user(who.name),
        "created_at": now(),
        "updated_at": now(),
        "merged_at": None,
        "web_url": f"https://gitlab.test/{project.path}/-/merge_requests/{number}",
    }
    return said(201, project.requests[number])


def list_requests(project: Standing, body: Body, who: Who) -> Answer:
    state, branch = who.query.get("state", "all"), who.query.get("source_branch")
    found = [followed(project, each) for each in project.requests.values() if state in ("all", each["state"])]
    listed = [each for each in found if branch in (None, each["source_branch"])]
    return paged(({k: v for k, v in each.items() if k != "head_pipeline"} for each in listed[::-1]), who)


def read_request(project: Standing, body: Body, who: Who) -> Answer:
    request = project.requests.get(int(who.words[0]))
    return said(200, followed(project, request)) if request else ABSENT


def edit_request(project: Standing, body: Body, who: Who) -> Answer:
    request = project.requests[int(who.words[0])]
    if "state_event" in body:
        request["state"] = "closed" if body["state_event"] == "close" else "opened"
    return said(200, request)


def read_approvals(project: Standing, body: Body, who: Who) -> Answer:
    return said(200, project.approvals)


def merge(project: Standing, body: Body, who: Who) -> Answer:
    request = followed(project, project.requests[int(who.words[0])])
    if project.roles[who.name] < 30:
        return said(401, {"message": "401 Unauthorized"})
    if request["state"] != "opened" or request["draft"] or request["detailed_merge_status"] != "mergeable":
        return said(405, {"message": "405 Method Not Allowed"})
    if body.get("sha") not in (None, request["sha"]):
        return said(409, {"message": "SHA does not match HEAD of source branch: " + request["sha"]})
    made = hashlib.sha1(request["sha"].encode(), usedforsecurity=False).hexdigest()
    request |= {"state": "merged", "merged_at": now(), "merge_commit_sha": made}
    project.branches[request["target_branch"]] = made
    return said(200, request)


REQUEST = r"merge_requests/(\d+)"
ROUTES: list[tuple[str, str, Route]] = [
    ("GET", "merge_requests", list_requests),
    ("POST", "merge_requests", open_request),
    ("GET", REQUEST, read_request),
    ("PUT", REQUEST, edit_request),
    ("GET", f"{REQUEST}/approvals", read_approvals),
    ("PUT", f"{REQUEST}/merge", merge),
]
