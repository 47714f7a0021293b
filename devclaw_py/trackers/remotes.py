"""Which tracker a repository is on, read from the addresses of its git remotes. Nothing is guessed.

Only addresses are read here; what a host without a known name is, `probe` asks it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from devclaw_py.errors import ConfigError
from devclaw_py.kernel import proc
from devclaw_py.model.pipeline import Provider
from devclaw_py.model.settings import Settings

GITHUB, GITLAB, DATA_RESIDENCY = "github.com", "gitlab.com", ".ghe.com"
ORIGIN = "origin"

# git@host:path and [::1]:path, but neither C:\x nor ./x nor /x, which are folders.
SCP = re.compile(r"^(?:(?P<user>[^@/\s:]+)@)?(?P<host>\[[0-9a-fA-F:]+\]|[^/\s:@]+):(?!//)(?P<path>.+)$")
DRIVE = re.compile(r"^[A-Za-z]:[\\/]")
SCHEME = re.compile(r"^[a-z][a-z0-9+.-]*://", re.IGNORECASE)

# Names under which ssh is served on port 443.
FRONTS = {"ssh.github.com": GITHUB, "altssh.gitlab.com": GITLAB, "altssh.bitbucket.org": "bitbucket.org"}
SSH_S = 5.0


@dataclass(frozen=True)
class Address:
    """Where a remote leads: no user and no password, so that it may be shown. An ssh port says nothing of the web's."""

    scheme: str
    host: str
    port: int | None
    path: str

    @property
    def web(self) -> str:
        """The address of the host's web pages, without a path."""
        scheme = "http" if self.scheme == "http" else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = f":{self.port}" if self.port and self.scheme in ("http", "https") else ""
        return f"{scheme}://{host}{port}"


@dataclass(frozen=True)
class Known:
    """A forge that the settings or its own name tell: its web address with its relative root."""

    provider: Provider
    web: str

    @property
    def host(self) -> str:
        """The name of its host."""
        return urlsplit(self.web).hostname or ""

    @property
    def root(self) -> str:
        """The path below which it lives, without slashes around it; mostly empty."""
        return urlsplit(self.web).path.strip("/")


@dataclass(frozen=True)
class Place:
    """A repository on a forge: ``web`` is the forge's address, ``path`` the repository's full name."""

    provider: Provider
    host: str
    web: str
    path: str

    @property
    def api(self) -> str:
        """The address of the forge's interface."""
        if self.provider is Provider.GITLAB:
            return f"{self.web}/api/v4"
        if self.host == GITHUB:
            return "https://api.github.com"
        if self.host.endswith(DATA_RESIDENCY):
            return f"https://api.{self.host}"
        return f"{self.web}/api/v3"


def parse(text: str) -> Address | None:
    """Return where a remote's address leads, or None for a folder and for a path of one part.

    >>> parse("ssh://git@git.corp.example:2222/grp/sub/w.git")
    Address(scheme='ssh', host='git.corp.example', port=2222, path='grp/sub/w')
    """
    text = text.strip()
    if SCHEME.match(text):
        try:
            url = urlsplit(text)
            host, port = url.hostname, url.port
        except ValueError:
            return None
        scheme, path = url.scheme.lower().removeprefix("git+"), unquote(url.path)
    else:
        found = SCP.match(text)
        if found is None or DRIVE.match(text) or text.startswith((".", "/")):
            return None
        scheme, host, port, path = "ssh", found["host"].strip("[]"), None, found["path"]
    path = re.sub(r"/+", "/", path).strip("/").removesuffix(".git")
    if scheme == "file" or not host or "/" not in path:
        return None
    return Address(scheme, host.lower(), port, path)


def shown(text: str) -> str:
    """Return a remote's address for people: without the user and the password that may stand in it.

    >>> shown("https://x-access-token:tok@github.com/acme/widgets.git")
    'https://github.com/acme/widgets'
    """
    address = parse(text)
    if address is None:
        return re.sub(r"//[^/@\s]*@", "//", text)
    return f"{address.web}/{address.path}"


