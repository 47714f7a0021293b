"""What a token may do: GitLab tells the account's role and the token's scopes."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from devclaw_py.errors import TrackerAuth, TrackerDenied, TrackerError
from devclaw_py.model.finding import Finding, Severity
from devclaw_py.model.project import Forge
from devclaw_py.rules.labels import COLOURS
from devclaw_py.trackers.forge.client import segments
from devclaw_py.trackers.forge.poll import MANAGED
from devclaw_py.trackers.gitlab import labels
from devclaw_py.trackers.gitlab.client import GitLabClient
from devclaw_py.trackers.gitlab.shapes import RawProject, RawToken

FINDING = "tracker_gitlab"
DEVELOPER = 30
SOON = timedelta(days=7)

Told = tuple[str, str]


def resolve(client: GitLabClient, path: str) -> RawProject:
    """Return the project that is called ``path`` (with every group) now or was called so before it was moved.

    Raises:
        TrackerDenied: there is none that the token sees.
    """
    reply = client.ask("GET", segments("projects", path), f"find {path}", told=frozenset({301, 302, 307, 308}))
    if reply.status >= 300:
        number = reply.headers.get("location", "").partition("?")[0].rstrip("/").rpartition("/")[2]
        return client.read(RawProject, segments("projects", number), f"find {path}")
    return client.shaped(RawProject, reply)


def check(client: GitLabClient, forge: Forge, *, name: str) -> list[Finding]:
    """Return one finding for each right that the token lacks; one that is OK when it has all.

    Raises:
        TrackerError: the project cannot be asked at all.
    """
    try:
        client.login()
    except (TrackerAuth, TrackerDenied) as error:
        return _findings(Severity.CRITICAL, name, [(str(error), _instead(client))])
    found = client.read(RawProject, segments("projects", forge.id), f"read {forge.path}")
    wrong = [*_scope(client), *_state(found), *_role(found)]
    if not wrong:
        try:
            colours = {state.value: colour for state, colour in COLOURS.items()}
            labels.ensure(client, segments("projects", forge.id), colours)
        except TrackerDenied as denied:
            wrong.append((str(denied), denied.hint or ""))
    good = f"{found.path_with_namespace}: the token {client.fingerprint} has the rights that are needed"
    return _findings(Severity.CRITICAL, name, wrong) or _findings(Severity.OK, name, [(good, "")])


def diagnose(client: GitLabClient, forge: Forge, *, name: str) -> list[Finding]:
    """Return what doctor should say: reachability, state, role, labels, what is left of the budget. Writes nothing."""
    try:
        found = client.read(RawProject, segments("projects", forge.id), f"read {forge.path}")
        present = {label.name for label in labels.present_labels(client, segments("projects", forge.id))}
        bad, odd = [*_scope(client), *_state(found), *_role(found)], [*_expiry(client)]
    except TrackerError as error:
        critical = Severity.UNKNOWN if error.retryable else Severity.CRITICAL
        return _findings(critical, name, [(str(error), error.hint or "")])
    missing = [label for label in (*(state.value for state in COLOURS), MANAGED) if label not in present]
    if missing:
        lost = (
            f"{found.path_with_namespace} has no label {', '.join(missing)}: deleted or renamed since it was registered"
        )
        odd.append((lost, "rename it back, or run session_health with autoFix"))
    if found.path_with_namespace.casefold() != forge.path.casefold():
        moved = f"{forge.path} is called {found.path_with_namespace} now"
        odd.append((moved, "bring the git remote up to date"))
    _, hour = client.budget.left()
    good = (
        f"{found.path_with_namespace} answers; token {client.fingerprint}, {hour} of {client.pace.per_hour} writes left"
    )
    return [
        *_findings(Severity.CRITICAL, name, bad),
        *_findings(Severity.WARNING, name, odd),
        *_findings(Severity.OK, name, [(good, "")]),
    ]


def _findings(severity: Severity, name: str, told: list[Told]) -> list[Finding]:
    return [Finding(type=FINDING, severity=severity, message=text, mend=mend, project=name) for text, mend in told]


def _state(found: RawProject) -> Iterator[Told]:
    if found.archived:
        yield f"{found.path_with_namespace} is archived and cannot be written", "unarchive it on GitLab"
    if found.issues_access_level == "disabled":
        yield f"issues are switched off in {found.path_with_namespace}", "switch them on in the project's settings"
    if found.merge_requests_access_level == "disabled":
        text = f"merge requests are switched off in {found.path_with_namespace}"
        yield text, "switch them on in the project's settings"


def _role(found: RawProject) -> Iterator[Told]:
    if found.role < DEVELOPER:
        text = f"the account's role in {found.path_with_namespace} is below Developer: it may not push or merge"
        yield text, "give it the role Developer, or Maintainer where only those may merge into the base branch"


def _scope(client: GitLabClient) -> Iterator[Told]:
    token = _token(client)
    if token is not None and "api" not in token.scopes:
        scopes = ", ".join(token.scopes) or "none"
        yield f"the token {client.fingerprint} lacks the scope api (it has {scopes})", "make one with the scope api"


def _expiry(client: GitLabClient) -> Iterator[Told]:
    token = _token(client)
    ends = date.fromisoformat(token.expires_at) if token is not None and token.expires_at else None
    now: datetime = client.clock.now()
    if ends is not None and ends <= (now + SOON).date():
        yield f"the token {client.fingerprint} expires on {ends}", "rotate it before"


def _token(client: GitLabClient) -> RawToken | None:
    """Return what the token says of itself; one of OAuth says nothing."""
    told = frozenset({400, 401, 403, 404})
    reply = client.ask("GET", "/personal_access_tokens/self", "read the token's scopes", told=told)
    return client.shaped(RawToken, reply) if reply.status < 300 else None


def _instead(client: GitLabClient) -> str:
    kinds = "use a personal, project or group access token with the scope api"
    return f"a CI job's token cannot write issues: {kinds}" if client.is_job_token else kinds
