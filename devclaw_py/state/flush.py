"""Writing the audit lines that operations queued in their closing transaction."""

from __future__ import annotations

from devclaw_py.state.base import Store

WAIT_S = 30.0


def flush_lines(store: Store) -> int:
    """Write the queued audit lines and forget them; return how many were queued.

    A crash before the lines are forgotten loses and doubles none: each is looked for before it is written.

    Raises:
        ProjectBusy: another process has been at it for half a minute.
        ConfigError: the audit log could not be written; the lines stay queued.
    """
    if not store.journal.queued_lines():
        return 0
    with store.hold("audit-queue", wait_s=WAIT_S, holder="the audit queue"):
        lines = store.journal.queued_lines()
        for line in lines:
            store.audit.append_once(line)
        store.journal.drop_lines(lines)
    return len(lines)
