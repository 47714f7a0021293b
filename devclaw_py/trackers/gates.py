"""The adapters behind `Gate`, each imported when it is opened: their libraries take longer to load than most calls."""

from __future__ import annotations

from devclaw_py.errors import ConfigError
from devclaw_py.trackers.forges import Entry, Gate


def open_gate(entry: Entry) -> Gate:
    """Return the gate of a forge.

    Raises:
        ConfigError: the provider is none of a forge.
    """
    raise ConfigError(f"{entry.provider} is no forge")
