"""Every request of a long day is one that GitHub's published description has: method, path, query and body."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.forge.emulated import GitHub
from tests.forge.openapi import Description
from tests.real.crash.conftest import GROUP, Yard
from tests.real.crash.hub import hub_yard
from tests.real.crash.test_github_faults import go

# What the day below must have asked, so that a check of nothing is no success.
ASKED = {
    "GET /repos/{owner}/{repo}",
    "GET /user",
    "GET /repos/{owner}/{repo}/labels",
    "POST /repos/{owner}/{repo}/labels",
    "GET /repos/{owner}/{repo}/issues",
    "POST /repos/{owner}/{repo}/issues",
    "GET /repos/{owner}/{repo}/issues/{issue_number}",
    "PATCH /repos/{owner}/{repo}/issues/{issue_number}",
    "DELETE /repos/{owner}/{repo}/issues/{issue_number}/labels/{name}",
    "POST /repos/{owner}/{repo}/issues/{issue_number}/labels",
    "POST /repos/{owner}/{repo}/issues/{issue_number}/comments",
    "GET /repos/{owner}/{repo}/issues/{issue_number}/comments",
    "GET /repos/{owner}/{repo}/issues/{issue_number}/events",
    "GET /repos/{owner}/{repo}/pulls",
    "POST /repos/{owner}/{repo}/pulls",
    "GET /repos/{owner}/{repo}/pulls/{pull_number}",
    "GET /repos/{owner}/{repo}/pulls/{pull_number}/reviews",
    "PUT /repos/{owner}/{repo}/pulls/{pull_number}/merge",
    "GET /repos/{owner}/{repo}/commits/{ref}/check-runs",
    "GET /repos/{owner}/{repo}/commits/{ref}/status",
}


@pytest.fixture(scope="module")
def description() -> Description:
    file = os.environ.get("DEVCLAW_OPENAPI_FILE")
    if file is None and "openapi" in os.environ.get("DEVCLAW_REQUIRE", "").split(","):
        pytest.fail("DEVCLAW_OPENAPI_FILE is not set and DEVCLAW_REQUIRE names openapi; .ci/openapi fetches it")
    if file is None:
        pytest.skip("DEVCLAW_OPENAPI_FILE names no description of GitHub's interface; .ci/openapi fetches it")
    return Description(Path(file))


def test_each_request_of_a_day_is_one_that_github_describes(
    make_yard: Callable[[], Yard], github: GitHub, description: Description
) -> None:
    yard = hub_yard(make_yard, github)
    go(yard)
    made = yard.call("task_create", title="Add a header", label="To Do", assignees=["bot"])["issue"]["id"]
    yard.call("task_comment", issueId=made, body="Mind the logo")
    yard.call("task_update", issueId=made, state="Planning", reason="later")
    yard.call("task_update", issueId=1, state="To Improve", reason="not yet")
    yard.call("session_health", autoFix=True)
    yard.call("queue_status")
    yard.run("doctor").communicate(timeout=120)
    project = yard.app().store.registry.get(GROUP)
    tracker = yard.app().open_tracker(project)
    tracker.comments(1)
    tracker.last_event(1, "Done")
    tracker.list_all(newest=5)

    wrong = [said for line, body in github.proxy.bodies for said in description.objections(line, body)]

    assert sorted(set(wrong)) == []
    targets = [line.split(" ", 1) for line, _ in github.proxy.bodies]
    assert {f"{method} {description.path_of(target)}" for method, target in targets} >= ASKED


@pytest.mark.parametrize(
    ("line", "body"),
    [
        ("POST /repositories/1/issues", b'{"title": ["a"]}'),
        ("POST /repositories/1/issues", b'{"title": "a", "label": "b"}'),
        ("POST /repositories/1/issues", b""),
        ("POST /repositories/1/issues/1/labels", b'{"labels": [1]}'),
        ("GET /repositories/1/issues?state=any", b""),
        ("GET /repositories/1/issues?lables=a", b""),
        ("PUT /repositories/1/pulls/1/merges", b'{"sha": "a"}'),
        ("PUT /repositories/1/pulls/1/merge", b'{"merge_method": "fast"}'),
    ],
)
def test_a_request_that_github_does_not_describe_is_found(description: Description, line: str, body: bytes) -> None:
    assert description.objections(line, body) != []
