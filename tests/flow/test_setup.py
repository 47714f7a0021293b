"""devclaw_setup: what people wrote is kept beside what devclaw writes."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.kernel.config import load
from devclaw_py.model.caller import HUMAN
from tests.conftest import Office


def set_up(office: Office, **arguments: Any) -> dict[str, Any]:
    """Set the workspace up."""
    return catalogue.call(office.app, "devclaw_setup", arguments, HUMAN)


def read(office: Office, name: str) -> str:
    """Return a file of the workspace."""
    return (office.app.workspace / name).read_text(encoding="utf-8")


def test_a_workspace_gets_its_texts(office: Office) -> None:
    answer = set_up(office)

    assert set(answer) == {
        "success",
        "workspacePath",
        "filesWritten",
        "backups",
        "models",
        "warnings",
        "announcement",
    }
    assert answer["filesWritten"] == ["AGENTS.md", "HEARTBEAT.md", "roles/default/dev.md", "roles/default/qa.md"]
    assert all(read(office, name) for name in answer["filesWritten"])
    assert answer["backups"] == []


def test_a_second_set_up_writes_nothing(office: Office) -> None:
    set_up(office)

    answer = set_up(office)

    assert (answer["filesWritten"], answer["backups"]) == ([], [])


def test_each_edit_is_kept_under_a_number_of_its_own(office: Office) -> None:
    for words in ("first edit", "second edit"):
        (office.app.workspace / "AGENTS.md").write_text(words, encoding="utf-8")
        set_up(office)

    assert read(office, "AGENTS.md.bak-1") == "first edit"
    assert read(office, "AGENTS.md.bak-2") == "second edit"


def test_role_texts_that_people_edited_are_left_alone(office: Office) -> None:
    set_up(office)
    (office.app.workspace / "roles/default/dev.md").write_text("Mine", encoding="utf-8")

    set_up(office)

    assert read(office, "roles/default/dev.md") == "Mine"


def test_models_go_into_the_settings_and_comments_stay(office: Office) -> None:
    (office.app.workspace / "devclaw.toml").write_text(
        '# ours\n[limits]\nattempts = 3  # enough\n\n[models]\nsenior = "anthropic/large"\n', encoding="utf-8"
    )

    answer = set_up(office, models={"junior": "anthropic/small"})

    settings = load(office.app.workspace, {}).settings
    assert (settings.models.junior, settings.models.senior) == ("anthropic/small", "anthropic/large")
    assert "# ours" in read(office, "devclaw.toml")
    assert "# enough" in read(office, "devclaw.toml")
    assert answer["backups"] == ["devclaw.toml.bak-1"]


@pytest.mark.parametrize("text", ["= broken", "models = 5\n", "\udcff"])
def test_settings_that_cannot_be_read_are_left_as_they_are(office: Office, text: str) -> None:
    path = office.app.workspace / "devclaw.toml"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    before = path.read_bytes()

    answer = set_up(office, models={"junior": "anthropic/small"})

    assert answer["error"]["code"] == "config_error"
    assert path.read_bytes() == before


@pytest.mark.parametrize("models", [{"banana": "x"}, {"junior": ""}, {"junior": " "}, {"junior": "a\nb"}, "junior"])
def test_models_that_the_settings_could_not_hold_are_refused(office: Office, models: Any) -> None:
    assert set_up(office, models=models)["error"]["code"] == "invalid_arguments"
    assert not (office.app.workspace / "devclaw.toml").exists()


def test_a_new_agent_is_named_with_the_command_that_makes_it(office: Office) -> None:
    answer = set_up(office, newAgentName="Shop Boss")

    assert "openclaw agents add shop-boss" in answer["warnings"][0]
    assert answer["warnings"][0].split(": ")[-1] in answer["announcement"]


def test_a_broken_registry_is_not_touched(office: Office) -> None:
    registry = office.app.workspace / "memory" / "projects.json"
    registry.write_text("{ broken", encoding="utf-8")

    assert set_up(office)["success"]

    assert registry.read_text(encoding="utf-8") == "{ broken"
