"""Recorded answers of GitLab.com: the adapter reads them, and the stand-in of the tests answers in their form."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from requests import PreparedRequest, Response
from requests.adapters import BaseAdapter
from requests.structures import CaseInsensitiveDict

from devclaw_py.errors import TrackerAuth, TrackerDenied
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.project import Forge
from devclaw_py.model.request import Checks, RequestState
from devclaw_py.trackers.forge.client import Connection
from devclaw_py.trackers.gitlab.client import GitLabClient
from devclaw_py.trackers.gitlab.request_shapes import RawMergeRequest
from devclaw_py.trackers.gitlab.shapes import RawIssue, RawNote, RawProject, RawUser
from devclaw_py.trackers.gitlab.tracker import GitLabTracker
from tests.forge.gitlab_hands import GitLab

FILE = Path(__file__).parents[2] / "forge" / "recorded" / "gitlab.json"
RECORDED: dict[str, dict[str, Any]] = {each["name"]: each for each in json.loads(FILE.read_text())}

# Newer than the recordings, and documented.
LATER = {"issue_type", "draft", "detailed_merge_status", "internal"}


class Replay(BaseAdapter):
    """Plays recorded answers one after the other."""

    def __init__(self, *names: str) -> None:
        super().__init__()
        self.left = [RECORDED[name] for name in names]
        self.asked: list[str] = []

    def send(self, request: PreparedRequest, *_: object, **__: object) -> Response:
        given = self.left.pop(0)
        self.asked.append(request.url or "")
        assert request.method == given["method"]
        response = Response()
        response.status_code, response.url, response.request = given["status"], request.url or "", request
        response.headers = CaseInsensitiveDict(given["headers"])
        response.raw = io.BytesIO(json.dumps(given["body"]).encode())
        return response

    def close(self) -> None:
        pass


class Recorded(GitLabClient):
    """A client whose wire is a recording."""

    wire: BaseAdapter

    def connect(self, token: str, timeout_s: float) -> Connection:
        from devclaw_py.trackers.gitlab import connection

        return connection.Connection(self.api, token, timeout_s=timeout_s, wire=self.wire)


def tracker(folder: Path, *names: str) -> GitLabTracker:
    client = Recorded("https://gitlab.com/api/v4", lambda: "x", folder=folder, clock=SystemClock(), timeout_s=15)
    client.wire = Replay(*names)
    forge = Forge(host="gitlab.com", api=client.api, path="packit-service/ogr-tests", id="14233409")
    return GitLabTracker(client, forge, name="ogr")


def test_an_issue_is_read(tmp_path: Path) -> None:
    task = tracker(tmp_path, "issue").get(1)

    assert (task.number, task.title, task.body, task.closed) == (1, "My first issue", "This is testing issue", True)


def test_a_write_answers_the_labels(tmp_path: Path) -> None:
    assert tracker(tmp_path, "label an issue").put(1, "test_lb1") == {"test_lb1", "test_lb2"}


def test_a_confidential_issue_is_known_as_one() -> None:
    assert RawIssue.model_validate(RECORDED["confidential issue"]["body"]).foreign
    assert not RawIssue.model_validate(RECORDED["create an issue"]["body"]).foreign


def test_the_next_page_is_found_by_its_link(tmp_path: Path) -> None:
    client = Recorded("https://gitlab.com/api/v4", lambda: "x", folder=tmp_path, clock=SystemClock(), timeout_s=15)
    client.wire = replay = Replay("list issues", "list issues")

    pages = client.pages(RawIssue, "/projects/14233409/issues", "list issues", parameters={"state": "opened"})

    assert [len(next(pages)), len(next(pages))] == [3, 3]
    assert parse_qs(urlsplit(replay.asked[1]).query)["page"] == ["2"]


def test_switched_off_issues_are_a_refusal(tmp_path: Path) -> None:
    with pytest.raises(TrackerDenied, match="403 Forbidden"):
        tracker(tmp_path, "issues are off").create("x", "", labels=[])


def test_a_token_that_is_not_accepted_is_one(tmp_path: Path) -> None:
    with pytest.raises(TrackerAuth, match="401 Unauthorized"):
        tracker(tmp_path, "no token").get(1)


def test_system_notes_are_told_from_comments() -> None:
    notes = [RawNote.model_validate(each) for each in RECORDED["list notes"]["body"]]

    assert {note.system for note in notes} >= {True}


def test_the_role_in_the_group_is_read() -> None:
    assert RawProject.model_validate(RECORDED["project"]["body"]).role == 40


def test_a_merged_request_is_read() -> None:
    request = RawMergeRequest.model_validate(RECORDED["merge"]["body"]).request()

    assert (request.state, request.branch, request.checks) == (RequestState.MERGED, "test-mr-merge", Checks.NONE)
    assert request.merged_as == "dd9b6c54c0788301c86bdf058a8e91e3594a0a17"


def test_a_request_with_conflicts_is_read_from_a_list() -> None:
    request = RawMergeRequest.model_validate(RECORDED["list merge requests"]["body"][0]).request()

    assert (request.mergeable, request.reason) == (False, "it conflicts with its base")


def test_a_second_request_from_a_branch_is_a_refusal_in_gitlabs_words(tmp_path: Path) -> None:
    client = Recorded("https://gitlab.com/api/v4", lambda: "x", folder=tmp_path, clock=SystemClock(), timeout_s=15)
    client.wire = Replay("second request from a branch")

    with pytest.raises(TrackerDenied, match="Another open merge request already exists"):
        client.ask("POST", "/projects/1/merge_requests", "open a merge request", body={})


def test_a_user_is_found_by_name() -> None:
    assert RawUser.model_validate(RECORDED["users by name"]["body"][0]).username == "mfocko"


def unlike(ours: object, theirs: object, at: str = "") -> list[str]:
    """Return what ``ours`` has that the recorded answer has not, or has of another type."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        odd = [f"{at}.{key} is nowhere" for key in ours if key not in theirs and key not in LATER]
        return odd + [line for key in ours if key in theirs for line in unlike(ours[key], theirs[key], f"{at}.{key}")]
    if isinstance(ours, list) and isinstance(theirs, list):
        return unlike(ours[0], theirs[0], f"{at}[]") if ours and theirs else []
    if ours is None or theirs is None or type(ours) is type(theirs):
        return []
    return [f"{at} is {type(ours).__name__} and was {type(theirs).__name__}"]


