"""Every tool, and the one door through which all are called.

The command line, MCP, the OpenClaw manifest and docs/reference/tools.md follow `ALL`.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from devclaw_py.app import App
from devclaw_py.chat.notify import SilentNotifier
from devclaw_py.chat.pump import pump
from devclaw_py.errors import Conflict, DevClawError, Internal, InvalidArguments
from devclaw_py.model.caller import Caller, CallerKind
from devclaw_py.model.journal import AuditLine
from devclaw_py.model.project import Seat
from devclaw_py.operations.asking import ask_on
from devclaw_py.operations.ending import failure, waiting
from devclaw_py.operations.following import follow
from devclaw_py.operations.recovery import check_unanswered, whole
from devclaw_py.operations.sending import speak_on
from devclaw_py.operations.steps import NO_GROUP, Answered, Call, Waits
from devclaw_py.operations.wishes import carry_out, new_op
from devclaw_py.rules.arguments import GROUP_CHARS
from devclaw_py.rules.callers import bind_group, check_caller
from devclaw_py.tools import (
    devclaw_setup,
    project_mode,
    project_register,
    project_update,
    queue_status,
    session_answer,
    session_health,
    session_send,
    task_comment,
    task_complete,
    task_context,
    task_create,
    task_pickup,
    task_update,
)
from devclaw_py.tools.base import Args, Group, GroupArgs, Tool

ALL = (
    task_pickup.TOOL,
    task_complete.TOOL,
    task_create.TOOL,
    task_update.TOOL,
    task_comment.TOOL,
    task_context.TOOL,
    queue_status.TOOL,
    session_health.TOOL,
    session_send.TOOL,
    project_register.TOOL,
    project_update.TOOL,
    project_mode.TOOL,
    devclaw_setup.TOOL,
    session_answer.TOOL,
)
TOOLS: dict[str, Tool] = {tool.name: tool for tool in ALL}

# Under which name a tool's answer carries the pickup that followed it.
FOLLOWED = {"task_complete": "autoChain", "task_create": "pickup"}

# How much of a name that is not ours a message and the log show.
SHOWN_CHARS = 40

# Facts of an answer that its audit line repeats when the tool has no operation of its own.
AUDITED = (
    "changed",
    "counts",
    "healthy",
    "issuesFound",
    "fixesApplied",
    "pending",
    "reason",
    "result",
    "repeated",
    "session",
    "waits",
    "textPreview",
    "questionId",
    "answers",
)


def call(app: App, name: str, arguments: Mapping[str, Any], caller: Caller, *, op: str | None = None) -> dict[str, Any]:
    """Check the arguments and the caller, run the tool, leave one audit line, carry out what should follow.

    Always answers one JSON object; a failure is one with ``success`` false. ``op`` is the id of the operation, for a
    face that has to name it before it ends.
    """
    context = Call(op=op or new_op(), tool=name[:SHOWN_CHARS], caller=caller, at=app.clock.now())
    args = None
    try:
        tool = _find(name)
        args = _bind(_parse(tool, arguments), tool, caller)
        _check(app, tool, args, caller)
        answer = _run(app, tool, args, context)
        if _group(args, arguments) is None:
            _keep(app, context, answer, NO_GROUP)
    except DevClawError as error:
        answer = failure(error)
    except Exception as error:  # noqa: BLE001 - the door is where a bug becomes an answer; its trace goes to the log
        answer = failure(_bug(name, error))
    if context.settled:
        answer["settled"] = context.settled
    group_id = _group(args, arguments) or answer.get("groupId")
    with _warning(answer):
        # Noted first: whoever ends an operation that was left open must write another line, not this one again.
        app.store.journal.set_lined(context.op)
        app.store.audit.append_once(_line(app, context, answer, group_id=group_id, issue=_issue(args, answer)))
    if args is not None and group_id is not None and _leads_on(app, tool, args, answer):
        _follow(app, context, answer, group_id)
    return answer


@contextmanager
def _warning(answer: dict[str, Any]) -> Iterator[None]:
    """Let what is done stand: what fails afterwards is a warning of its answer, never its failure."""
    try:
        yield
    except DevClawError as error:
        answer["warning"] = str(error)
    except Exception as error:  # noqa: BLE001 - a bug in what follows must not hide what was done
        answer["warning"] = str(_bug("what follows", error))


def _run(app: App, tool: Tool, args: Args, context: Call) -> dict[str, Any]:
    """Run the tool, unless its request id has an answer."""
    context.request_id = getattr(args, "request_id", None)
    try:
        check_unanswered(app, getattr(args, "project_group_id", None) or NO_GROUP, context)
        return tool.run(app, context, args)
    except Answered as answered:
        return {**answered.answer, "repeated": True}
    except Waits as waits:
        return waiting(app, context.op, context.tool, str(waits))


def _bug(name: str, error: Exception) -> Internal:
    traceback.print_exception(error, file=sys.stderr)
    return Internal(f"{name} met a bug: {type(error).__name__}: {error}; its trace is on stderr")


def _may_free_a_seat(answer: Mapping[str, Any]) -> bool:
    return answer["success"] or "settled" in answer or answer["error"]["code"] == Conflict.code


def _group(args: Args | None, arguments: Mapping[str, Any]) -> str | None:
    """Return the call's group; of refused arguments only what looks like one."""
    if args is not None:
        return getattr(args, "project_group_id", None)
    given = arguments.get("projectGroupId") if isinstance(arguments, Mapping) else None
    return given if isinstance(given, str) and 0 < len(given) <= GROUP_CHARS else None


