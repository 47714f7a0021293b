"""Notifiers: one that is silent, one that hands each announcement to a command, one that leaves it to the gateway."""

from __future__ import annotations

import json
from collections.abc import Sequence

from devclaw_py.chat.base import Notifier
from devclaw_py.chat.text import one_line, plain
from devclaw_py.errors import ConfigError, SessionFailed
from devclaw_py.kernel import proc
from devclaw_py.model.journal import OutboxRow
from devclaw_py.model.project import Project
from devclaw_py.model.settings import Settings

STDERR_CHARS = 200


class SilentNotifier:
    """Sends nothing: whoever called the tool posts the announcement in its result."""

    def deliver(self, row: OutboxRow, project: Project | None) -> None:
        """Take the row as delivered."""


class HeldNotifier:
    """Leaves every announcement in the outbox, for the process beside the gateway that can send it.

    A worker's report is a process of its own, which has no way to the chat.
    """

    def deliver(self, row: OutboxRow, project: Project | None) -> None:
        """Refuse; the pump asks nothing of this notifier.

        Raises:
            SessionFailed: always.
        """
        raise SessionFailed(f"the announcement {row.key} is the gateway's to send")


class CommandNotifier:
    """Runs a program for each announcement, with one JSON object on its standard input; exit 0 means delivered."""

    def __init__(self, argv: Sequence[str], *, timeout_s: float) -> None:
        if not argv or not argv[0]:
            raise ConfigError("notify.kind is command and notify.argv names none; set it in devclaw.toml")
        self._argv, self._timeout_s = tuple(argv), timeout_s

    def deliver(self, row: OutboxRow, project: Project | None) -> None:
        """Run the program and wait for its end.

        Raises:
            SessionFailed: it could not be started, took too long, or ended with another code than 0.
        """
        try:
            # Without the locks: a program that leaves something running would keep its group from ever being told.
            done = proc.run(self._argv, timeout_s=self._timeout_s, stdin=_document(row, project))
        except proc.NotAnswered as error:
            raise SessionFailed(f"the notifier {error}") from error
        if done.code != 0:
            lines = (line for line in done.err.splitlines() if line.strip())
            first = one_line(next(lines, "nothing on stderr"), STDERR_CHARS)
            raise SessionFailed(f"the notifier {self._argv[0]} ended with exit code {done.code}: {first}")


def notifier_for(settings: Settings) -> Notifier:
    """Return the notifier that the settings name.

    Raises:
        ConfigError: a command is wanted and none is named.
    """
    if settings.notify.kind == "command":
        return CommandNotifier(settings.notify.argv, timeout_s=settings.timeouts.notify_s)
    if settings.notify.kind == "openclaw":
        return HeldNotifier()
    return SilentNotifier()


def _document(row: OutboxRow, project: Project | None) -> str:
    facts = {
        "groupId": row.group_id,
        "channel": project.channel if project else None,
        "project": project.name if project else None,
        "key": row.key,
        "text": plain(row.announcement),
        "announcement": row.announcement.model_dump(mode="json", by_alias=True),
    }
    return json.dumps(facts) + "\n"
