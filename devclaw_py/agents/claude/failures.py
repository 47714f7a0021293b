"""What an error of the API means for a worker, and when a usage limit ends: from Claude Code's own words, pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from devclaw_py.model.following import End

# The names that the event StopFailure has in 2.1.197 and 2.1.332. One that is not here is tried again: tries are few.
KINDS = {
    "authentication_failed": End.REFUSED,
    "oauth_org_not_allowed": End.REFUSED,
    "billing_error": End.REFUSED,
    "account_on_hold": End.REFUSED,
    "verification_required": End.REFUSED,
    "cloud_credential_error": End.REFUSED,
    "model_not_found": End.REFUSED,
    "invalid_request": End.REFUSED,
}
FULL = re.compile(r"prompt is too long|context limit reached", re.IGNORECASE)
# 402 and 400 come under the name "unknown".
REFUSED = re.compile(r"API Error: (400|401|402|403|404|413)\b|credit balance|monthly spend limit", re.IGNORECASE)
RESET = re.compile(
    r"\bresets?\s+(?:at\s+)?(?:(?P<month>[A-Z][a-z]{2})[a-z]*\.?\s+(?P<day>\d{1,2}),?\s+(?:at\s+)?)?"
    r"(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?\s*(?P<half>[ap]m)(?:\s*\((?P<zone>[A-Za-z0-9_+/-]+)\))?",
    re.IGNORECASE,
)
# How an older Claude Code says it: seconds since 1970 behind a bar.
STAMP = re.compile(r"limit reached\|(\d{10})\b", re.IGNORECASE)
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# No limit is longer than a week; what is further off was not understood.
LONGEST = timedelta(days=8)
# The words name minutes, and a reset may come a moment late.
MARGIN = timedelta(minutes=1)
# A time that was named a moment before it came is over; it is not that of the next day.
LATE = timedelta(minutes=30)
SPENT = 100


def kind(name: str, words: str, *, until: datetime | None) -> End:
    """Return what an error is to a worker. ``name`` is the event's, ``words`` all that it says."""
    if FULL.search(words):
        return End.FULL
    if name == "rate_limit":
        return End.LIMITED if until is not None else End.FAILED
    if name in KINDS:
        return KINDS[name]
    return End.REFUSED if name not in ("server_error", "overloaded") and REFUSED.search(words) else End.FAILED


def reset(words: str, *, at: datetime, local: tzinfo | None = None) -> datetime | None:
    """Return when the limit ends that ``words``, said at ``at``, are about; None when they name no time.

    ``resets 3pm (Europe/Berlin)``, ``resets Oct 9, 5:20pm``, ``limit reached|1796095800``. A clock time without a
    zone is in ``local``, the machine's own when None.
    """
    if stamp := STAMP.search(words):
        return _sane(datetime.fromtimestamp(int(stamp[1]), UTC), at)
    match = RESET.search(words)
    if match is None:
        return None
    zone = _zone(match["zone"]) or local
    said = at.astimezone(zone)
    hour, minute = int(match["hour"]) % 12 + (12 if match["half"].lower() == "pm" else 0), int(match["minute"] or 0)
    if int(match["hour"]) > 12 or minute > 59:
        return None
    found = said.replace(hour=hour, minute=minute, second=0, microsecond=0)
    if match["month"]:
        return _sane(_on(found, match["month"], int(match["day"]), said), at)
    return _sane(found if found >= said - LATE else found + timedelta(days=1), at)


def spent(usage: Mapping[str, Any], *, at: datetime) -> datetime | None:
    """Return when the used-up limit ends that the status line's payload tells of, the last of several; else None."""
    limits = usage.get("rate_limits")
    found = []
    for limit in limits.values() if isinstance(limits, Mapping) else ():
        if isinstance(limit, Mapping) and isinstance(limit.get("resets_at"), int | float):
            used = limit.get("used_percentage")
            if isinstance(used, int | float) and used >= SPENT:
                found.append(_sane(datetime.fromtimestamp(limit["resets_at"], UTC), at))
    return max((until for until in found if until is not None), default=None)


def _zone(name: str | None) -> tzinfo | None:
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError):
        return None


def _on(found: datetime, month: str, day: int, said: datetime) -> datetime | None:
    if month.lower() not in MONTHS:
        return None
    try:
        named = found.replace(month=MONTHS.index(month.lower()) + 1, day=day)
        return named if named >= said - LATE else named.replace(year=named.year + 1)
    except ValueError:
        return None


def _sane(found: datetime | None, at: datetime) -> datetime | None:
    if found is None or found - at > LONGEST:
        return None
    return max(found, at).astimezone(UTC) + MARGIN
