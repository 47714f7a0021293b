"""Who may call what: checked once, at the door, before a tool runs."""

from __future__ import annotations

from collections.abc import Iterable

from devclaw_py.errors import InvalidArguments, NotAllowed
from devclaw_py.model.caller import Caller, CallerKind

WORKER_TOOLS = frozenset({"task_complete", "task_comment", "task_create", "task_context", "queue_status"})
OWN_ISSUE_TOOLS = frozenset({"task_complete", "task_comment", "task_context"})


def bind_group(caller: Caller, tool: str, group_id: str | None, *, needed: bool) -> str | None:
    """Return the group that the call is about; the caller's own where it may be left out.

    Raises:
        NotAllowed: the caller is bound to another group.
        InvalidArguments: a group is needed and neither named nor bound.
    """
    if caller.group_id is not None:
        if group_id not in (None, caller.group_id):
            raise NotAllowed(
                f"{caller} belongs to group {caller.group_id} and cannot call {tool} for group {group_id}",
                hint="leave projectGroupId out",
            )
        return caller.group_id
    if group_id is None and needed:
        raise InvalidArguments(
            f"{tool} needs projectGroupId, the id of the chat group", hint="devclaw project list shows the ids"
        )
    return group_id


def check_caller(
    caller: Caller, tool: str, *, role: str | None, issue: int | None, own_issues: Iterable[int], picks_up: bool
) -> None:
    """Refuse what a worker may not do; every other caller may use every tool of its group.

    ``own_issues`` are the issues that the worker's session holds or held.

    Raises:
        NotAllowed: see above.
    """
    if caller.kind is not CallerKind.WORKER:
        return
    if tool not in WORKER_TOOLS:
        raise NotAllowed(
            f"a worker cannot call {tool}", hint="report with task_complete; the orchestrator does the rest"
        )
    if picks_up:
        raise NotAllowed("a worker cannot pick a task up", hint="call task_create without pickup")
    if tool == "task_complete" and role not in (None, caller.role):
        raise NotAllowed(f"{caller.session} works as {caller.role} and cannot report for {role}")
    if tool in OWN_ISSUE_TOOLS and issue is not None and issue not in set(own_issues):
        raise NotAllowed(
            f"issue #{issue} is not a task of {caller.session}", hint="name the issue of your task message"
        )
