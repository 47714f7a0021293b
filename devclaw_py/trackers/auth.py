"""Where a forge's credentials come from. They are read when they are needed, and kept in memory alone.

In this order: the settings (file, command, GitHub App), the environment, the store of the forge's own command line
(`gh auth token`, python-gitlab's files). A worker's environment does not count: whatever stands there was not put there
by whoever runs devclaw.
"""

from __future__ import annotations

import configparser
import hashlib
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

from devclaw_py.errors import ConfigError, NoCredentials
from devclaw_py.kernel import proc
from devclaw_py.model.pipeline import Provider
from devclaw_py.model.settings import GitHubSettings, GitLabSettings, Settings
from devclaw_py.trackers.remotes import DATA_RESIDENCY, GITHUB, GITLAB

COMMAND_S = 15.0
PUBLIC = ("GH_TOKEN", "GITHUB_TOKEN")
ENTERPRISE = ("GH_ENTERPRISE_TOKEN", "GITHUB_ENTERPRISE_TOKEN")
GITHUB_HOSTS = ("GH_HOST",)
GITLAB_TOKEN, GITLAB_HOSTS = "GITLAB_TOKEN", ("GITLAB_HOST", "GL_HOST")
TOKENS = frozenset({*PUBLIC, *ENTERPRISE, GITLAB_TOKEN, "GITLAB_PRIVATE_TOKEN", "CI_JOB_TOKEN"})
"""Every variable that may hold a forge's token: none of them goes to a program that devclaw starts here."""

PYTHON_GITLAB = "PYTHON_GITLAB_CFG"
HELPER = "helper:"


class Kind(StrEnum):
    """How credentials are shown to the forge."""

    TOKEN = "token"
    OAUTH = "oauth"
    APP = "app"


