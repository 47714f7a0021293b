"""``python -m devclaw_py.agents.standin``: the stand-in as a process of its own.

Prints its URL as one line on standard output and answers until SIGINT or SIGTERM. The token comes from the environment
variable DEVCLAW_STANDIN_TOKEN and is written nowhere.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from devclaw_py.agents.standin.server import StandIn
from devclaw_py.errors import ConfigError
from devclaw_py.kernel.secrets import SHORTEST

TOKEN = "DEVCLAW_STANDIN_TOKEN"
EXIT_CONFIG = 4


def main() -> None:
    """Run until a signal; exit 4 when the token or the port is not to be had."""
    parser = argparse.ArgumentParser("python -m devclaw_py.agents.standin", description="A stand-in Messages API.")
    parser.add_argument("--port", type=int, default=0, help="0 (default): a free one")
    parser.add_argument("--folder", type=Path, required=True, help="where each request is written")
    chosen = parser.parse_args()
    token = os.environ.get(TOKEN, "")
    try:
        if len(token) < SHORTEST:
            raise ConfigError(f"{TOKEN} has {len(token)} characters; set it to a token of {SHORTEST} or more")
        # Blocked before any thread starts: a signal reaches sigwait and nothing else.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        with StandIn(folder=chosen.folder, token=token, port=chosen.port) as standin:
            sys.stdout.write(f"{standin.url}\n")
            sys.stdout.flush()
            signal.sigwait({signal.SIGINT, signal.SIGTERM})
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(EXIT_CONFIG)


if __name__ == "__main__":
    main()