def _find(name: str) -> Tool:
    if name not in TOOLS:
        raise InvalidArguments(f"there is no tool {name[:SHOWN_CHARS]!r}; there are {', '.join(TOOLS)}")
    return TOOLS[name]


def _parse(tool: Tool, arguments: Mapping[str, Any]) -> Args:
    if not isinstance(arguments, Mapping):
        raise InvalidArguments(f"{tool.name}: the arguments must be one JSON object, not {type(arguments).__name__}")
    try:
        return tool.args.model_validate(dict(arguments))
    except ValidationError as error:
        told = "; ".join(_complaint(found) for found in error.errors(include_url=False))
        allowed = ", ".join(field.alias or name for name, field in tool.args.model_fields.items())
        raise InvalidArguments(f"{tool.name}: {told}", hint=f"parameters: {allowed}") from None


def _complaint(found: ErrorDetails) -> str:
    where = ".".join(str(part)[:SHOWN_CHARS] for part in found["loc"]) or "arguments"
    message = found["msg"].removeprefix("Value error, ")
    if found["type"] == "extra_forbidden":
        return f"{where}: there is no such parameter"
    return f"{where}: {message[:1].lower()}{message[1:]}"


def _bind(args: Args, tool: Tool, caller: Caller) -> Args:
    if tool.group is Group.NONE or not isinstance(args, GroupArgs):
        return args
    needed = tool.group is Group.NEEDED
    group_id = bind_group(caller, tool.name, args.project_group_id, needed=needed)
    return args.model_copy(update={"project_group_id": group_id})


def _check(app: App, tool: Tool, args: Args, caller: Caller) -> None:
    own = _own_issues(app, caller, caller.group_id) if caller.group_id and caller.kind is CallerKind.WORKER else set()
    check_caller(
        caller,
        tool.name,
        role=getattr(args, "role", None),
        issue=getattr(args, "issue_id", None),
        own_issues=own,
        picks_up=bool(getattr(args, "pickup", False)),
    )


def _own_issues(app: App, caller: Caller, group_id: str) -> set[int]:
    """Return the issues that the worker's session holds or held; a seat counts although the journal was lost."""
    own = {a.issue for a in app.store.journal.attempts(group_id) if a.session == caller.session}
    with suppress(DevClawError):  # a registry that cannot be read must not refuse a report
        seats = app.store.registry.get(group_id).seats().values()
        own |= {seat.issue for seat in seats if seat.issue and seat.tier and caller.session in _sessions(seat)}
    return own


