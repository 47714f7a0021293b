"""How a line gets into Claude Code's input box: once, alone, and without taking a person's words."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from devclaw_py.agents.claude import screen
from devclaw_py.agents.console import Console
from devclaw_py.errors import DeliveryUnconfirmed, SessionFailed
from devclaw_py.rules.speech import chunks
from devclaw_py.terminals.base import Key

TASK, NOTICE = "devclaw-task", "devclaw-notice"
COMPACT = "/compact"
# Several keys at once are taken for pasted text.
KEY_S = 0.1
LOOK_S = 0.25
# Claude Code takes an Enter that comes with a paste for a part of it.
ENTER_S = 0.1
QUIET_S = 1.5
SHOWN_S = 3.0
KEYS = 40
STASHES = 2


def put(console: Console, line: str, about_to: Callable[[], None] = lambda: None) -> None:
    """Empty the box, paste ``line`` and press Enter, apart.

    A draft is stashed once it rests; Claude Code puts it back after the prompt. The space behind the line closes the
    pop-ups of ``/`` and ``@``, which would take the Enter. ``about_to`` is called right before Enter; until then
    nothing was submitted.

    Raises:
        SessionFailed: the terminal could not be used.
        DeliveryUnconfirmed: nothing was submitted: a person types, or no input box is there.
    """
    _make_empty(console, line)
    for piece in chunks(f"{line.rstrip()} "):
        console.terminal.paste(console.name, piece)
    console.clock.sleep(ENTER_S)
    _wait_shown(console, line)
    about_to()
    console.terminal.press(console.name, Key.ENTER)


def again(console: Console, line: str) -> None:
    """Press Enter once more where the line still stands in the box; never where something else may be answered."""
    shown = look(console)
    if shown is not None and screen.same(shown, line):
        console.terminal.press(console.name, Key.ENTER)


def tidy(console: Console) -> None:
    """Remove a line of devclaw's from the box; a person's words stay."""
    with suppress(SessionFailed):
        for _ in range(KEYS):
            shown = look(console)
            if shown is None or not _ours(shown):
                return
            _press(console, Key.CLEAR_LINE, shown)


def look(console: Console) -> str | None:
    """Return what stands in the box now; None when no box is visible."""
    return screen.box(console.terminal.view(console.name))


def _make_empty(console: Console, line: str) -> None:
    started = changed = console.clock.monotonic()
    before, stashed = "", 0
    while (shown := look(console)) != "":
        now = console.clock.monotonic()
        if now - started >= console.patience_s or stashed > STASHES:
            raise DeliveryUnconfirmed(_in_the_way(console.name, shown), hint="devclaw attach shows the session")
        if shown != before:
            before, changed = shown or "", now
        if shown is not None and (_ours(shown) or screen.begins(shown, line)):
            _press(console, Key.CLEAR_LINE, shown)
        elif shown == screen.SHELL:
            _press(console, Key.RUB_OUT, shown)
        elif shown is not None and now - changed >= QUIET_S:
            stashed += 1
            _press(console, Key.STASH, shown)
        else:
            console.clock.sleep(LOOK_S)


def _wait_shown(console: Console, line: str) -> None:
    deadline = console.clock.monotonic() + SHOWN_S
    while not screen.same(shown := look(console) or "", line):
        if console.clock.monotonic() >= deadline:
            raise DeliveryUnconfirmed(
                f"the line for {console.name} does not stand alone in its input box, so it was not sent: "
                f"{shown[:200]!r} does"
            )
        console.clock.sleep(KEY_S)


def _press(console: Console, key: Key, shown: str) -> None:
    """Press a key and wait for the box to change: a second Ctrl+S that comes too soon puts the draft back."""
    console.terminal.press(console.name, key)
    deadline = console.clock.monotonic() + SHOWN_S
    console.clock.sleep(KEY_S)
    while look(console) == shown and console.clock.monotonic() < deadline:
        console.clock.sleep(KEY_S)


def _ours(shown: str) -> bool:
    return shown.startswith((TASK, NOTICE, f"{COMPACT} Keep decisions"))


def _in_the_way(name: str, shown: str | None) -> str:
    if shown is None:
        return f"{name} shows no input box, so nothing was typed: a dialog or a picker is open"
    return f"a person's text stands in the input box of {name}, and was left there: {shown[:200]!r}"
