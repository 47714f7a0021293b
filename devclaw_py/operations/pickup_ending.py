"""How a pickup ends: the closing transaction and the answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.model.journal import AuditLine, Closing, Intent, Wish
from devclaw_py.model.pipeline import ContextAction, SessionAction
from devclaw_py.model.project import TMUX_KEY
from devclaw_py.operations.shared import change_of, ref_of, seat_of
from devclaw_py.operations.steps import line, telling
from devclaw_py.rules import announce


def picked_up(app: App, intent: Intent) -> Closing:
    """Return the closing of a pickup whose message the worker has accepted."""
    issue, attempt, role, tier, session = seat_of(intent)
    now, facts = app.clock.now(), intent.payload
    told = announce.picked_up(ref_of(intent), role, tier, SessionAction(facts["sessionAction"]))
    told = told.noting(*_about_context(intent))
    told = told.noting(*(f"Work of #{rescue['issue']} was saved to {rescue['ref']}" for rescue in facts["rescued"]))
    return Closing(
        facts={
            "role": role,
            "tier": tier,
            "attempt": attempt,
            "issueTitle": facts["title"],
            "sessionAction": facts["sessionAction"],
            "sessionKey": TMUX_KEY + session,
            "labelTransition": f"{intent.source} → {intent.target}",
            **_context(intent),
        },
        lines=tuple(_lines(app, intent)),
        outbox=(telling(app, intent, "pickup", told),),
        fulfilled=Wish(group_id=intent.group_id, issue=issue, role=role, at=now),
        attempt=change_of(intent, accepted=now, meter=facts.get("meter")),
        answer=_answer(app, intent) | _context(intent) | {"announcement": plain(told)},
    )


def _context(intent: Intent) -> dict[str, Any]:
    """Return the field that tells of the session's conversation, for a kind of agent that has one."""
    return {"context": intent.payload["context"]} if intent.payload.get("context") else {}


def _about_context(intent: Intent) -> Iterator[str]:
    """Yield what a group should know of it: a worker that has forgotten, or soon will be slow."""
    told = intent.payload.get("context") or {}
    action, used = told.get("action", ContextAction.KEEP), round((told.get("used") or 0) * 100)
    if action == ContextAction.FRESH:
        yield f"Its conversation used {used} % of its context; it goes on in a new one, with a hand-over note"
    elif action == ContextAction.COMPACT and told.get("compaction") == "done":
        yield f"Its conversation used {used} % of its context and was compacted"
    elif action == ContextAction.COMPACT:
        yield f"Its conversation uses {used} % of its context and could not be compacted"


def _lines(app: App, intent: Intent) -> Iterator[AuditLine]:
    _, _, role, tier, _ = seat_of(intent)
    facts = intent.payload
    yield line(
        app,
        intent,
        "model_selection",
        role=role,
        tier=tier,
        fullModel=facts["model"],
        source=facts["tierSource"],
        reason=facts["tierReason"],
    )
    yield from _cleaned(app, intent)


def _cleaned(app: App, intent: Intent) -> Iterator[AuditLine]:
    """Yield what was saved or removed at the desk, which no undo takes back."""
    facts = intent.payload
    if facts.get("rescued"):
        yield line(app, intent, "rescue", rescued=facts["rescued"])
    if facts.get("cleared"):
        yield line(app, intent, "git_lock_removed", paths=facts["cleared"])


def _answer(app: App, intent: Intent) -> dict[str, Any]:
    issue, attempt, role, tier, session = seat_of(intent)
    facts = intent.payload
    return {
        "success": True,
        "project": facts["project"],
        "groupId": intent.group_id,
        "issueId": issue,
        "issueTitle": facts["title"],
        "issueUrl": facts["url"],
        "role": role,
        "model": tier,
        "fullModel": facts["model"],
        "modelReason": facts["tierReason"],
        "modelSource": facts["tierSource"],
        "attempt": attempt,
        "sessionAction": facts["sessionAction"],
        "sessionKey": TMUX_KEY + session,
        "labelTransition": f"{intent.source} → {intent.target}",
        "branch": facts["standsOn"],
        "commit": facts["commit"],
    }


def put_back(app: App, intent: Intent) -> Closing:
    """Return the closing of a pickup of which nothing is left: its attempt is void."""
    return Closing(
        facts={"role": intent.role, "tier": intent.tier, "attempt": intent.attempt, "undone": True},
        lines=tuple(_cleaned(app, intent)),
        attempt=change_of(intent, ended=app.clock.now(), reason="void"),
    )
