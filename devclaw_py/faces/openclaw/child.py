"""``devclaw openclaw child``: the one Python process beside a gateway, started and spoken to by the plugin.

Standard input and output carry the protocol and nothing else; what is written to standard error is the gateway's log.
The process ends when its input does: the gateway is gone then.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, MutableMapping
from contextlib import suppress
from typing import Any, BinaryIO

from devclaw_py import __version__, catalogue
from devclaw_py.errors import DevClawError
from devclaw_py.faces.openclaw import commands
from devclaw_py.faces.openclaw.context import bare, caller_of, chat_of, to_register
from devclaw_py.faces.openclaw.office import Office
from devclaw_py.faces.openclaw.rpc import FAILED, Message, Peer, Refusal
from devclaw_py.faces.openclaw.service import Service
from devclaw_py.faces.opening import filled_in
from devclaw_py.model.caller import Caller, CallerKind
from devclaw_py.model.journal import AuditLine, OutboxRow
from devclaw_py.operations.ending import failure
from devclaw_py.operations.wishes import new_op
from devclaw_py.rules import announce

PROTOCOL = 1

# A model that waits longer looks dead to the group; the operation goes on and tells its end by itself.
ANSWER_WITHIN_S = 20.0

# What may still end when the gateway has gone: an operation whose process dies is settled by the next one.
FINISH_S = 30.0

REGISTER = "project_register"


class Child:
    """What the plugin may ask for."""

    def __init__(self, environ: MutableMapping[str, str]) -> None:
        self._office = Office(environ)
        self._answer_within_s = ANSWER_WITHIN_S
        self._allowed: frozenset[str] = frozenset()
        self._service: Service | None = None
        self._ready = False

    def serve(self, source: BinaryIO, out: BinaryIO) -> None:
        """Answer until the plugin closes the input."""
        methods = {
            "initialize": self._initialize,
            "service.start": self._start,
            "tool.call": self._call,
            "command": self._command,
            "ping": lambda _: {"pid": os.getpid()},
        }
        peer = Peer(lambda line: _write(out, line), methods)
        self._service = Service(self._office, peer)
        peer.serve(source, finish_s=FINISH_S)

    def _initialize(self, params: Message) -> Message:
        if params.get("protocol") != PROTOCOL:
            raise Refusal(
                f"the plugin speaks protocol {params.get('protocol')} and devclaw {__version__} speaks {PROTOCOL}; "
                "devclaw openclaw install puts the plugin of this version in its place"
            )
        lacking = set(catalogue.TOOLS) ^ set(params.get("tools", ()))
        if lacking:
            raise Refusal(
                f"the plugin and devclaw {__version__} differ in {', '.join(sorted(lacking))}; "
                "devclaw openclaw install puts the plugin of this version in its place"
            )
        config = params.get("config") or {}
        self._allowed = frozenset(str(sender) for sender in config.get("allowFrom") or ())
        self._answer_within_s = float(config.get("answerWithinS") or ANSWER_WITHIN_S)
        try:
            self._office.configure(config.get("workspace"), config.get("models") or {})
        except (DevClawError, OSError) as error:
            raise Refusal(str(error)) from error
        self._ready = True
        return {"version": __version__, "pid": os.getpid(), "workspace": str(self._office.workspace)}

    def _start(self, params: Message) -> Message:
        self._check_ready()
        assert self._service is not None
        self._service.start()
        return {}

    def _check_ready(self) -> None:
        if not self._ready:
            raise Refusal("initialize comes first", FAILED)

    def _call(self, params: Message) -> Message:
        """Call one tool; an answer that takes long is one that names the operation, whose end the group is told."""
        self._check_ready()
        run = _Run(self._office, params["tool"], params.get("arguments") or {}, params.get("context") or {})
        return run.within(self._answer_within_s, self._allowed)

    def _command(self, params: Message) -> Message:
        self._check_ready()
        context = params.get("context") or {}
        if chat_of(context) is not None and context.get("isAuthorizedSender") is True:
            # The gateway checks the sender of a command itself, and says no more of who that is.
            context = {**context, "senderIsOwner": True}
        try:
            app = self._office.app()
            caller = caller_of(context, app.store.registry.all(), self._allowed)
            return {"text": commands.answer(app, str(params.get("words", "")), caller)}
        except (DevClawError, OSError) as error:
            return {"text": f"✖ {error}"}


class _Run:
    """One tool call on a thread of its own."""

    def __init__(self, office: Office, tool: str, arguments: Mapping[str, Any], context: Mapping[str, Any]) -> None:
        self._office, self._tool, self._context = office, tool, context
        self._arguments = dict(arguments)
        self._op = new_op()
        self._answer: Message | None = None
        self._late = False
        self._turn = threading.Lock()
        self._ended = threading.Event()

    def within(self, seconds: float, allowed: frozenset[str]) -> Message:
        """Return the answer, or after ``seconds`` that the operation goes on."""
        try:
            caller = self._caller(allowed)
        except (DevClawError, OSError) as error:
            refused = error if isinstance(error, DevClawError) else DevClawError(str(error))
            self._note_refusal(refused)
            return failure(refused)
        threading.Thread(target=self._run, args=(caller,), daemon=True).start()
        self._ended.wait(seconds)
        with self._turn:
            if self._answer is not None:
                return self._answer
            self._late = True
        return {
            "success": True,
            "pending": True,
            "operation": self._op,
            "reason": f"{self._tool} takes longer than {seconds:g} s; it goes on, and its end is announced",
            "announced": self._office.announces,
        }

    def _caller(self, allowed: frozenset[str]) -> Caller:
        projects = self._office.app().store.registry.all()
        caller = caller_of(self._context, projects, allowed)
        chat = chat_of(self._context)
        if chat is not None:
            named = self._arguments.get("projectGroupId")
            if self._tool == REGISTER:
                caller = caller.model_copy(update={"group_id": to_register(chat, projects, named)})
                self._arguments.setdefault("channel", chat.channel)
            assert caller.group_id is not None
            if named is not None and bare(chat, named) == caller.group_id.casefold():
                self._arguments["projectGroupId"] = caller.group_id
            self._office.learn(chat, caller.group_id)
        if caller.kind is CallerKind.WORKER:
            self._arguments = filled_in(self._tool, self._arguments, {}, caller)
        return caller

    def _note_refusal(self, error: DevClawError) -> None:
        """Leave the line of a call that never came to the door."""
        chat, sender = chat_of(self._context), self._context.get("requesterSenderId")
        with suppress(DevClawError, OSError):
            app = self._office.app()
            app.store.audit.append(
                AuditLine(
                    ts=app.clock.now(),
                    event=self._tool,
                    op=self._op,
                    caller=f"sender:{sender}" if sender else str(self._context.get("sessionKey", "nobody")),
                    project=None,
                    group_id=chat.names[0] if chat else None,
                    issue=None,
                    facts={"ok": False, "error": error.code},
                )
            )

    def _run(self, caller: Caller) -> None:
        try:
            answer = catalogue.call(self._office.app(), self._tool, self._arguments, caller, op=self._op)
        except (DevClawError, OSError) as error:
            answer = failure(error if isinstance(error, DevClawError) else DevClawError(str(error)))
        if caller.group_id is not None:
            answer = _discreet(answer, caller.group_id)
            chat = chat_of(self._context)
            if chat is not None and answer["success"] and self._tool == REGISTER:
                self._office.learn(chat, caller.group_id)
        with self._turn:
            self._answer = answer
        self._ended.set()
        if self._late and caller.group_id is not None:
            self._tell_end(answer, caller.group_id)

    def _tell_end(self, answer: Message, group_id: str) -> None:
        """Announce how it ended, unless the operation has announced itself."""
        app = self._office.app()
        if app.store.journal.announced(self._op):
            return
        told = announce.ended(
            self._tool, str(answer["announcement"] if answer["success"] else answer["error"]["message"])
        )
        app.store.journal.queue(
            OutboxRow(key=f"{self._op}:ended", group_id=group_id, announcement=told, at=app.clock.now())
        )


def _discreet(answer: Message, group_id: str) -> Message:
    """Return the answer without the names of other groups' projects, which are none of this group's business."""
    error = answer.get("error")
    if not error or error["code"] != "unknown_project":
        return answer
    return {**answer, "error": {**error, "message": f"no project is registered for this group, {group_id}"}}


def _write(out: BinaryIO, line: bytes) -> None:
    out.write(line)
    out.flush()


def run() -> int:
    """Serve this process's standard input and output until the input ends."""
    # What anything else prints, or a program that is started writes, must not end up between the protocol's lines.
    source = os.fdopen(os.dup(0), "rb")
    out = os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    Child(os.environ).serve(source, out)
    sys.stderr.flush()
    # Without waiting for what may still run: the journal has what it needs.
    os._exit(0)
