"""``/compact``, typed by devclaw into an idle session and waited for."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from devclaw_py.agents.base import Compaction
from devclaw_py.agents.claude import delivery, events
from devclaw_py.agents.console import Console
from devclaw_py.errors import SessionError

# The words behind it are for the model; with them the pop-up takes the exact name only.
LINE = f"{delivery.COMPACT} Keep decisions, conventions and open findings; leave out tool output."
POLL_S = 0.05
NUDGE_S = 3.0
# Longer than Claude Code needs to tell that it has begun, and to be busy once it has.
BEGIN_S = 8.0
CALM_S = 2.0


def compact(console: Console, idle: Callable[[], bool], limit_s: float) -> Compaction:
    """Type the command and wait until the session is idle with a compacted conversation.

    ``idle`` says whether it is now. Claude Code says nothing of a compaction that fails: it is idle again without the
    event of its end.

    Raises:
        SessionFailed: the session is gone or cannot be used.
        DeliveryUnconfirmed: somebody else's text or a dialog is in the way; nothing was submitted.
    """
    before = {event.file for event in events.read(console.folder)}
    delivery.put(console, LINE)
    begun = calm = nudged = console.clock.monotonic()
    while True:
        now = console.clock.monotonic()
        told = {event.name for event in events.read(console.folder) if event.file not in before}
        calm = calm if idle() else now
        if "PostCompact" in told and calm != now:
            return Compaction.DONE
        if now - calm >= (CALM_S if "PreCompact" in told else BEGIN_S):
            delivery.tidy(console)
            return Compaction.FAILED
        if now - begun >= limit_s:
            return Compaction.ENDLESS
        if "PreCompact" not in told and now - nudged >= NUDGE_S:
            nudged = now
            with suppress(SessionError):
                delivery.again(console, LINE)
        console.clock.sleep(POLL_S)
