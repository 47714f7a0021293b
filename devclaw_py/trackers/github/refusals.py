"""What GitHub means by an answer that is not the wished one: a pure table from answers to devclaw's errors."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from devclaw_py.errors import CommentRefused, TrackerAuth, TrackerDenied, TrackerError, TrackerUnavailable
from devclaw_py.kernel.secrets import scrub
from devclaw_py.trackers.forge.reply import Reply, retry_after
from devclaw_py.trackers.text import one_line

MESSAGE_CHARS = 300

GUIDE = "docs/guides/github.md lists the rights that a token needs"


def message_of(reply: Reply) -> str:
    """Return what GitHub says in an answer, with the details of a failed validation, on one line."""
    body = reply.body if isinstance(reply.body, dict) else {}
    said = [str(body.get("message") or f"status {reply.status}")]
    errors = body.get("errors")
    for error in errors if isinstance(errors, list) else ():
        if isinstance(error, dict):
            said.append(str(error.get("message") or " ".join(str(error.get(k, "")) for k in ("field", "code"))))
        else:
            said.append(str(error))
    return one_line("; ".join(said))[:MESSAGE_CHARS]


def codes_of(reply: Reply) -> set[str]:
    """Return the ``errors[].code`` of a failed validation."""
    errors = reply.body.get("errors") if isinstance(reply.body, dict) else None
    found = errors if isinstance(errors, list) else []
    return {str(error["code"]) for error in found if isinstance(error, dict) and "code" in error}


def paused_until(reply: Reply, now: datetime, *, otherwise_s: float) -> datetime | None:
    """Return until when no request is to be made, or None where the answer is about something else.

    A secondary limit that names no time holds for ``otherwise_s`` seconds.
    """
    if used_up(reply) and reply.status < 400:
        return _reset(reply.headers)
    if reply.status not in (403, 429):
        return None
    said = message_of(reply).lower()
    after = retry_after(reply.headers, now)
    if after is not None:
        return after
    if used_up(reply):
        return _reset(reply.headers) or now + timedelta(seconds=otherwise_s)
    if reply.status == 429 or "rate limit" in said or "abuse detection" in said:
        return now + timedelta(seconds=otherwise_s)
    return None


def used_up(reply: Reply) -> bool:
    """Whether the hour's requests are used up. Search and GraphQL, which devclaw does not use, count for themselves."""
    headers = reply.headers
    return headers.get("x-ratelimit-remaining") == "0" and headers.get("x-ratelimit-resource", "core") == "core"


def error_for(reply: Reply, wish: str, *, where: str, fingerprint: str, token: str = "") -> TrackerError:
    """Return the error of an answer that refuses ``wish``, without the token; limits are told apart before."""
    said = scrub(message_of(reply), [token])
    if reply.status == 401:
        return TrackerAuth(
            f"{where} does not accept the token with the fingerprint {fingerprint}: {said}",
            hint="give a token that is valid; every project of that token waits for it",
        )
    if reply.status == 403:
        return _forbidden(reply, wish, where, said)
    if reply.status >= 500:
        return TrackerUnavailable(f"{where} could not answer when asked to {wish}: {said}")
    if reply.status == 404:
        found = f"{where} has nothing to {wish}: it is gone, or the token {fingerprint} does not see it"
        return TrackerDenied(found, hint=GUIDE)
    if reply.status == 410:
        return TrackerDenied(f"{where} refused to {wish}: {said}", hint="switch issues on in the repository's settings")
    if reply.status in (301, 302, 303, 307, 308):
        found = f"{where} sent elsewhere the request to {wish}, which is not followed"
        return TrackerDenied(found, hint="register the project again where it is now")
    return TrackerDenied(f"{where} refused to {wish}: {said}")


def _forbidden(reply: Reply, wish: str, where: str, said: str) -> TrackerError:
    lower = said.lower()
    if "archived" in lower:
        return TrackerDenied(f"{where} is archived and cannot be written: {said}", hint="unarchive it on GitHub")
    if "locked" in lower:
        return CommentRefused(f"{where} refused to {wish}: {said}", hint="unlock the conversation on GitHub")
    if reply.headers.get("x-github-sso"):
        found = f"{where} refused to {wish}: the token is not authorized for the organisation's single sign-on"
        return TrackerDenied(found, hint="authorize the token for the organisation on GitHub")
    needed = reply.headers.get("x-accepted-github-permissions") or reply.headers.get("x-accepted-oauth-scopes")
    more = f" (needed: {needed})" if needed else ""
    return TrackerDenied(f"{where} refused to {wish}: {said}{more}", hint=GUIDE)


def _reset(headers: Mapping[str, str]) -> datetime | None:
    value = headers.get("x-ratelimit-reset", "")
    # One second more: in which part of it the reset falls is not said.
    return datetime.fromtimestamp(int(value) + 1, UTC) if value.isdecimal() else None
