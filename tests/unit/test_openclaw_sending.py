"""Where an announcement goes, and under which key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from devclaw_py.faces.openclaw.sending import TRIES_A_KEY, key_of, route_of
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.journal import OutboxRow
from devclaw_py.model.project import Project


def project(**more: Any) -> Project:
    return Project.model_validate({"groupId": "-1001", "name": "shop", "repo": "/r", **more})


def row(tries: int) -> OutboxRow:
    told = Announcement(emoji="✅", text="done")
    return OutboxRow(key="op:complete", group_id="-1001", announcement=told, at=datetime.now(UTC), tries=tries)


def test_a_group_is_told_in_its_channel() -> None:
    assert route_of("C01", project(channel="slack")) == {"channel": "slack", "to": "C01"}


def test_a_topic_is_told_in_its_thread() -> None:
    assert route_of("-1001:topic:42", project()) == {"channel": "telegram", "to": "-1001", "threadId": "42"}


def test_a_group_is_told_through_the_account_that_it_was_heard_by() -> None:
    assert route_of("-1001", project(accountId="second"))["accountId"] == "second"


def test_a_group_whose_project_is_gone_is_told_all_the_same() -> None:
    assert route_of("-1001", None) == {"channel": "telegram", "to": "-1001"}


@pytest.mark.parametrize("tries", range(TRIES_A_KEY))
def test_a_row_keeps_its_key_while_the_gateway_may_still_send_it(tries: int) -> None:
    assert key_of(row(tries)) == "devclaw:op:complete"


def test_a_row_that_the_gateway_has_given_up_goes_under_another_key() -> None:
    assert key_of(row(TRIES_A_KEY)) == "devclaw:op:complete#2"
