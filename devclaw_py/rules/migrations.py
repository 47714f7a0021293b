"""Older forms of the registry, turned into the present one. Nothing that was found is thrown away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from devclaw_py.model.pipeline import Role, State, Tier

TIER_ALIASES = {
    "haiku": Tier.JUNIOR.value,
    "sonnet": Tier.MEDIOR.value,
    "opus": Tier.SENIOR.value,
    "grok": Tier.QA.value,
    "mid": Tier.MEDIOR.value,
}
ALIASES = frozenset(TIER_ALIASES)
DEFAULT_TIERS = {"dev": Tier.MEDIOR.value, "qa": Tier.QA.value}
ROLE_ALIASES = {"developer": "dev", "dev": "dev", "tester": "qa", "qa": "qa"}

Entry = dict[str, Any]


def outdated(entry: Mapping[str, Any]) -> bool:
    """Say whether an entry has an older form."""
    if "autoChain" not in entry or _has_levels(entry):
        return True
    return _old_seat(entry.get("dev")) or _old_seat(entry.get("qa"))


def migrate(projects: Mapping[str, Entry]) -> dict[str, Entry]:
    """Return the projects in the present form, in the same order; entries that have it already are the same objects.

    An entry of the 1.6 form gets its first channel's id as its key. Where that key is taken it keeps its own, so
    that no project displaces another.
    """
    migrated: dict[str, Entry] = {}
    for key, entry in projects.items():
        wanted = _channel_key(entry) or key
        free = wanted == key or (wanted not in projects and wanted not in migrated)
        migrated[wanted if free else key] = migrate_entry(entry) if outdated(entry) else entry
    return migrated


def migrate_entry(entry: Mapping[str, Any]) -> Entry:
    """Return one entry in the present form; unknown fields are kept."""
    new = _from_workers(entry) if _has_levels(entry) else dict(entry)
    new.setdefault("autoChain", False)
    for name in DEFAULT_TIERS:
        seat = new.get(name)
        if seat is None:
            new[name] = empty(name)
        elif isinstance(seat, dict) and _old_seat(seat):
            new[name] = _seat(name, seat)
    return new


def empty(name: str) -> Entry:
    """Return an idle seat of a role."""
    return {
        "active": False,
        "issueId": None,
        "model": None,
        "sessions": {tier.value: None for tier in Tier if tier.role is Role(name)},
    }


def _has_levels(entry: Mapping[str, Any]) -> bool:
    """Say whether ``workers`` has the seats themselves, as the 1.6 form has; in the present form it has numbers."""
    workers = entry.get("workers")
    # A slip of somebody's hand in the present form has to be refused, and must not pass for the older one.
    return isinstance(workers, dict) and not any(isinstance(each, int | float | str) for each in workers.values())


def _old_seat(seat: object) -> bool:
    # Asked of every seat at each cold read of the registry: no more than a few look-ups.
    if not isinstance(seat, dict):
        return seat is None
    sessions, model = seat.get("sessions"), seat.get("model")
    if sessions is None or "sessionId" in seat:
        return True
    if isinstance(model, str) and model in TIER_ALIASES:
        return True
    return isinstance(sessions, dict) and not ALIASES.isdisjoint(sessions)


def _seat(name: str, seat: Mapping[str, Any]) -> Entry:
    new = {key: value for key, value in seat.items() if key != "sessionId"}
    new["model"] = _tier(seat.get("model"))
    found = seat.get("sessions")
    if found is not None and not isinstance(found, dict):
        # Of no form that ever was: left as it is, so that reading can say what stands there.
        return new
    sessions = dict(empty(name)["sessions"])
    for tier, key in (found or {}).items():
        sessions[_tier(tier)] = key or sessions.get(_tier(tier))
    if seat.get("sessionId"):
        tier = new["model"] or DEFAULT_TIERS[name]
        sessions[tier] = sessions.get(tier) or seat["sessionId"]
    new["sessions"] = sessions
    return new


def _tier(name: object) -> object:
    return TIER_ALIASES.get(name, name) if isinstance(name, str) else name


def _channels(entry: Mapping[str, Any]) -> list[Entry]:
    channels = entry.get("channels")
    return [channel for channel in channels if isinstance(channel, dict)] if isinstance(channels, list) else []


def _channel_key(entry: Mapping[str, Any]) -> str | None:
    if not _has_levels(entry):
        return None
    ids = (channel.get("channelId") or channel.get("groupId") for channel in _channels(entry))
    return next((str(found) for found in ids if found), None)


def _from_workers(entry: Mapping[str, Any]) -> Entry:
    new = {key: value for key, value in entry.items() if key != "workers"}
    others: Entry = {}
    for role, worker in entry["workers"].items():
        name = ROLE_ALIASES.get(role)
        if name is None or name in new or not isinstance(worker, dict) or not isinstance(worker.get("levels"), dict):
            others[role] = worker
        else:
            new.update(_from_levels(name, worker["levels"]))
    if others:
        # Roles that devclaw does not have; under another name, because "workers" is another thing now.
        new["otherWorkers"] = others
    channel = next((found.get("channel") for found in _channels(entry)), None)
    if isinstance(channel, str):
        new.setdefault("channel", channel)
    return new


def _from_levels(name: str, levels: Mapping[str, Any]) -> Entry:
    seat = empty(name)
    busy: list[Entry] = []
    for level, slots in levels.items():
        tier = Tier.QA.value if name == "qa" else _tier(level)
        for slot in (slot for slot in slots if isinstance(slot, dict)) if isinstance(slots, list) else ():
            seat["sessions"][tier] = seat["sessions"].get(tier) or slot.get("sessionKey")
            if slot.get("active"):
                busy.append(_busy(str(tier), slot))
    if not busy:
        return {name: seat}
    first, further = {**seat, **busy[0], "sessions": seat["sessions"]}, busy[1:]
    return {name: first, f"{name}Workers": further} if further else {name: first}


def _busy(tier: str, slot: Mapping[str, Any]) -> Entry:
    label = slot.get("previousLabel")
    known = label if label in {state.value for state in State} else None
    left = {"active", "issueId", "sessionKey", "startTime", "previousLabel"}
    return {
        "active": True,
        "issueId": slot.get("issueId"),
        "model": tier,
        "startTime": slot.get("startTime"),
        "sessions": {tier: slot.get("sessionKey")},
        "previousState": known,
        **{key: value for key, value in slot.items() if key not in left},
    }
