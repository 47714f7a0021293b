"""The adapters behind `Gate`, each imported when it is opened: their libraries take longer to load than most calls."""

from __future__ import annotations

from importlib.util import find_spec

from devclaw_py.errors import ConfigError
from devclaw_py.model.pipeline import Provider
from devclaw_py.trackers.forges import Entry, Gate


def open_gate(entry: Entry) -> Gate:
    """Return the gate of a forge.

    Raises:
        ConfigError: its library is not installed.
    """
    if find_spec(entry.provider.value) is None:  # both libraries are imported under their forge's name
        raise ConfigError(
            f"the library for {entry.provider} is not installed",
            hint=f"pip install '.[{entry.provider}]' in devclaw's checkout",
        )
    if entry.provider is Provider.GITHUB:
        from devclaw_py.trackers.github.gate import GitHubGate

        return GitHubGate(entry)
    from devclaw_py.trackers.gitlab.gate import GitLabGate

    return GitLabGate(entry)
