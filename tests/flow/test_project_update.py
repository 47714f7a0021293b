"""project_update: what is left out stays as it is."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.model.caller import Caller, CallerKind
from devclaw_py.model.pipeline import Integration, RoleExecution
from tests.conftest import GROUP, Office


@pytest.mark.parametrize(
    ("parameter", "value", "field", "stored"),
    [
        ("autoChain", True, "auto_chain", True),
        ("roleExecution", "sequential", "role_execution", RoleExecution.SEQUENTIAL),
        ("integration", "human", "integration", Integration.HUMAN),
        ("baseBranch", "trunk", "base_branch", "trunk"),
        ("deployUrl", "https://shop.example", "deploy_url", "https://shop.example"),
        ("channel", "telegram", "channel", "telegram"),
        ("groupName", "Shop team", "group_name", "Shop team"),
    ],
)
def test_a_setting_is_changed_and_said(office: Office, parameter: str, value: Any, field: str, stored: Any) -> None:
    answer = office.done("project_update", **{parameter: value})

    assert getattr(office.project, field) == stored
    assert list(answer["changed"]) == [parameter]
    assert answer["changed"][parameter]["to"] == value
    assert parameter in answer["announcement"]


def test_what_is_left_out_stays(office: Office) -> None:
    before = office.project

    office.done("project_update", autoChain=True)

    assert office.project == before.model_copy(update={"auto_chain": True})


def test_the_same_value_changes_nothing(office: Office) -> None:
    before = office.snapshot()

    assert office.done("project_update", autoChain=False)["changed"] == {}
    assert office.snapshot() == before


def test_a_call_without_a_setting_is_refused(office: Office) -> None:
    assert office.refused("project_update") == "invalid_arguments"


@pytest.mark.parametrize(("setting", "value"), [("provider", "local"), ("remote", "upstream"), ("repo", "/srv/other")])
def test_where_a_project_lives_is_not_changed_and_the_way_to_do_it_is_said(
    office: Office, setting: str, value: Any
) -> None:
    before = office.snapshot()

    answer = office.call("project_update", **{setting: value})

    assert answer["error"]["code"] == "invalid_arguments"
    assert f"{setting} cannot be changed" in answer["error"]["message"]
    assert "devclaw project remove" in answer["error"]["message"]
    assert office.snapshot() == before


def test_the_models_of_other_tiers_stay(office: Office) -> None:
    office.done("project_update", models={"junior": "anthropic/small"})
    office.done("project_update", models={"senior": "anthropic/large"})

    assert office.project.models == {"junior": "anthropic/small", "senior": "anthropic/large"}


def test_a_model_of_null_is_the_setting_again(office: Office) -> None:
    office.done("project_update", models={"junior": "anthropic/small"})
    office.done("project_update", models={"junior": None})

    assert office.project.models == {}


@pytest.mark.parametrize("models", [{"banana": "x"}, {"junior": ""}, {"junior": 5}, ["junior"]])
def test_models_of_a_wrong_form_are_refused(office: Office, models: Any) -> None:
    before = office.snapshot()

    assert office.refused("project_update", models=models) == "invalid_arguments"
    assert office.snapshot() == before


def test_a_base_branch_that_cannot_be_used_is_refused(office: Office) -> None:
    office.work.repo(office.project).broken = "there is no branch trunk"
    before = office.snapshot()

    answer = office.call("project_update", baseBranch="trunk")

    assert answer["error"]["code"] == "config_error"
    assert office.snapshot() == before


def test_workers_that_are_busy_keep_their_task(office: Office) -> None:
    issue = office.doing()

    office.done("project_update", autoChain=True)

    assert office.seat("dev").holds(issue, 1)


def test_a_change_that_was_cut_off_after_the_registry_is_finished_and_told(office: Office) -> None:
    heard = office.hear()
    office.kill_at("change.2.registry")
    office.killed("project_update", autoChain=True)

    office.call("session_health", autoFix=True)

    assert [line["recovered"] for line in office.lines("project_update")] == [True]
    assert any("autoChain: off → on" in row.announcement.text for row in heard)


def test_a_permission_mode_of_the_project_counts_over_the_setting_until_it_is_given_back(office: Office) -> None:
    office.done("project_update", permissionMode="default", allow=["Bash(pytest:*)", "Read"])
    assert (office.project.permission_mode, office.project.allow) == ("default", ("Bash(pytest:*)", "Read"))

    office.done("project_update", permissionMode="workspace", allow=["workspace"])
    assert (office.project.permission_mode, office.project.allow) == (None, None)


def test_only_a_person_lets_workers_do_anything_unasked(office: Office) -> None:
    orchestrator = Caller(kind=CallerKind.ORCHESTRATOR, group_id=GROUP)

    assert office.refused("project_update", orchestrator, permissionMode="bypassPermissions") == "not_allowed"
    assert office.project.permission_mode is None
    office.done("project_update", permissionMode="bypassPermissions")


@pytest.mark.parametrize(
    "command",
    [
        "pytest; id",
        "pytest && id",
        "$(id)",
        "`id`",
        "a|b",
        "a > b",
        "make *",
        "x) Bash(rm:",
        "a\nb",
        "-c",
        "A=1 make",
        "a  b",
    ],
)
def test_a_test_command_has_nothing_that_a_shell_or_a_rule_reads(office: Office, command: str) -> None:
    assert office.refused("project_update", testCommand=command) == "invalid_arguments"
    assert office.project.test_command is None


@pytest.mark.parametrize(
    "command", ["pytest -q", "npm run test:unit", "./gradlew test", "go test ./...", "make -j4 CI=1 t"]
)
def test_a_test_command_is_told_to_the_worker_and_given_to_its_start(office: Office, command: str) -> None:
    office.done("project_update", testCommand=command)
    office.doing()

    place = office.app.sessions.worker_of(office.app.sessions.token("shop-dev-medior"))
    assert place is not None
    assert place.test_command == command
    task = office.app.sessions.folder("shop-dev-medior") / "tasks" / "1.1.md"
    assert f"Tests: run them with `{command}`" in task.read_text()


def test_a_blank_test_command_takes_it_back(office: Office) -> None:
    office.done("project_update", testCommand="pytest -q")

    office.done("project_update", testCommand="")

    assert office.project.test_command is None
    office.doing()
    assert "Tests: run" not in (office.app.sessions.folder("shop-dev-medior") / "tasks" / "1.1.md").read_text()


def test_the_next_worker_is_started_as_the_project_says(office: Office) -> None:
    office.done("project_update", permissionMode="acceptEdits", allow=["Read"])
    office.doing()

    place = office.app.sessions.worker_of(office.app.sessions.token("shop-dev-medior"))
    assert place is not None
    assert (place.permission_mode, place.allow) == ("acceptEdits", ("Read",))
