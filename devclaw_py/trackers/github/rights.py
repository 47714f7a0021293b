"""What a token may do, tried out, because GitHub tells the account's role and not what the token was narrowed to.

Each probe asks for something that cannot be, so that whoever may do it is told 422 and nothing has happened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from devclaw_py.errors import TrackerDenied, TrackerError
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.project import Forge
from devclaw_py.rules.labels import COLOURS
from devclaw_py.trackers.forge.budget import Spend
from devclaw_py.trackers.forge.client import segments
from devclaw_py.trackers.github.client import Client
from devclaw_py.trackers.github.labels import Labels
from devclaw_py.trackers.github.shapes import RawRepository

FINDING = "tracker_github"

NOWHERE = "devclaw/rights-check-no-such-branch"
NO_COMMIT = "0" * 40

INVALID = frozenset({404, 409, 422})


def resolve(client: Client, path: str) -> RawRepository:
    """Return the repository that is called ``path`` (``owner/name``) now or was called so before it was renamed.

    Raises:
        TrackerDenied: there is none that the token sees.
    """
    address = segments("repos", *path.split("/"))
    reply = client.ask("GET", address, f"find {path}", told=frozenset({301}))
    if reply.status == 301:
        number = reply.headers.get("location", "").rstrip("/").rpartition("/")[2]
        return client.read(RawRepository, segments("repositories", number), f"find {path}")
    return client.shaped(RawRepository, reply)


def check(client: Client, forge: Forge, labels: Labels, *, name: str) -> list[Finding]:
    """Return one finding for each right that the token lacks; one that is OK when it has all.

    Raises:
        TrackerError: the repository cannot be asked at all.
    """
    found = client.read(RawRepository, segments("repositories", forge.id), f"read {forge.path}")
    wrong = [*_state(found), *_role(found)]
    for right, probe in _probes(client, found, labels):
        try:
            probe()
        except TrackerDenied as denied:
            wrong.append((f"the right {right} is missing: {denied}", "give it to the token"))
    if not wrong:
        text = f"{found.full_name}: the token {client.fingerprint} has the rights that are needed"
        return [Finding(type=FINDING, severity=Severity.OK, message=text, project=name)]
    return [
        Finding(type=FINDING, severity=Severity.CRITICAL, message=text, mend=mend, project=name) for text, mend in wrong
    ]


def diagnose(client: Client, forge: Forge, labels: Labels, *, name: str) -> list[Finding]:
    """Return what doctor should say: reachability, state, role, labels, what is left of the budget. Writes nothing."""
    try:
        found = client.read(RawRepository, segments("repositories", forge.id), f"read {forge.path}")
        missing = labels.missing()
    except TrackerError as error:
        critical = Severity.UNKNOWN if error.retryable else Severity.CRITICAL
        return [Finding(type=FINDING, severity=critical, message=str(error), mend=error.hint or "", project=name)]
    bad = [*_state(found), *_role(found)]
    odd = [_lost(label, new) for label, new in missing.items()]
    if found.full_name.casefold() != forge.path.casefold():
        odd.append((f"{forge.path} is called {found.full_name} now", "bring the git remote up to date"))
    findings = [
        Finding(type=FINDING, severity=severity, message=text, mend=mend, project=name)
        for severity, several in ((Severity.CRITICAL, bad), (Severity.WARNING, odd))
        for text, mend in several
    ]
    _, hour = client.budget.left()
    text = f"{found.full_name} answers; token {client.fingerprint}, {hour} of {client.pace.per_hour} writes left"
    return [*findings, Finding(type=FINDING, severity=Severity.OK, message=text, project=name)]


def _state(found: RawRepository) -> Iterator[tuple[str, str]]:
    if found.archived:
        yield f"{found.full_name} is archived and cannot be written", "unarchive it on GitHub"
    if found.disabled:
        yield f"{found.full_name} is disabled by GitHub", "ask its owner"
    if not found.has_issues:
        yield f"issues are switched off in {found.full_name}", "switch them on in the repository's settings"


def _role(found: RawRepository) -> Iterator[tuple[str, str]]:
    if found.permissions is not None and not (found.permissions.push or found.permissions.admin):
        # Without it GitHub makes issues and leaves their labels off, without a word.
        yield f"the account has no write role in {found.full_name}", "give it the role Write"


def _lost(label: str, new: str | None) -> tuple[str, str]:
    if new is None:
        return f"the label {label} was deleted, and with it taken off every issue", "run session_health with autoFix"
    return f"the label {label} was renamed to {new}, which is no state", f"rename it back to {label}"


def _probes(client: Client, found: RawRepository, labels: Labels) -> Iterator[tuple[str, Callable[[], object]]]:
    path = segments("repositories", found.id)

    def ask(method: str, below: str, wish: str, body: object = None) -> Callable[[], object]:
        spend = Spend.READ if method == "GET" else Spend.BEGIN
        return lambda: client.ask(method, path + below, wish, spend=spend, body=body, told=INVALID)

    request = {"title": "rights check", "head": NOWHERE, "base": found.default_branch}
    ref = {"ref": f"refs/heads/{NOWHERE}", "sha": NO_COMMIT}
    checks = segments("commits", found.default_branch, "check-runs")
    yield "issues: write", lambda: labels.ensure({state.value: colour for state, colour in COLOURS.items()})
    yield "pull requests: write", ask("POST", "/pulls", "open a pull request", request)
    yield "contents: write", ask("POST", "/git/refs", "push", ref)
    yield "checks: read", ask("GET", checks, "read checks")
    yield "commit statuses: read", ask("GET", segments("commits", found.default_branch, "status"), "read statuses")