def choose(addresses: Mapping[str, str], *, wanted: str | None, tracked: str | None) -> tuple[str, str]:
    """Return name and address of the remote that is meant; ``wanted`` is a remote's name, or an address.

    An address that no remote has is taken as it is, under the name of the remote that would be meant without it.

    Raises:
        ConfigError: there is none, or several and none that is obvious; names them and the argument to give.
    """
    if wanted is not None and wanted in addresses:
        return wanted, addresses[wanted]
    if wanted is not None and parse(wanted) is None:
        raise ConfigError(
            f"the repository has no remote {shown(wanted)}; it has {_listed(addresses)}",
            hint="give one of them as remote, or the whole address",
        )
    if wanted is not None:
        same = [name for name, address in addresses.items() if shown(address) == shown(wanted)]
        return (same or [name_of(addresses, tracked) or ORIGIN])[0], wanted

    name = name_of(addresses, tracked)
    if name is None and addresses:
        raise ConfigError(
            f"the repository has several remotes and none is called {ORIGIN}: {_listed(addresses)}",
            hint="say whose issues are meant: give remote, or provider local",
        )
    if name is None:
        raise ConfigError(
            "the repository has no remote, so nothing says where its issues are",
            hint="git remote add origin URL, or give the address as remote, or provider local",
        )
    return name, addresses[name]


def name_of(addresses: Mapping[str, str], tracked: str | None) -> str | None:
    """Return the remote that the branch follows, else origin, else the only one."""
    only = next(iter(addresses)) if len(addresses) == 1 else None
    return next((name for name in (tracked, ORIGIN, only) if name in addresses), None)


def _listed(addresses: Mapping[str, str]) -> str:
    return ", ".join(f"{name} ({shown(address)})" for name, address in addresses.items()) or "none"


def known_forges(settings: Settings) -> tuple[Known, ...]:
    """Return the forges that are known without asking them, those of the settings first."""
    told = [Known(Provider.GITHUB, _web(host)) for host in settings.github.hosts]
    told += [Known(Provider.GITLAB, _web(host)) for host in settings.gitlab.hosts]
    return (*told, Known(Provider.GITHUB, _web(GITHUB)), Known(Provider.GITLAB, _web(GITLAB)))


def _web(host: str) -> str:
    return (host if "://" in host else f"https://{host}").rstrip("/").lower()


def real(address: Address) -> Address:
    """Return the address with the name behind an alias of ~/.ssh/config; only ssh URLs have such."""
    host = _ssh_name(address.host) if address.scheme == "ssh" else address.host
    return Address(address.scheme, FRONTS.get(host, host), address.port, address.path)


def _ssh_name(alias: str) -> str:
    if alias.startswith("-"):
        return alias
    try:
        told = proc.run(["ssh", "-G", alias], timeout_s=SSH_S).out
    except proc.NotAnswered:
        return alias
    found = re.search(r"^hostname (.+)$", told, re.MULTILINE)
    return found[1].strip().lower() if found else alias


def locate(address: Address, forges: Sequence[Known], ask: Callable[[Address], Known | None]) -> Place | None:
    """Return the repository's place on a forge, or None when its host is none that devclaw knows.

    ``ask`` finds out what an unknown host is.
    """
    known = next((forge for forge in forges if _leads_to(address, forge)), None)
    if known is None and address.host.endswith(DATA_RESIDENCY):
        known = Known(Provider.GITHUB, _web(address.host))
    known = known or ask(address)
    if known is None:
        return None
    path = address.path
    if known.root and path.lower().startswith(f"{known.root}/"):
        path = path[len(known.root) + 1 :]
    return Place(known.provider, known.host, known.web, path) if "/" in path else None


def _leads_to(address: Address, forge: Known) -> bool:
    """Say whether an address is on a forge: by its name, by its port where both have one of the web, by its root."""
    if forge.host != address.host:
        return False
    if address.scheme not in ("http", "https"):
        return True
    return _port(forge.web) == _port(address.web) and f"{address.path}/".lower().startswith(
        f"{forge.root}/" if forge.root else ""
    )


def _port(web: str) -> int:
    url = urlsplit(web)
    return url.port or (80 if url.scheme == "http" else 443)
