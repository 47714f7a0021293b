"""How a report ends: the closing transaction, the answer, and what should follow."""

from __future__ import annotations

from typing import Any

from devclaw_py.app import App
from devclaw_py.chat.text import plain
from devclaw_py.errors import Conflict
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.journal import AttemptChange, Closing, Intent, Wish
from devclaw_py.model.pipeline import Integration, Provider, Result, Role
from devclaw_py.model.project import Project
from devclaw_py.operations.shared import change_of, project_of, ref_of, seat_of
from devclaw_py.operations.steps import telling
from devclaw_py.rules import announce
from devclaw_py.rules.attempts import dev_attempts

SHOWN_COMMIT = 12
NEXT_ACTION = {Result.DONE: "qa_pickup", Result.FAIL: "dev_fix"}


def completed(app: App, intent: Intent) -> Closing:
    """Return the closing of a report that has moved its issue."""
    issue, attempt, role, tier, _ = seat_of(intent)
    project, facts = project_of(app, intent), intent.payload
    result = Result(facts["result"])
    wish, why_not = _follow_up(app, project, intent, result)
    made = [f"🔀 {facts['request']['url']}"] if result is Result.DONE and facts.get("request") else []
    told = _told(project, intent, result).noting(*made, *facts.get("warnings", ()), *([why_not] if why_not else []))
    answer: dict[str, Any] = {
        "success": True,
        "project": project.name,
        "groupId": intent.group_id,
        "issueId": issue,
        "role": role.value,
        "model": tier.value,
        "attempt": attempt,
        "result": result.value,
        "labelTransition": f"{intent.source} → {intent.target}",
        "announcement": plain(told),
    } | _what_else(intent, project, result)
    if wish is None and result in NEXT_ACTION:
        answer["nextAction"] = NEXT_ACTION[result]
    return Closing(
        facts=_audit_facts(intent, result, merged=merged_as(intent)),
        outbox=(telling(app, intent, "complete", told),),
        wish=wish,
        attempt=_ended(app, intent, reason=result.value, outcome=answer),
        answer=answer,
    )


def _told(project: Project, intent: Intent, result: Result) -> Announcement:
    facts, summary = intent.payload, intent.payload.get("summary", "")
    if facts.get("requested"):
        return announce.pass_undone(ref_of(intent), summary, facts["reason"], result)
    if result is Result.PASS and _merge_awaited(project):
        return announce.merge_awaited(ref_of(intent), summary, project.base_branch, project.integration)
    merged_into = project.base_branch if merged_as(intent) else None
    return announce.completed(ref_of(intent), seat_of(intent)[2], result, summary, merged_into=merged_into)


