"""Forges as the rest of devclaw meets them: where a repository is, who may enter, and the two ports of its project.

The adapters are imported when one is opened, and credentials are read when one asks something.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from devclaw_py.errors import ConfigError, DevClawError
from devclaw_py.kernel.clock import Clock
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.pipeline import Provider
from devclaw_py.model.project import Forge, Project
from devclaw_py.model.settings import Settings
from devclaw_py.trackers.auth import Credentials, Keyring
from devclaw_py.trackers.base import IssueProvider
from devclaw_py.trackers.probe import Probe
from devclaw_py.trackers.remotes import Address, Known, Place, known_forges, locate, parse, real
from devclaw_py.trackers.requests import RequestProvider

KEPT_S = 300.0


class Gate(Protocol):
    """One account at one forge: what an adapter offers before it knows a project."""

    def resolve(self, place: Place, *, remote: str) -> Forge:
        """Return the repository under its own number and its full name of today.

        Raises:
            TrackerDenied: there is none that the account sees.
        """
        ...

    def rights(self, forge: Forge, *, name: str) -> list[Finding]:
        """Return one critical finding for each right that the account lacks; makes the state labels."""
        ...

    def tracker(self, forge: Forge, *, name: str) -> IssueProvider:
        """Return the issues of a repository."""
        ...

    def requests(self, forge: Forge) -> RequestProvider:
        """Return the requests of a repository."""
        ...


@dataclass(frozen=True)
class Entry:
    """What a gate is opened with. ``folder`` is where processes share what they know of this forge and of no other."""

    provider: Provider
    api: str
    credentials: Callable[[], Credentials]
    folder: Path
    clock: Clock
    timeout_s: float
    settings: Settings


@dataclass
class Forges:
    """All forges of one workspace."""

    keyring: Keyring
    folder: Path
    clock: Clock
    timeout_s: float
    open_gate: Callable[[Entry], Gate]
    ask: Callable[[Address], Known | None] = field(default_factory=lambda: Probe().ask)
    _gates: dict[tuple[Provider, str], Gate] = field(default_factory=dict)
    _kept: dict[tuple[Provider, str], tuple[float, Credentials]] = field(default_factory=dict)

    def tracker(self, project: Project) -> IssueProvider:
        """Return the issues of a project that lives on a forge.

        Raises:
            ConfigError: its entry does not say where.
        """
        forge = self._forge(project)
        return self._gate(project.provider, forge.host, forge.api).tracker(forge, name=project.name)

    def requests(self, project: Project) -> RequestProvider:
        """Return the requests of a project that lives on a forge.

        Raises:
            ConfigError: its entry does not say where.
        """
        forge = self._forge(project)
        return self._gate(project.provider, forge.host, forge.api).requests(forge)

    def locate(self, address: str, *, wanted: Provider | None = None) -> Place | None:
        """Return where a remote's address leads; on a host that nobody knows ``wanted`` is believed."""
        found = parse(address)
        if found is None:
            return None
        found = real(found)
        if wanted is None:
            return locate(found, self._known, self.ask)
        return locate(found, self._known, lambda host: self.ask(host) or Known(wanted, host.web))

    @property
    def _known(self) -> tuple[Known, ...]:
        return known_forges(self.keyring.settings)

    def resolve(self, place: Place, *, remote: str) -> Forge:
        """Return the repository as the forge knows it.

        Raises:
            NoCredentials: there are none for it.
            TrackerError: it cannot be seen or the forge cannot be asked.
        """
        return self._gate(place.provider, place.host, place.api).resolve(place, remote=remote)

    def rights(self, project: Project) -> list[Finding]:
        """Return one critical finding for each right that is missing."""
        forge = self._forge(project)
        return self._gate(project.provider, forge.host, forge.api).rights(forge, name=project.name)

    def diagnose(self, project: Project) -> list[Finding]:
        """Return where the credentials of a project on a forge come from, and who cannot use them."""
        forge = self._forge(project)

        def found(severity: Severity, message: str, mend: str = "") -> list[Finding]:
            return [Finding(type="credentials", severity=severity, message=message, mend=mend, project=project.name)]

        try:
            credentials = self.keyring.need(project.provider, forge.host)
        except DevClawError as error:
            return found(Severity.CRITICAL, str(error), error.hint or "")
        said = f"credentials of {forge.host}: {credentials.source} ({credentials.fingerprint})"
        if credentials.source.startswith("environment"):
            why = "workers do not get them, so each report waits for the next call of a person or the heartbeat"
            return found(Severity.WARNING, f"{said}; {why}", f"set token_file in [{project.provider}] of devclaw.toml")
        return found(Severity.OK, said)

    def _forge(self, project: Project) -> Forge:
        if project.forge is None:
            raise ConfigError(
                f"{project.name} is said to be on {project.provider}, and its entry does not say which repository",
                hint="remove the project and register it again",
            )
        return project.forge

    def _gate(self, provider: Provider, host: str, api: str) -> Gate:
        if (provider, api) not in self._gates:
            self._gates[provider, api] = self.open_gate(
                Entry(
                    provider=provider,
                    api=api,
                    credentials=lambda: self._credentials(provider, host),
                    folder=self.folder / f"{provider}-{urlsplit(api).netloc}",
                    clock=self.clock,
                    timeout_s=self.timeout_s,
                    settings=self.keyring.settings,
                )
            )
        return self._gates[provider, api]

    def _credentials(self, provider: Provider, host: str) -> Credentials:
        """Return the credentials of a host, kept for five minutes: each look may start a program."""
        now = self.clock.monotonic()
        at, kept = self._kept.get((provider, host), (0.0, None))
        if kept is None or now - at > KEPT_S:
            kept = self.keyring.need(provider, host)
            self._kept[provider, host] = (now, kept)
        return kept
