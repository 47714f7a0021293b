"""Fail points: places at which a test can stop a process."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, MutableMapping

from devclaw_py.errors import ConfigError, SessionFailed

VARIABLE = "DEVCLAW_FAILPOINT"


def kill_self() -> None:
    """End this process as ``kill -9`` does."""
    os.kill(os.getpid(), signal.SIGKILL)


def fail() -> None:
    """Raise what an outside failure raises."""
    raise SessionFailed("a fail point was set here")


def hang() -> None:
    """Stay here until killed."""
    while True:
        time.sleep(3600)


ACTIONS: dict[str, Callable[[], None]] = {"kill": kill_self, "error": fail, "hang": hang}


class FailPoints:
    """At most one armed fail point. ``hit`` costs one comparison when none is set."""

    def __init__(self, name: str | None = None, action: Callable[[], None] = kill_self) -> None:
        self._name, self._action = name, action

    def hit(self, name: str) -> None:
        """Act if ``name`` is the armed point; an armed point acts once."""
        if name == self._name:
            self._name = None
            self._action()


def from_environment(environ: MutableMapping[str, str], *, known: Callable[[], Iterable[str]]) -> FailPoints:
    """Take ``DEVCLAW_FAILPOINT=<name>:<kill|error|hang>`` out of ``environ``, so that no child inherits it.

    Raises:
        ConfigError: the value has another form, or no point has that name.
    """
    value = environ.pop(VARIABLE, None)
    if value is None:
        return FailPoints()
    name, _, word = value.rpartition(":")
    if not name or word not in ACTIONS:
        raise ConfigError(f"{VARIABLE}={value} is not of the form <name>:<{'|'.join(ACTIONS)}>")
    if name not in known():
        raise ConfigError(f"{VARIABLE} names {name}, and there is no such point", hint="devclaw failpoints lists them")
    return FailPoints(name, ACTIONS[word])