@dataclass(frozen=True)
class Credentials:
    """A secret and where it was found. ``secret`` of an APP is its private key."""

    secret: str = field(repr=False)
    source: str
    kind: Kind = Kind.TOKEN
    app_id: str = ""
    installation: str = ""

    @property
    def fingerprint(self) -> str:
        """Eight characters that tell secrets apart and give nothing away."""
        return hashlib.sha256(self.secret.encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Keyring:
    """Finds credentials of forges. ``trusts`` says whether this call's environment counts: a worker's does not."""

    settings: Settings
    workspace: Path
    environ: Mapping[str, str]
    trusts: Callable[[], bool] = lambda: True

    def need(self, provider: Provider, host: str) -> Credentials:
        """Return credentials for a host.

        Raises:
            NoCredentials: there are none; names the places that were looked at.
            ConfigError: one that the settings name cannot be read.
        """
        found = self.find(provider, host)
        if found is None:
            raise NoCredentials(
                f"there are no credentials for {host}: looked at {self._places(provider, host)}",
                hint=f"set token_file or token_command in [{provider}] of devclaw.toml",
            )
        return found

    def find(self, provider: Provider, host: str) -> Credentials | None:
        """Return the first credentials for a host, or None.

        Raises:
            ConfigError: one that the settings name cannot be read.
        """
        ways = (self._configured, self._from_environment, self._stored)
        return next((found for way in ways if (found := way(provider, host)) is not None), None)

    def _configured(self, provider: Provider, host: str) -> Credentials | None:
        section = self._section(provider)
        place = f"[{provider}]"
        if section.token_file and self._meant(provider, host, section.token_file):
            path = self._path(section.token_file.replace("{host}", host))
            if path.exists() or "{host}" not in section.token_file:
                return Credentials(_read(path, f"{place} token_file"), f"{place} token_file")
        if section.token_command and self._meant(provider, host, *section.token_command):
            argv = [word.replace("{host}", host) for word in section.token_command]
            return Credentials(self._told(argv, f"{place} token_command"), f"{place} token_command")
        if isinstance(section, GitHubSettings) and section.app_id and self._meant(provider, host):
            return self._app(section)
        return None

    def _app(self, section: GitHubSettings) -> Credentials:
        if not (section.app_key_file and section.app_installation):
            raise ConfigError("[github] app_id needs app_key_file and app_installation, too")
        key = _read(self._path(section.app_key_file), "[github] app_key_file")
        return Credentials(key, "[github] app_id", Kind.APP, section.app_id, section.app_installation)

    def _from_environment(self, provider: Provider, host: str) -> Credentials | None:
        names = [name for name in self._variables(provider, host) if self.environ.get(name)]
        if not names or not self.trusts():
            return None
        return Credentials(self.environ[names[0]].strip(), f"environment {names[0]}")

    def _variables(self, provider: Provider, host: str) -> Sequence[str]:
        if provider is Provider.GITHUB:
            if host == GITHUB or host.endswith(DATA_RESIDENCY):
                return PUBLIC
            # A host calls itself what it likes, and an agent may name any: only a person's word counts.
            told = {_host(text) for text in self.settings.github.hosts} | {self._told_host(GITHUB_HOSTS)}
            return ENTERPRISE if host in told else ()
        own = self._told_host(GITLAB_HOSTS) or self._own_host(Provider.GITLAB)
        return (GITLAB_TOKEN,) if own == host else ()

    def _told_host(self, names: Sequence[str]) -> str:
        return _host(next((self.environ[name] for name in names if self.environ.get(name)), ""))

    def _stored(self, provider: Provider, host: str) -> Credentials | None:
        if provider is Provider.GITHUB:
            token = self._of_gh(host)
            return Credentials(token, "gh auth token") if token else None
        return next(self._of_python_gitlab(host), None)

    def _of_gh(self, host: str) -> str:
        """Return what GitHub's command line keeps for a host; it is asked for nothing else."""
        try:
            done = proc.run(["gh", "auth", "token", "--hostname", host], timeout_s=COMMAND_S, env=self._clean())
        except proc.NotAnswered:
            return ""
        return done.out.strip() if done.code == 0 else ""

    def _of_python_gitlab(self, host: str) -> Iterator[Credentials]:
        own = self.environ.get(PYTHON_GITLAB) if self.trusts() else None
        home = Path(self.environ.get("HOME") or Path.home())
        files = [Path(own)] if own else [home / ".python-gitlab.cfg", Path("/etc/python-gitlab.cfg")]
        for path in files:
            config = configparser.ConfigParser(interpolation=None)
            try:
                config.read(path, encoding="utf-8")
            except (configparser.Error, UnicodeDecodeError) as error:
                # Its own words would show a line of the file.
                raise ConfigError(f"{path} is no configuration of python-gitlab: {type(error).__name__}") from None
            for name in config.sections():
                if urlsplit(config[name].get("url", "")).hostname == host:
                    yield from self._in_section(config[name], path)

    def _in_section(self, section: configparser.SectionProxy, path: Path) -> Iterator[Credentials]:
        for key, kind in (("private_token", Kind.TOKEN), ("oauth_token", Kind.OAUTH)):
            value = section.get(key, "").strip()
            if value.startswith(HELPER):
                value = self._told(shlex.split(value.removeprefix(HELPER)), f"{path} [{section.name}] {key}")
            if value:
                yield Credentials(value, f"{path} [{section.name}]", kind)

    def _meant(self, provider: Provider, host: str, *texts: str) -> bool:
        """Say whether a configured secret is for ``host``: it is shown to the host it was given for and to no other."""
        return any("{host}" in text for text in texts) or host == self._own_host(provider)

    def _own_host(self, provider: Provider) -> str:
        hosts = self._section(provider).hosts
        first = hosts[0] if hosts else GITHUB if provider is Provider.GITHUB else GITLAB
        return _host(first)

    def _section(self, provider: Provider) -> GitHubSettings | GitLabSettings:
        return self.settings.github if provider is Provider.GITHUB else self.settings.gitlab

    def _path(self, text: str) -> Path:
        return self.workspace / Path(text).expanduser()

    def _told(self, argv: Sequence[str], what: str) -> str:
        try:
            done = proc.run(argv, timeout_s=COMMAND_S, cwd=self._standing(), env=self._clean())
        except proc.NotAnswered as error:
            raise ConfigError(f"{what}: {error}") from error
        token = done.out.strip()
        if done.code or not token:
            # What it printed may be half of a secret.
            raise ConfigError(f"{what}: {argv[0]} exited {done.code} and printed {'nothing' if not token else 'text'}")
        return token

    def _standing(self) -> Path | None:
        return self.workspace if self.workspace.is_dir() else None

    def _clean(self) -> dict[str, str]:
        return {name: value for name, value in self.environ.items() if name not in TOKENS}

    def _places(self, provider: Provider, host: str) -> str:
        names = self._variables(provider, host)
        other = f"{ENTERPRISE[0]} is for GH_HOST and [github] hosts"
        if provider is Provider.GITLAB:
            other = f"{GITLAB_TOKEN} is for another host"
        where = f"environment {' and '.join(names)}" if names else f"environment ({other})"
        if not self.trusts():
            where = "no environment, because a worker calls"
        store = "gh auth token" if provider is Provider.GITHUB else "python-gitlab's files"
        return f"[{provider}] of devclaw.toml, {where}, {store}"


def _host(text: str) -> str:
    return urlsplit(text if "://" in text else f"//{text}").hostname or ""


def _read(path: Path, what: str) -> str:
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ConfigError(f"{what}: {path} cannot be read: {why}") from None
    if not token:
        raise ConfigError(f"{what}: {path} is empty")
    if not what.endswith("key_file") and len(token.split()) > 1:
        raise ConfigError(f"{what}: {path} holds more than a token", hint="leave nothing in it but the token")
    return token
