"""Named locks of a workspace: one file each in memory/locks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from devclaw_py.kernel import locks
from devclaw_py.kernel.clock import Clock
from devclaw_py.kernel.files import PRIVATE, private_folder, writing

# Names stay readable, because a message of whoever waits in vain shows them.
READABLE = " :@+="
MAX_CHARS = 180


def lock_file(name: str) -> str:
    """Return the file name of a lock: no two names share one, and none leaves the folder."""
    quoted = quote(name, safe=READABLE, errors="surrogatepass")
    if len(quoted) > MAX_CHARS:
        digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
        quoted = f"{quoted[:MAX_CHARS]}~{digest}"
    return f"{quoted}.lock"


class Locks:
    """The locks of one workspace."""

    def __init__(self, folder: Path, clock: Clock) -> None:
        self._folder, self._clock = folder, clock

    @contextmanager
    def hold(self, name: str, *, wait_s: float, holder: str) -> Iterator[None]:
        """Hold one lock until the block ends or the process and its children with effects are gone.

        Raises:
            ProjectBusy: not free within ``wait_s``.
            ConfigError: the lock's file could not be made.
        """
        path = private_folder(self._folder) / lock_file(name)
        with writing(path):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE))
        with locks.hold(path, wait_s=wait_s, holder=holder, clock=self._clock):
            yield
