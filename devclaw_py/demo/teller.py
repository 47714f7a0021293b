"""The demo's group chat: a notifier that appends each announcement to ``chat.ndjson``.

Run by ``[notify] argv`` with the file as its argument and one JSON object on standard input.
"""

from __future__ import annotations

import sys
from pathlib import Path

from devclaw_py.kernel.files import append_line


def main() -> None:
    """Append what stands on standard input; devclaw tells one group one thing at a time, so no lock is needed."""
    append_line(Path(sys.argv[1]), sys.stdin.buffer.read().strip())


if __name__ == "__main__":
    main()