def _audit_facts(intent: Intent, result: Result, **more: object) -> dict[str, Any]:
    facts = {
        "role": intent.role,
        "tier": intent.tier,
        "attempt": intent.attempt,
        "result": result,
        "summary": intent.payload.get("summary", ""),
        "labelTransition": f"{intent.source} → {intent.target}",
        "requested": intent.payload.get("requested"),
        **more,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _what_else(intent: Intent, project: Project, result: Result) -> dict[str, Any]:
    """Return the fields that only some results have."""
    facts, found = intent.payload, {}
    for name in ("warnings", "requested", "reason", "paths", "commit", "pushed", "request"):
        if facts.get(name):
            found[name] = facts[name]
    if result is Result.PASS:
        found |= {"issueClosed": True, "merged": merged_as(intent)}
        if _merge_awaited(project):
            found |= {"integration": project.integration.value, "mergeAwaited": True}
    if result is Result.FAIL:
        found["issueReopened"] = True
    return found


def _merge_awaited(project: Project) -> bool:
    """Say whether somebody else merges what is Done; on a forge a pass waits until it is merged."""
    return project.integration is not Integration.DEVCLAW and project.provider is Provider.LOCAL


def merged_as(intent: Intent) -> str | None:
    """Return the merge commit that git or the forge has made, if any."""
    plan = intent.payload.get("plan") or {}
    found: str | None = intent.payload.get("mergedAs") or plan.get("commit")
    return found if intent.payload["result"] == Result.PASS else None


def _follow_up(app: App, project: Project, intent: Intent, result: Result) -> tuple[Wish | None, str | None]:
    """Return the pickup that should follow, or why none does although the project chains."""
    if not project.auto_chain or result not in NEXT_ACTION or intent.issue is None:
        return None, None
    now = app.clock.now()
    if result is Result.DONE:
        return Wish(group_id=intent.group_id, issue=intent.issue, role=Role.QA, at=now), None
    tries = app.store.journal.attempts(intent.group_id, intent.issue)
    used = dev_attempts(tries)
    if used >= app.settings.limits.attempts:
        return None, f"#{intent.issue} has had {used} dev attempts; only a person's pickup goes on with it."
    tier = next((a.tier for a in reversed(tries) if a.role is Role.DEV and a.accepted), None)
    return Wish(group_id=intent.group_id, issue=intent.issue, role=Role.DEV, tier=tier, at=now), None


def conflicted(app: App, intent: Intent) -> Closing:
    """Return the closing of a report that somebody's own move has beaten: theirs stays, the report is kept."""
    deleted, merged = intent.payload.get("deleted", False), intent.payload.get("merged")
    moved_to = " and ".join(intent.payload["movedTo"]) or "no state at all"
    done = "deleted" if deleted else f"moved to {moved_to}"
    kept = "in the audit log" if deleted else "as a comment on the issue"
    error = Conflict(
        f"issue #{intent.issue} was {done} by somebody while {intent.role} worked on it; theirs stays"
        + (
            f", and so does the merge of the tested work, {merged[:SHOWN_COMMIT]}, which was made before"
            if merged
            else ""
        ),
        hint=f"your report is kept {kept}; stop working on it",
    )
    told = announce.conflict(ref_of(intent), seat_of(intent)[2], None if deleted else moved_to)
    if merged:
        told = told.noting(f"Its tested work is merged into {project_of(app, intent).base_branch}: {merged}")
    row = telling(app, intent, "conflict", told)
    answer = failure(error) | ({"merged": merged} if merged else {})
    result = Result(intent.payload["result"])
    return Closing(
        facts=_audit_facts(intent, result, error=error.code, movedTo=moved_to, merged=merged),
        outbox=(row,),
        attempt=_ended(app, intent, reason="conflict", outcome=answer),
        answer=answer,
    )


def waiting(app: App, op: str, tool: str, reason: str) -> dict[str, Any]:
    """Return the answer of a call whose operation can only go forward and is parked: it ends by itself."""
    answer: dict[str, Any] = {"success": True, "pending": True, "reason": reason}
    intent = app.store.journal.intent(op)
    if intent is not None:
        issue = intent.issue or (intent.payload.get("created") or {}).get("number")
        known = {"project": intent.payload.get("project"), "groupId": intent.group_id, "issueId": issue}
        answer |= {name: value for name, value in known.items() if value}
    what = f"{tool} of #{answer['issueId']}" if "issueId" in answer else tool
    return answer | {"announcement": f"⏳ {what} waits: {reason}"}


def failure(error: Exception) -> dict[str, Any]:
    """Return the answer of a call that raised ``error``."""
    fields = {
        "code": getattr(error, "code", "internal"),
        "message": str(error),
        "retryable": getattr(error, "retryable", False),
        "hint": getattr(error, "hint", None),
    }
    if retry_at := getattr(error, "retry_at", None):
        fields["retryAt"] = retry_at.isoformat()
    return {"success": False, "error": {name: value for name, value in fields.items() if value is not None}}


def _ended(app: App, intent: Intent, *, reason: str, outcome: dict[str, Any]) -> AttemptChange:
    return change_of(intent, ended=app.clock.now(), reason=reason, outcome=outcome)
