"""The adapters behind `Gate`, each imported when it is opened: their libraries take longer to load than most calls."""

from __future__ import annotations

from devclaw_py.errors import ConfigError
from devclaw_py.model.pipeline import Provider
from devclaw_py.trackers.forges import Entry, Gate


def open_gate(entry: Entry) -> Gate:
    """Return the gate of a forge.

    Raises:
        ConfigError: this version has no adapter for it.
    """
    if entry.provider is Provider.GITHUB:
        from devclaw_py.trackers.github.gate import GitHubGate

        return GitHubGate(entry)
    raise ConfigError(f"this version has no adapter for {entry.provider}", hint="register with provider local")
