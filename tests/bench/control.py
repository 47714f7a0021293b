"""A control-mode client of tmux: one process that is asked again and again. For comparison; devclaw has none."""

from __future__ import annotations

import subprocess
from types import TracebackType
from typing import Self

BEGIN, END, ERROR = "%begin", "%end", "%error"


class ControlClient:
    """Attached to one session of a server; a context manager."""

    def __init__(self, socket: str, session: str) -> None:
        argv = ["tmux", "-L", socket, "-C", "attach-session", "-f", "ignore-size", "-t", f"={session}"]
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        """Wait until it is attached."""
        self._answer()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Detach."""
        self._process.communicate(timeout=10)

    def ask(self, command: str) -> list[str]:
        """Send one command and return the lines of its answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(f"{command}\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> list[str]:
        """Read one block; what stands between blocks are notices."""
        assert self._process.stdout is not None
        lines: list[str] | None = None
        for line in self._process.stdout:
            if line.startswith(BEGIN):
                lines = []
            elif lines is not None and line.startswith((END, ERROR)):
                if line.startswith(ERROR):
                    raise RuntimeError(f"tmux: {lines}")
                return lines
            elif lines is not None:
                lines.append(line.rstrip("\n"))
        raise RuntimeError("tmux let its control client go")
