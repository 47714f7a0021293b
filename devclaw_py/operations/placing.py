"""Where a new project's issues live: on the forge of its remote, or locally. Nothing is guessed, and why is said."""

from __future__ import annotations

from devclaw_py.app import App
from devclaw_py.errors import ConfigError, NoCredentials, TrackerDenied
from devclaw_py.model.finding import Severity
from devclaw_py.model.pipeline import Provider
from devclaw_py.model.project import Project
from devclaw_py.trackers.remotes import Place, choose, shown

# Reasons that nobody needs to be told: it is as they have it.
ASKED, NO_REMOTE = "provider local was asked for", "the repository has no remote"


def placed(app: App, wanted: Project, *, provider: Provider | None, remote: str | None) -> tuple[Project, str]:
    """Return the project with its provider and its forge, and why it is that one; None leaves the choice.

    The choice is a forge where the remote is on one and there are credentials for it, else the local tracker. A
    forge that refuses is an error and no reason to keep issues elsewhere.

    Raises:
        ConfigError: no remote, or several and none that is obvious, or a host that is no forge.
        NoCredentials: a forge was asked for.
        TrackerDenied: rights are missing; names each.
    """
    if provider is Provider.LOCAL:
        return wanted, ASKED
    remotes = app.work.remotes(wanted)
    if provider is None and not remotes.addresses and remote is None:
        return wanted, NO_REMOTE

    name, address = choose(remotes.addresses, wanted=remote, tracked=remotes.tracked)
    place = app.forges.locate(address, wanted=provider)
    if place is None or (provider is not None and place.provider is not provider):
        if provider is None:
            return wanted, f"{name} ({shown(address)}) is on no GitHub or GitLab"
        is_on = f"is on {place.provider}" if place is not None else "is no address of a forge"
        raise ConfigError(f"provider {provider} was asked for, and {name} ({shown(address)}) {is_on}")
    try:
        app.forges.keyring.need(place.provider, place.host)
    except NoCredentials as missing:
        if provider is not None:
            raise
        return wanted, f"{name} is on {place.host}, but {missing}; issues are kept locally"
    return _entered(app, wanted, place, name), f"{name} is on {place.host}"


def _entered(app: App, wanted: Project, place: Place, remote: str) -> Project:
    forge = app.forges.resolve(place, remote=remote)
    project = wanted.model_copy(update={"provider": place.provider, "forge": forge})
    lacking = [found for found in app.forges.rights(project) if found.severity is Severity.CRITICAL]
    if lacking:
        raise TrackerDenied(
            f"{forge.path} on {forge.host} cannot be used: {'; '.join(found.message for found in lacking)}",
            hint="; ".join(dict.fromkeys(found.mend for found in lacking if found.mend)) or None,
        )
    return project
