"""What the command line prints, without typer and rich: all that ``devclaw call`` may load."""

from __future__ import annotations

import io
import json
import re
import sys

from devclaw_py.errors import ConfigError, DevClawError

# JSON escapes the controls below U+0020 by itself. These would reach a terminal as they are.
UNSEEN = re.compile("[\x7f-\x9f\ud800-\udfff\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]")


def json_line(value: object) -> str:
    """Return ``value`` as JSON on one line, readable, without a character that a terminal would obey."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def prepare_streams() -> None:
    """Let both outputs take any text, whatever the locale is: JSON and the announcements are UTF-8."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def told(error: DevClawError | OSError) -> DevClawError:
    """Return the error that people and programs are told; what the machine refused becomes a `ConfigError`."""
    if isinstance(error, DevClawError):
        return error
    where = f"{error.filename}: " if error.filename else ""
    return ConfigError(
        f"{where}{error.strerror or error}", hint="run devclaw doctor; it says what is wrong with the workspace"
    )