def test_the_stand_in_answers_in_the_form_of_the_recordings(gitlab: GitLab) -> None:
    made = gitlab.human("POST", "/issues", {"title": "x", "labels": "a,b", "assignee_ids": [2]})
    gitlab.commit("topic")
    request = gitlab.human("POST", "/merge_requests", {"source_branch": "topic", "target_branch": "main", "title": "x"})
    listed = gitlab.human("GET", "/merge_requests?state=opened")
    answers = {
        "create an issue": made,
        "label an issue": gitlab.human("PUT", "/issues/1", {"add_labels": "c"}),
        "close an issue": gitlab.human("PUT", "/issues/1", {"state_event": "close"}),
        "list issues": gitlab.human("GET", "/issues"),
        "comment": gitlab.human("POST", "/issues/1/notes", {"body": "x"}),
        "list notes": gitlab.human("GET", "/issues/1/notes?sort=asc"),
        "project": gitlab.human("GET", ""),
        "user": gitlab.server.human("GET", "/user"),
        "users by name": gitlab.server.human("GET", "/users?username=bot"),
        "merge request": request,
        "list merge requests": listed,
        "merge": gitlab.human("PUT", "/merge_requests/1/merge", {"sha": request["sha"]}),
    }

    odd = [line for name, answer in answers.items() for line in unlike(answer, RECORDED[name]["body"], name)]

    assert odd == []


def test_the_stand_in_refuses_as_was_recorded(gitlab: GitLab) -> None:
    gitlab.project.settings["issues_access_level"] = "disabled"
    gitlab.commit("topic")
    asked = {"source_branch": "topic", "target_branch": "main", "title": "x"}
    gitlab.human("POST", "/merge_requests", asked)
    path = f"/projects/{gitlab.project.id}"
    refusals = {
        "issues are off": gitlab.server.upstream("POST", f"{path}/issues", {"title": "x"}),
        "no token": gitlab.server.upstream("GET", "/user", token="nobody"),
        "no merge request": gitlab.server.upstream("GET", f"{path}/merge_requests/99"),
        "second request from a branch": gitlab.server.upstream("POST", f"{path}/merge_requests", asked),
    }

    assert {name: (answer.status, answer.body) for name, answer in refusals.items()} == {
        name: (RECORDED[name]["status"], RECORDED[name]["body"]) for name in refusals
    }
