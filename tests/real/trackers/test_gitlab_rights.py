"""What registration and doctor say of a token and a project on a stand-in for GitLab."""

from __future__ import annotations

import pytest

from devclaw_py.errors import TrackerDenied
from devclaw_py.model.finding import Severity
from devclaw_py.trackers.gitlab import rights
from tests.forge.gitlab_hands import GitLab
from tests.forge.proxy import Fault, said


def told(gitlab: GitLab, token: str = "tok_bot") -> list[tuple[Severity, str]]:
    found = gitlab.tracker(gitlab.client(token=token)).check_rights()
    return [(finding.severity, f"{finding.message} {finding.mend}") for finding in found]


def test_a_token_that_has_all_rights_is_said_to_have_them(gitlab: GitLab) -> None:
    (severity, text) = told(gitlab)[0]

    assert (severity, len(told(gitlab))) == (Severity.OK, 1)
    assert "tok_bot" not in text


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"archived": True}, "is archived"),
        ({"issues_access_level": "disabled"}, "issues are switched off"),
        ({"merge_requests_access_level": "disabled"}, "merge requests are switched off"),
    ],
)
def test_what_is_wrong_with_the_project_is_said(gitlab: GitLab, setting: dict[str, object], words: str) -> None:
    gitlab.project.settings |= setting

    assert [severity for severity, text in told(gitlab) if words in text] == [Severity.CRITICAL]


@pytest.mark.parametrize("role", [0, 10, 15, 20])
def test_a_role_below_developer_is_said(gitlab: GitLab, role: int) -> None:
    gitlab.project.roles["bot"] = role

    assert [text for _, text in told(gitlab) if "below Developer" in text]
    assert gitlab.project.labels == []


def test_a_role_in_the_group_counts(gitlab: GitLab) -> None:
    gitlab.project.settings["permissions"] = {"project_access": None, "group_access": {"access_level": 40}}

    assert told(gitlab)[0][0] is Severity.OK


def test_a_missing_scope_is_named(gitlab: GitLab) -> None:
    assert [text for _, text in told(gitlab, "tok_read") if "lacks the scope api (it has read_api)" in text]


def test_a_ci_jobs_token_is_told_for_what_it_is(gitlab: GitLab) -> None:
    assert [text for _, text in told(gitlab, "glcbt-job") if "CI job's token cannot write issues" in text]


def test_a_former_path_is_resolved_to_the_present_project(gitlab: GitLab) -> None:
    gitlab.server.moved["old/shop"] = gitlab.project.id

    assert rights.resolve(gitlab.client(), "old/shop").path_with_namespace == gitlab.project.path


def test_a_path_that_is_nobodys_is_denied(gitlab: GitLab) -> None:
    with pytest.raises(TrackerDenied, match="does not see it"):
        rights.resolve(gitlab.client(), "acme/nothing")


def test_doctor_names_a_label_that_was_deleted(gitlab: GitLab) -> None:
    tracker = gitlab.tracker()
    tracker.check_rights()
    gitlab.project.labels = [label for label in gitlab.project.labels if label["name"] != "Testing"]

    found = {finding.severity: finding.message for finding in tracker.diagnose()}

    assert "no label Testing" in found[Severity.WARNING]


def test_doctor_names_a_rename_and_a_token_that_ends(gitlab: GitLab) -> None:
    tracker = gitlab.tracker()
    tracker.check_rights()
    gitlab.project.settings["path_with_namespace"] = "acme/renamed"
    ends = gitlab.clock.now().date().isoformat()
    gitlab.server.faults.append(
        Fault("/personal_access_tokens/self", instead=said(200, {"scopes": ["api"], "expires_at": ends}), times=9)
    )

    texts = " ".join(finding.message for finding in tracker.diagnose())

    assert "is called acme/renamed now" in texts
    assert f"expires on {ends}" in texts


def test_doctor_says_when_gitlab_does_not_answer(gitlab: GitLab) -> None:
    gitlab.server.faults.append(Fault("", drop="before", times=9))

    assert [finding.severity for finding in gitlab.tracker().diagnose()] == [Severity.UNKNOWN]
