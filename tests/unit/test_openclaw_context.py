"""Who calls, by what the gateway says. The contexts are those that gateway 2026.9.6 hands to a tool."""

from __future__ import annotations

from typing import Any

import pytest

from devclaw_py.errors import NotAllowed
from devclaw_py.faces.openclaw.context import caller_of, chat_of, to_register
from devclaw_py.model.caller import CallerKind
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.project import Project, Seat

OWNER = {
    "sessionKey": "agent:orch:telegram:group:-1004001",
    "agentId": "orch",
    "agentAccountId": "default",
    "messageChannel": "telegram",
    "deliveryContext": {"channel": "telegram", "to": "telegram:-1004001", "accountId": "default"},
    "nativeChannelId": "-1004001",
    "requesterSenderId": "777",
    "senderIsOwner": True,
}
TOPIC = {
    **OWNER,
    "sessionKey": "agent:orch:telegram:group:-1006001:topic:42",
    "deliveryContext": {"channel": "telegram", "to": "telegram:-1006001:topic:42", "threadId": 42},
    "nativeChannelId": "-1006001",
}
# A turn that the gateway's operator starts for a group has neither native channel id nor sender.
INJECTED = {
    "sessionKey": "agent:orch:telegram:group:-1004001",
    "deliveryContext": {"channel": "telegram", "to": "telegram:-1004001"},
    "senderIsOwner": False,
}
KEY = "agent:orch:subagent:a9e4d078"


def project(group_id: str, **more: Any) -> Project:
    return Project.model_validate({"groupId": group_id, "name": group_id, "repo": "/r", **more})


def projects(*group_ids: str) -> dict[str, Project]:
    return {group_id: project(group_id) for group_id in group_ids}


def bound(context: dict[str, Any], known: dict[str, Project], *allowed: str) -> str | None:
    return caller_of(context, known, allowed).group_id


def test_a_call_in_a_group_is_bound_to_it() -> None:
    caller = caller_of(OWNER, projects("-1004001", "-1004002"), ())

    assert (caller.kind, caller.group_id) == (CallerKind.ORCHESTRATOR, "-1004001")


def test_a_call_in_a_group_without_a_project_is_bound_to_that_group() -> None:
    assert bound(OWNER, projects("-1004002")) == "-1004001"


def test_a_turn_that_the_operator_starts_for_a_group_is_bound_to_it() -> None:
    assert bound(INJECTED, projects("-1004001")) == "-1004001"


def test_the_session_decides_and_not_the_chat_it_answers_to() -> None:
    elsewhere = {**OWNER, "nativeChannelId": "-1004002", "deliveryContext": {"to": "telegram:-1004002"}}

    assert bound(elsewhere, projects("-1004001", "-1004002")) == "-1004001"


def test_a_topic_is_a_group_of_its_own_when_it_is_registered_so() -> None:
    assert bound(TOPIC, projects("-1006001", "-1006001:topic:42")) == "-1006001:topic:42"


def test_a_topic_that_is_not_registered_belongs_to_its_group() -> None:
    assert bound(TOPIC, projects("-1006001", "-1006001:topic:7")) == "-1006001"


@pytest.mark.parametrize(
    ("known", "named", "meant"),
    [
        ((), None, "-1006001:topic:42"),
        ((), "-1006001", "-1006001"),
        ((), "telegram:-1006001:topic:42", "-1006001:topic:42"),
        (("-1006001",), None, "-1006001"),
        (("-1006001",), "-1006001:topic:42", "-1006001:topic:42"),
        (("-1006001:topic:42",), "-1006001", "-1006001:topic:42"),
        ((), "-1004001", "-1006001:topic:42"),
    ],
)
def test_what_a_topic_registers(known: tuple[str, ...], named: str | None, meant: str) -> None:
    chat = chat_of(TOPIC)
    assert chat is not None

    assert to_register(chat, projects(*known), named) == meant


def test_a_stranger_is_refused() -> None:
    stranger = {**OWNER, "requesterSenderId": "666", "senderIsOwner": False}

    with pytest.raises(NotAllowed, match="sender 666"):
        caller_of(stranger, projects("-1004001"), ("777",))


@pytest.mark.parametrize("entry", ["555", "telegram:555", "*"])
def test_a_sender_whom_the_plugin_allows_may_call(entry: str) -> None:
    member = {**OWNER, "requesterSenderId": "555", "senderIsOwner": False}

    assert bound(member, projects("-1004001"), entry) == "-1004001"


def test_the_owner_outside_of_groups_is_bound_to_none() -> None:
    direct = {"sessionKey": "agent:orch:main", "requesterSenderId": "777", "senderIsOwner": True}

    caller = caller_of(direct, projects("-1004001"), ())

    assert (caller.kind, caller.group_id) == (CallerKind.ORCHESTRATOR, None)


@pytest.mark.parametrize("key", ["agent:orch:main", "agent:orch:cron:1", "agent:orch:hook:x", "", "garbage"])
def test_a_session_outside_of_groups_that_is_not_the_owners_is_refused(key: str) -> None:
    with pytest.raises(NotAllowed):
        caller_of({"sessionKey": key, "senderIsOwner": False}, projects("-1004001"), ())


def test_a_session_that_a_seat_holds_is_its_worker() -> None:
    shop = project("-1004001", dev=Seat(sessions={"medior": KEY}))

    caller = caller_of({"sessionKey": KEY, "senderIsOwner": False}, {"-1004001": shop}, ())

    assert (caller.kind, caller.group_id, caller.role, caller.tier, caller.session) == (
        CallerKind.WORKER,
        "-1004001",
        Role.DEV,
        Tier.MEDIOR,
        KEY,
    )


def test_a_session_that_no_seat_holds_is_refused() -> None:
    with pytest.raises(NotAllowed, match="no worker"):
        caller_of({"sessionKey": KEY}, projects("-1004001"), ())


def test_an_id_that_the_key_has_in_lower_case_is_the_registered_one() -> None:
    slack = {"sessionKey": "agent:orch:slack:channel:c0123abc", "nativeChannelId": "C0123ABC"}

    assert bound(slack, projects("C0123ABC")) == "C0123ABC"
    assert bound(slack, {}) == "C0123ABC"


def test_the_same_id_in_another_channel_is_refused() -> None:
    with pytest.raises(NotAllowed, match="of discord"):
        caller_of(OWNER, {"-1004001": project("-1004001", channel="discord")}, ())
