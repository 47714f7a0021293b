"""The notifier beside the gateway: the plugin sends, and the gateway keeps a key from being sent twice."""

from __future__ import annotations

from devclaw_py.chat.text import plain
from devclaw_py.errors import SessionFailed
from devclaw_py.faces.openclaw.context import TOPIC
from devclaw_py.faces.openclaw.rpc import Message, Peer, PeerError
from devclaw_py.model.journal import OutboxRow
from devclaw_py.model.project import Project

DEFAULT_CHANNEL = "telegram"
ACCOUNT = "accountId"

# A gateway that was killed inside a send keeps the key, and refuses it until its own recovery has ended, which takes
# a quarter of an hour at most. After as many failed tries as take longer than that, the row goes under a new key.
TRIES_A_KEY = 6


class GatewayNotifier:
    """Sends each announcement through the plugin on the other side of the connection."""

    def __init__(self, peer: Peer, *, timeout_s: float) -> None:
        self._peer, self._timeout_s = peer, timeout_s

    def deliver(self, row: OutboxRow, project: Project | None) -> None:
        """Have one announcement sent, and return when the gateway has taken it over.

        Raises:
            SessionFailed: the gateway did not take it, or nobody knows.
        """
        params = {"key": key_of(row), "text": plain(row.announcement), **route_of(row.group_id, project)}
        try:
            self._peer.call("send", params, timeout_s=self._timeout_s)
        except PeerError as error:
            raise SessionFailed(f"the gateway: {error}") from error


def key_of(row: OutboxRow) -> str:
    """Return the gateway's idempotency key of a row; it changes only after many failures."""
    turn = row.tries // TRIES_A_KEY
    return f"devclaw:{row.key}" + (f"#{turn + 1}" if turn else "")


def route_of(group_id: str, project: Project | None) -> Message:
    """Return where a group is: channel, target, and the account and topic where there are any."""
    target, _, topic = group_id.partition(TOPIC)
    account = ((project.model_extra or {}) if project else {}).get(ACCOUNT)
    route: Message = {"channel": (project.channel if project else None) or DEFAULT_CHANNEL, "to": target}
    return route | ({"accountId": account} if account else {}) | ({"threadId": topic} if topic else {})
