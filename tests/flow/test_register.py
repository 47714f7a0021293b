"""project_register: checked first, registered last, and nobody's texts overwritten."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.model.caller import HUMAN
from devclaw_py.rules.labels import COLOURS
from devclaw_py.work.git import GitWork
from tests.conftest import GROUP, Office

FIELDS = {
    "success",
    "project",
    "slug",
    "groupId",
    "repo",
    "baseBranch",
    "deployBranch",
    "deployUrl",
    "provider",
    "providerReason",
    "autoChain",
    "testCommand",
    "integration",
    "labelsCreated",
    "rolesScaffolded",
    "announcement",
}


def register(office: Office, **arguments: Any) -> dict[str, Any]:
    """Register a second project."""
    given = {"projectGroupId": "-2", "name": "blog", "repo": "/nowhere/blog", "baseBranch": "main", **arguments}
    return catalogue.call(office.app, "project_register", given, HUMAN)


def refuses(office: Office, code: str, **arguments: Any) -> str:
    """Register in vain; return the message."""
    before = office.snapshot()
    answer = register(office, **arguments)
    assert not answer["success"], answer
    assert answer["error"]["code"] == code, answer
    assert office.snapshot() == before
    return str(answer["error"]["message"])


@pytest.mark.parametrize(
    ("files", "suggested"),
    [
        (("pyproject.toml", "Makefile"), "pytest"),
        (("package.json",), "npm test"),
        (("Cargo.toml",), "cargo test"),
        (("go.mod",), "go test ./..."),
        (("Makefile",), "make test"),
        (("README.md",), None),
    ],
)
def test_a_likely_test_command_is_suggested_and_not_taken(
    office: Office, tmp_path: Path, files: tuple[str, ...], suggested: str | None
) -> None:
    for name in files:
        (tmp_path / name).touch()

    answer = register(office, repo=str(tmp_path))

    assert (answer.get("testCommandSuggested"), answer["testCommand"]) == (suggested, None)
    assert office.app.store.registry.get("-2").test_command is None


def test_nothing_is_suggested_to_who_names_a_test_command(office: Office, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()

    answer = register(office, repo=str(tmp_path), testCommand=" tox -e py311 ")

    assert "testCommandSuggested" not in answer
    assert office.app.store.registry.get("-2").test_command == answer["testCommand"] == "tox -e py311"


def test_a_project_is_registered_with_its_labels(office: Office) -> None:
    answer = register(office)

    assert set(answer) == FIELDS
    assert answer["labelsCreated"] == 8
    assert (answer["deployBranch"], answer["autoChain"], answer["provider"]) == ("main", False, "local")
    assert office.more["-2"].colours == {state.value: colour for state, colour in COLOURS.items()}
    assert 'Project "blog" registered for Project: blog' in answer["announcement"]


def test_the_registry_has_the_form_of_the_original(office: Office) -> None:
    register(office)

    entry = office.app.store.registry.get("-2").on_disk()

    assert entry["dev"]["sessions"] == {"junior": None, "medior": None, "senior": None}
    assert entry["qa"]["sessions"] == {"qa": None}
    assert (entry["roleExecution"], entry["autoChain"]) == ("parallel", False)


def test_a_second_project_of_a_group_is_refused(office: Office) -> None:
    assert "shop" in refuses(office, "already_registered", projectGroupId=GROUP)


def test_a_repository_has_one_project(office: Office) -> None:
    assert "shop" in refuses(office, "already_registered", repo=f"{office.app.workspace}/x/../shop")


def test_a_name_has_one_project(office: Office) -> None:
    refuses(office, "already_registered", name="shop")


def test_two_names_of_one_slug_have_folders_of_their_own(office: Office) -> None:
    answer = register(office, name="Shop")

    assert answer["success"]
    assert answer["slug"].startswith("shop-")


def test_role_texts_are_scaffolded(office: Office) -> None:
    assert register(office)["rolesScaffolded"]

    assert (office.app.workspace / "roles" / "blog" / "dev.md").read_text(encoding="utf-8")


def test_role_texts_that_stand_are_kept(office: Office) -> None:
    mine = office.app.workspace / "roles" / "blog" / "dev.md"
    mine.parent.mkdir(parents=True)
    mine.write_text("Mine", encoding="utf-8")

    register(office)

    assert mine.read_text(encoding="utf-8") == "Mine"


@pytest.mark.parametrize("name", ["../x", "a/b", "a\\b", "..", "", "  ", "x" * 101, "a\nb", "a\x1bb"])
def test_a_name_that_could_leave_its_folder_is_refused(office: Office, name: str) -> None:
    refuses(office, "invalid_arguments", name=name)


@pytest.mark.parametrize("name", ["My Web App", "ÜBER (v2)", "漢字", "🦀", "v1.2", "a:b", "-rf", "con"])
def test_other_names_are_kept_as_written(office: Office, name: str) -> None:
    answer = register(office, name=name)

    assert answer["project"] == name
    assert office.app.store.registry.get("-2").name == name
    assert set(answer["slug"]) <= set("abcdefghijklmnopqrstuvwxyz0123456789-")


@pytest.mark.parametrize("field", ["repo", "baseBranch"])
@pytest.mark.parametrize("value", ["", " ", "a\x00b", "a\nb", "\ud800"])
def test_a_repository_of_a_wrong_form_is_refused(office: Office, field: str, value: str) -> None:
    refuses(office, "invalid_arguments", **{field: value})


def test_a_name_is_needed(office: Office) -> None:
    answer = catalogue.call(office.app, "project_register", {"projectGroupId": "-2"}, HUMAN)

    assert answer["error"]["code"] == "invalid_arguments"
    assert "baseBranch" in answer["error"]["message"]


def git(folder: Path, *args: str) -> None:
    """Run git in a folder."""
    subprocess.run(["git", "-C", str(folder), *args], check=True, capture_output=True)


@pytest.mark.parametrize("kind", ["missing", "file", "empty", "no commits", "no branch", "bare"])
def test_a_repository_that_cannot_be_used_is_refused_by_path(office: Office, tmp_path: Path, kind: str) -> None:
    office.app = replace(office.app, work=GitWork(office.app.settings.timeouts))
    repo = tmp_path / "blog"
    if kind == "file":
        repo.write_text("no repository")
    elif kind != "missing":
        repo.mkdir()
    if kind in ("no commits", "no branch"):
        git(repo, "init", "-b", "trunk")
    if kind == "no branch":
        git(repo, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "--allow-empty", "-m", "first")
    if kind == "bare":
        git(repo, "init", "--bare")

    assert str(repo) in refuses(office, "config_error", repo=str(repo))


@pytest.mark.parametrize("after", [False, True], ids=["before-acting", "after-acting"])
def test_a_tracker_that_fails_leaves_the_group_unregistered(office: Office, after: bool) -> None:
    tracker = office.faulty_tracker()
    tracker.arm("ensure_labels", after=after)

    assert register(office)["error"]["code"] == "tracker_unavailable"

    assert list(office.app.store.registry.all()) == [GROUP]
    assert register(office)["success"]


def test_a_repository_in_the_home_of_nobody_is_a_config_error(office: Office) -> None:
    answer = register(office, repo="~nosuchuser9/x")

    assert answer["error"]["code"] == "config_error"
    assert "~nosuchuser9/x" in answer["error"]["message"]


def test_an_entry_in_the_home_of_nobody_hinders_no_other_registration(office: Office) -> None:
    office.change(repo="~nosuchuser9/x")

    assert register(office)["success"]
