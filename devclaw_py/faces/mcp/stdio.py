"""One client on standard input and output. The end of the input and a signal end it alike."""

from __future__ import annotations

import asyncio
import json
import os
import select
import signal
from typing import IO, NoReturn, cast

import anyio
from mcp.server.stdio import stdio_server

from devclaw_py.faces.mcp.calls import Calls
from devclaw_py.faces.mcp.hands import Hands
from devclaw_py.faces.mcp.server import Face, complain
from devclaw_py.rules.arguments import SURROGATE

CHUNK_BYTES = 64 * 1024


class Lines:
    """Lines of ``source`` until it ends or ``stop`` has something to read; both are file descriptors.

    The SDK drops a line with half a character of two (a lone surrogate, as a model writes that is cut off), and the
    client would wait for ever: such halves are replaced.
    """

    def __init__(self, source: int, stop: int) -> None:
        self._source, self._stop = source, stop
        self._rest = b""

    def readline(self) -> str:
        """Return the next line, empty at the end."""
        parts = [self._rest]
        while b"\n" not in parts[-1]:
            ready, _, _ = select.select([self._source, self._stop], [], [])
            chunk = b"" if self._stop in ready else os.read(self._source, CHUNK_BYTES)
            if not chunk:
                return ""
            parts.append(chunk)
        head, _, self._rest = parts[-1].partition(b"\n")
        return _mended((b"".join(parts[:-1]) + head).decode("utf-8", "replace")) + "\n"


def _mended(line: str) -> str:
    if "\\ud" not in line.lower():
        return line
    try:
        return SURROGATE.sub("\ufffd", json.dumps(json.loads(line), ensure_ascii=False))
    except (ValueError, RecursionError):
        return line


def serve(calls: Calls) -> NoReturn:
    """Serve this process's standard input and output, then end the process."""
    hands = Hands()
    anyio.run(_serve, Face(calls, hands), hands)
    # Without waiting for what may still run: the journal has what it needs.
    os._exit(0)


async def _serve(face: Face, hands: Hands) -> None:
    source, (stop, stopped) = os.dup(0), os.pipe()
    # A program that a call starts must not read the client's next request.
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    loop = asyncio.get_running_loop()
    for sign in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(sign, os.write, stopped, b".")
    server = face.server()
    # The SDK reads lines of it and nothing else.
    lines = anyio.wrap_file(cast(IO[str], Lines(source, stop)))
    async with stdio_server(stdin=lines) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())
        await anyio.to_thread.run_sync(hands.finish)
    complain("ended")