def _sessions(seat: Seat) -> tuple[str | None, ...]:
    """Return what the current session of a seat is called: by its name, or by the key that a gateway knows it by."""
    return (seat.session(seat.tier), seat.sessions.get(seat.tier.value)) if seat.tier else ()


def _changes(tool: Tool, args: Args) -> bool:
    """Whether the call may have changed a project; a session_health without autoFix only looks."""
    return tool.writes and getattr(args, "auto_fix", True) is not False


def _leads_on(app: App, tool: Tool, args: Args, answer: Mapping[str, Any]) -> bool:
    """Whether something may follow the call: a seat may be free, and the settings say how to go on."""
    return app.unusable is None and _changes(tool, args) and _may_free_a_seat(answer)


def _follow(app: App, context: Call, answer: dict[str, Any], group_id: str) -> None:
    """Carry out the wishes of the project, tell its group, and keep the whole answer under its request id."""
    with _warning(answer):
        # Before the next task: a message may be about what was just done.
        speak_on(app, group_id)
        ask_on(app, group_id)
        if urged := follow(app, group_id, caller=context.caller, own_session=context.caller.session):
            answer["urged"] = urged
        for outcome in carry_out(app, group_id, own_session=context.caller.session):
            _add(context, answer, outcome)
        pump(app.store, app.notifier, app.clock, caller=context.caller, group_id=group_id)
        if "announcement" in answer and not isinstance(app.notifier, SilentNotifier):
            # Sent, or in the outbox to be sent: whoever called must not post it as well.
            answer["announced"] = bool(answer.get("repeated")) or app.store.journal.announced(context.op)
    _keep(app, context, answer, group_id)


def _keep(app: App, context: Call, answer: dict[str, Any], group_id: str) -> None:
    """Keep the whole answer under the call's request id; of no group those of the whole workspace."""
    if context.request_id is not None and answer["success"] and not (answer.get("repeated") or answer.get("pending")):
        app.store.journal.keep_answer(group_id, whole(context.request_id), answer)


def _add(context: Call, answer: dict[str, Any], outcome: dict[str, Any]) -> None:
    """Put a pickup that followed, or has to wait, into the answer and its announcement."""
    key = FOLLOWED.get(context.tool)
    own = key is not None and outcome["issueId"] == answer.get("issueId")
    said = key is not None and isinstance(answer.get(key), dict)  # by the first answer, which this one repeats
    if own and said and not outcome["dispatched"]:
        return
    if key is not None and own and not said:
        answer[key] = outcome
    else:
        answer.setdefault("followed", []).append(outcome)
    if "announcement" not in answer:
        return
    if outcome["dispatched"]:
        answer["announcement"] += "\n" + outcome["announcement"].partition("\n")[0]
    elif own:
        answer["announcement"] += f"\n⏳ {outcome['role'].upper()} follows later: {outcome['reason']}"


def _issue(args: Args | None, answer: Mapping[str, Any]) -> int | None:
    found = getattr(args, "issue_id", None) or answer.get("issueId")
    return found if isinstance(found, int) else None


def _line(app: App, context: Call, answer: Mapping[str, Any], *, group_id: str | None, issue: int | None) -> AuditLine:
    """Return the line of a call whose operation has not written it already, at any time since the call began."""
    facts: dict[str, Any] = {"ok": bool(answer.get("success"))}
    if "error" in answer:
        facts["error"] = answer["error"]["code"]
    facts |= {name: answer[name] for name in AUDITED if name in answer}
    project = answer.get("project")
    if project is None and group_id is not None:
        with suppress(DevClawError):
            project = app.store.registry.get(group_id).name
    return AuditLine(
        ts=context.at,
        event=context.tool,
        op=context.op,
        caller=str(context.caller),
        project=project,
        group_id=group_id,
        issue=issue,
        facts=facts,
    )
