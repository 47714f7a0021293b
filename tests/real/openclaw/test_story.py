"""Two groups on the real gateway: what each of them heard, and what was refused."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py import catalogue
from tests.real.openclaw.story import FORUM, TOPIC, A, B

# The first test to ask for the story waits until it is told.
pytestmark = pytest.mark.timeout(900)

Seen = dict[str, Any]

NIGHT = ["registered for", "Created #1", "Spawning DEV (medior) for #1", "DEV done #1", "QA (qa) for #1", "QA PASS #1"]


def test_every_group_gets_a_project_of_its_own(story: Seen) -> None:
    found = {group: entry["name"] for group, entry in story["projects"].items()}

    assert found == {A: "shop", B: "bakery", f"{FORUM}:topic:{TOPIC}": "forum"}


def test_every_tool_is_offered_to_the_model_by_its_own_name(story: Seen) -> None:
    assert set(catalogue.TOOLS) <= set(story["tools"])


def test_a_group_hears_the_whole_night_in_order_and_once(story: Seen) -> None:
    """Through a killed child and a killed gateway."""
    events = [text for text in story["A"] if any(words in text for words in NIGHT)]

    assert len(events) == len(NIGHT)
    assert all(words in text for words, text in zip(NIGHT, events, strict=True))


def test_another_group_hears_nothing_of_it(story: Seen) -> None:
    assert [text for text in story["B"] if "#1" in text or ("shop" in text and "cannot" not in text)] == []


def test_a_topic_hears_its_own_registration(story: Seen) -> None:
    assert [(chat, topic) for chat, topic, text in story["said"] if '"forum" registered' in text] == [
        (FORUM, str(TOPIC))
    ]


def test_a_result_says_that_the_group_is_told_already(story: Seen) -> None:
    assert story["picked up"]["announced"] is True


def test_the_issue_is_done_and_closed_by_the_morning(story: Seen) -> None:
    assert "labels: [Done]" in story["issue"]
    assert "state: closed" in story["issue"]


def test_nothing_is_told_while_the_gateway_is_away(story: Seen) -> None:
    assert "Spawning DEV" in story["heard while away"]


def test_a_key_that_was_sent_before_is_not_sent_again(story: Seen) -> None:
    assert story["forgotten"].endswith(":complete")
    assert sum("QA PASS" in text for text in story["A"]) == 1


def test_a_stranger_is_refused(story: Seen) -> None:
    assert story["stranger"]["error"]["code"] == "not_allowed"


def test_a_group_cannot_act_on_another_groups_project(story: Seen) -> None:
    assert story["across"]["error"]["code"] == "not_allowed"


def test_a_group_may_be_named_as_the_gateway_names_it(story: Seen) -> None:
    assert story["own by its long name"]["success"] is True


def test_a_slash_command_is_answered_in_its_group_without_a_model(story: Seen) -> None:
    chat, _, text = story["command"]

    assert (chat, "shop: nothing waits" in text, story["asked by commands"]) == (A, True, 0)


def test_a_strangers_slash_command_is_refused(story: Seen) -> None:
    assert "not authorized" in story["strangers command"][2]


def test_doctor_finds_a_running_gateway_with_nothing_wrong(story: Seen) -> None:
    assert story["doctor"] == [[kind, "ok"] for kind in ("openclaw", "plugin", "groups", "tools", "gateway")]


def test_a_child_that_was_killed_is_replaced_without_a_call(story: Seen) -> None:
    assert story["next child"] != story["lost child"] == story["first child"]


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_no_child_outlives_its_gateway(story: Seen, end: str) -> None:
    assert story[f"child after a {end}"] == "gone"
