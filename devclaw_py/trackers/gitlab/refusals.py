"""What GitLab means by an answer that is not the wished one: a pure table from answers to devclaw's errors."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from devclaw_py.errors import TrackerAuth, TrackerDenied, TrackerError, TrackerUnavailable
from devclaw_py.kernel.secrets import scrub
from devclaw_py.trackers.forge.reply import Reply, retry_after
from devclaw_py.trackers.text import one_line

MESSAGE_CHARS = 300

GUIDE = "docs/guides/gitlab.md lists the rights that a token needs"


def message_of(reply: Reply) -> str:
    """Return what GitLab says in an answer, on one line: a text, a list, or texts by field."""
    body = reply.body if isinstance(reply.body, dict) else {}
    said = body.get("message") or body.get("error") or f"status {reply.status}"
    if body.get("error_description"):
        said = f"{said}: {body['error_description']}"
    return one_line(_flat(said))[:MESSAGE_CHARS]


def _flat(said: object) -> str:
    if isinstance(said, dict):
        return "; ".join(f"{key} {_flat(value)}" for key, value in said.items())
    return ", ".join(map(_flat, said)) if isinstance(said, list) else str(said)


def paused_until(reply: Reply, now: datetime, *, otherwise_s: float) -> datetime:
    """Return until when no request is to be made, of an answer that says there were too many."""
    after = retry_after(reply.headers, now)
    if after is not None:
        return after
    reset = reply.headers.get("ratelimit-reset", "")
    at = datetime.fromtimestamp(int(reset) + 1, UTC) if reset.isdecimal() else now
    return at if at > now else now + timedelta(seconds=otherwise_s)


def error_for(reply: Reply, wish: str, *, where: str, fingerprint: str, token: str = "") -> TrackerError:
    """Return the error of an answer that refuses ``wish``, without the token; limits are told apart before."""
    said = scrub(message_of(reply), [token])
    if reply.status == 401:
        return TrackerAuth(
            f"{where} does not accept the token with the fingerprint {fingerprint}: {said}",
            hint="give a token that is valid; a CI job's cannot write issues",
        )
    if reply.status >= 500:
        return TrackerUnavailable(f"{where} could not answer when asked to {wish}: {said}")
    if reply.status == 404:
        found = f"{where} has nothing to {wish}: it is gone, or the token {fingerprint} does not see it"
        return TrackerDenied(found, hint=GUIDE)
    if 300 <= reply.status < 400:
        found = f"{where} sent elsewhere the request to {wish}, which is not followed"
        return TrackerDenied(found, hint="register the project again where it is now")
    if reply.status == 403 and "insufficient_scope" in said:
        return TrackerDenied(f"{where} refused to {wish}: the token lacks the scope api: {said}", hint=GUIDE)
    if reply.status == 403:
        hint = f"the project may be archived, its issues switched off, or the role too low: {GUIDE}"
        return TrackerDenied(f"{where} refused to {wish}: {said}", hint=hint)
    return TrackerDenied(f"{where} refused to {wish}: {said}")
