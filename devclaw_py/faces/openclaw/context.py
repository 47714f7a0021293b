"""Who calls, from what the gateway says of a call: the session, the chat it is delivered to, the sender.

Nothing of it is a tool's argument: a model cannot say that it is somewhere else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from devclaw_py.errors import NotAllowed
from devclaw_py.model.caller import Caller, CallerKind
from devclaw_py.model.pipeline import Tier
from devclaw_py.model.project import Project

EVERYBODY = "*"
TOPIC = ":topic:"

# agent:<agent>:<channel>:group:<id>[:topic:<n>]; Slack and Discord say channel where others say group. WhatsApp's ids
# hold "@", Matrix' ones ":".
GROUP_KEY = re.compile(r"agent:(?P<agent>[^:]+):(?P<channel>[^:]+):(?:group|channel):(?P<group>.+)", re.DOTALL)
TOPIC_TAIL = re.compile(r"(?P<group>.+?):(?:topic|thread):(?P<topic>[^:]+)", re.DOTALL)
SUBAGENT = re.compile(r"agent:[^:]+:subagent:.+", re.DOTALL)


@dataclass(frozen=True)
class Chat:
    """The group chat that a call comes from. ``topic`` is a forum topic or thread of it."""

    channel: str
    group: str
    topic: str | None = None
    account: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The group ids that mean this chat, the narrowest first."""
        return (f"{self.group}{TOPIC}{self.topic}", self.group) if self.topic else (self.group,)


def chat_of(context: Mapping[str, Any]) -> Chat | None:
    """Return the group chat of a call, or None when it comes from none.

    The session's key decides. A turn that somebody starts from outside has a key and no native channel id.
    """
    found = GROUP_KEY.fullmatch(_text(context, "sessionKey"))
    if found is None:
        return None
    group, topic = found["group"], None
    if tail := TOPIC_TAIL.fullmatch(group):
        group, topic = tail["group"], tail["topic"]
    native = _text(context, "nativeChannelId")
    # Keys are in lower case, and Slack's ids are not.
    group = native if native.casefold() == group.casefold() else group
    delivery = context.get("deliveryContext")
    account = _text(delivery if isinstance(delivery, Mapping) else {}, "accountId") or _text(context, "agentAccountId")
    return Chat(found["channel"], group, topic, account or None)


def check_sender(context: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Refuse a stranger: a sender who is neither the gateway's owner nor named in the plugin's ``allowFrom``.

    A turn in a group that nobody sent a message for was started by whoever runs the gateway.

    Raises:
        NotAllowed: see above.
    """
    sender = _text(context, "requesterSenderId")
    if not sender or context.get("senderIsOwner") is True or EVERYBODY in allowed:
        return
    channel = _text(context, "messageChannel")
    if sender in allowed or f"{channel}:{sender}" in allowed:
        return
    raise NotAllowed(
        f"sender {sender} may not use devclaw here: not an owner of the gateway, and not in the plugin's allowFrom",
        hint=f"a person may add it: openclaw config set plugins.entries.devclaw.config.allowFrom '[\"{sender}\"]'",
    )


def caller_of(context: Mapping[str, Any], projects: Mapping[str, Project], allowed: Collection[str]) -> Caller:
    """Return who calls: an orchestrator bound to its group, a worker, or the owner bound to none.

    Raises:
        NotAllowed: a stranger, or a session that belongs to nobody that devclaw knows.
    """
    key = _text(context, "sessionKey")
    check_sender(context, allowed)
    chat = chat_of(context)
    if chat is not None:
        return Caller(kind=CallerKind.ORCHESTRATOR, group_id=_checked(chat, projects))
    if SUBAGENT.fullmatch(key):
        return _worker(key, projects)
    if context.get("senderIsOwner") is True:
        return Caller(kind=CallerKind.ORCHESTRATOR)
    raise NotAllowed(
        f"session {key or '(none)'} is no group chat, no worker's session and not the owner's",
        hint="call from the project's group, or as the owner",
    )


def group_of(chat: Chat, projects: Mapping[str, Project]) -> str:
    """Return the group id that a chat stands for: a topic's own where it is registered so, else its group's.

    Where nothing is registered the narrowest is meant.
    """
    for name in chat.names:
        for group_id in projects:
            if group_id.casefold() == name.casefold():
                return group_id
    return chat.names[0]


def _checked(chat: Chat, projects: Mapping[str, Project]) -> str:
    group_id = group_of(chat, projects)
    project = projects.get(group_id)
    if project is not None and project.channel and project.channel.casefold() != chat.channel.casefold():
        raise NotAllowed(
            f"group {group_id} of {project.channel} has a project, and this call comes from {chat.channel}",
            hint="a person may change it: devclaw project-update --channel",
        )
    return group_id


def to_register(chat: Chat, projects: Mapping[str, Project], named: object) -> str:
    """Return the group id under which a call from ``chat`` registers a project.

    From a topic that has no project of its own both may be named: the topic, which is meant when nothing is named and
    its group has no project either, and the whole group.
    """
    own = group_of(chat, projects)
    if own in projects and own != chat.group:
        return own
    return next((name for name in chat.names if bare(chat, named) == name.casefold()), own)


def bare(chat: Chat, named: object) -> str:
    """Return a named group id as it is compared: without the channel's name in front of it, which agents see."""
    return str(named).removeprefix(f"{chat.channel}:").removeprefix("group:").casefold()


def _worker(key: str, projects: Mapping[str, Project]) -> Caller:
    for group_id, project in projects.items():
        for seat_key, seat in project.seats().items():
            tier = next((tier for tier in Tier if seat.sessions.get(tier.value) == key), None)
            if tier is not None:
                return Caller(kind=CallerKind.WORKER, group_id=group_id, role=seat_key.role, tier=tier, session=key)
    raise NotAllowed(
        f"session {key} is no worker of a registered project", hint="the orchestrator calls from its group"
    )


def _text(found: Mapping[str, Any], name: str) -> str:
    value = found.get(name)
    return value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
