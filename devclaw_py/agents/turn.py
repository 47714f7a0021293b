"""One devclaw at a time types into a session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from devclaw_py.errors import ProjectBusy, SessionFailed
from devclaw_py.kernel.clock import Clock
from devclaw_py.kernel.locks import hold


@contextmanager
def turn(path: Path, *, wait_s: float, session: str, clock: Clock) -> Iterator[None]:
    """Hold the lock at ``path`` for ``session``; its files are read and written meanwhile.

    Raises:
        SessionFailed: another devclaw held it for all of ``wait_s``, or a file could not be read or written.
    """
    with ExitStack() as stack:
        stack.enter_context(files_of(session))
        try:
            stack.enter_context(hold(path, wait_s=wait_s, holder=session, clock=clock))
        except ProjectBusy as error:
            raise SessionFailed(f"{session} is being used by another devclaw: {error}") from error
        yield


@contextmanager
def files_of(session: str) -> Iterator[None]:
    """Say whose files they are that cannot be read or written.

    Raises:
        SessionFailed: instead of OSError.
    """
    try:
        yield
    except OSError as error:
        raise SessionFailed(f"the files of session {session} cannot be used: {error}") from error
