"""The default script: it does what ``[[standin: ...]]`` in the prompt says, one message of the model after the other.

========================  ============================================================================================
``say TEXT``              the text; before a ``tool`` in the same message, else the end of the turn
``tool NAME {...}``       call a tool with these arguments; what follows comes after its result
``also NAME {...}``       call another tool in the same message
``read PATH``             call Read, then do what directives in the file say, then what follows
``fault WHAT``            fail: an HTTP status, ``full`` (the prompt is too long), ``drop``, ``cut``, ``stall`` or
                          ``hang``; with ``retry-after=S``, ``resets-at=SECONDS`` (since 1970) in its words, and
                          ``times=N`` to go on after N requests
``stall``                 the same as ``fault stall``
``delay S``               let seconds pass before the next message
``usage N``               let the next message claim a context of N tokens
========================  ============================================================================================

A prompt without a directive that says "read" before an absolute path is taken as ``read PATH``: a worker's task comes
as a file. A directive stands on one line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace

from devclaw_py.agents.standin.script import Answer, Break, Call, Conversation, Fault, Refusal, Reply, ToolResult

BEGINS, ENDS = "[[standin:", "]]"
READ = "Read"
NAMED_FILE = re.compile(r"\bread\b[^\n]*?(?:([`\"'])(/[^\n]+?)\1|(/\S+))", re.IGNORECASE)
SHOWN_CHARS = 200
NOTHING = Answer()

KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}
TOO_LONG = Refusal(400, KINDS[400], "prompt is too long: 1250000 tokens > 1000000 maximum")


class BadDirective(ValueError):
    """A directive that cannot be followed; the message quotes it and says what is possible."""


@dataclass(frozen=True)
class Step:
    """One message of the script.

    ``follow``: directives in its results come next. ``times``: how many requests a fault answers; None is for ever.
    """

    answer: Answer
    follow: bool = False
    times: int | None = None


def follow_directives(conversation: Conversation) -> Answer:
    """Answer with the next step of the turn's directives; without one, with a short text that ends the turn.

    Raises:
        BadDirective: one of them is not understood.
    """
    answer = _due(_remaining(conversation), conversation.tries)
    if answer.empty:
        return replace(answer, text=_closing(conversation))
    return answer


def refusal(status: int, *, retry_after_s: int | None = None) -> Refusal:
    """Return the API's error for a status."""
    kind = KINDS.get(status, "api_error")
    return Refusal(status, kind, f"stand-in {kind}", retry_after_s)


def directives(text: str) -> list[Step]:
    """Return the steps that a text asks for.

    Raises:
        BadDirective: one of its directives is not understood.
    """
    draft = _Draft()
    for verb, rest in _found(text):
        if verb not in VERBS:
            raise BadDirective(f"[[standin: {verb} {rest}]]: the verb is one of {', '.join(VERBS)}")
        try:
            VERBS[verb](draft, rest)
        except ValueError as error:
            raise BadDirective(f"[[standin: {verb} {rest}]]: {error}") from error
    return draft.all()


def _found(text: str) -> Iterator[tuple[str, str]]:
    at = text.find(BEGINS)
    while at >= 0:
        head = re.compile(r"\s*([\w-]*)\s*").match(text, at + len(BEGINS))
        start = head.end() if head else at
        end = _end(text, start)
        yield (head[1] if head else ""), text[start:end].strip()
        at = text.find(BEGINS, end)


def _end(text: str, start: int) -> int:
    # Arguments may hold the closing marks themselves, so the JSON is read to its own end first.
    brace = re.compile(r"[\w-]+\s+(?=\{)").match(text, start)
    if brace:
        with suppress(ValueError):
            start = json.JSONDecoder().raw_decode(text, brace.end())[1]
    end = text.find(ENDS, start)
    if end < 0:
        raise BadDirective(f"{text[start - len(BEGINS) : start + SHOWN_CHARS]!r}: a directive ends with {ENDS}")
    return end


@dataclass
class _Draft:
    """Steps in the making: what is said and set so far belongs to the step that comes next."""

    steps: list[Step] = field(default_factory=list)
    pending: Answer = NOTHING

    def call(self, call: Call, *, follow: bool = False) -> None:
        self._add(Step(replace(self.pending, calls=(call,)), follow=follow))

    def fail(self, fault: Fault, *, times: int | None) -> None:
        self._add(Step(replace(self.pending, fault=fault), times=times))

    def all(self) -> list[Step]:
        if self.pending != NOTHING:
            self._add(Step(self.pending))
        return self.steps

    def _add(self, step: Step) -> None:
        self.steps.append(step)
        self.pending = NOTHING


def _say(draft: _Draft, rest: str) -> None:
    draft.pending = replace(draft.pending, text="\n".join(filter(None, [draft.pending.text, rest])))


def _tool(draft: _Draft, rest: str) -> None:
    draft.call(_call(rest))


def _also(draft: _Draft, rest: str) -> None:
    if not draft.steps or not draft.steps[-1].answer.calls:
        raise ValueError("it comes after a tool")
    last = draft.steps[-1]
    draft.steps[-1] = replace(last, answer=replace(last.answer, calls=(*last.answer.calls, _call(rest))))


def _read(draft: _Draft, rest: str) -> None:
    draft.call(Call(READ, {"file_path": rest}), follow=True)


def _fault(draft: _Draft, rest: str) -> None:
    what, *options = rest.split() or [""]
    named = dict(option.partition("=")[::2] for option in options)
    if named.keys() - {"retry-after", "resets-at", "times"}:
        raise ValueError("the options are retry-after=S, resets-at=SECONDS and times=N")
    times = int(named["times"]) if "times" in named else None
    draft.fail(_broken(what, named), times=times)


def _broken(what: str, named: Mapping[str, str]) -> Fault:
    if what == "full":
        return TOO_LONG
    if re.fullmatch(r"[45]\d\d", what):
        found = refusal(int(what), retry_after_s=int(named["retry-after"]) if "retry-after" in named else None)
        words = f"stand-in usage limit reached|{int(named['resets-at'])}" if "resets-at" in named else found.message
        return replace(found, message=words)
    return Break(what)


def _stall(draft: _Draft, rest: str) -> None:
    _fault(draft, f"stall {rest}")


def _delay(draft: _Draft, rest: str) -> None:
    draft.pending = replace(draft.pending, delay_s=float(rest))


def _usage(draft: _Draft, rest: str) -> None:
    draft.pending = replace(draft.pending, tokens=int(rest))


VERBS: dict[str, Callable[[_Draft, str], None]] = {
    "say": _say,
    "tool": _tool,
    "also": _also,
    "read": _read,
    "fault": _fault,
    "stall": _stall,
    "delay": _delay,
    "usage": _usage,
}


def _call(rest: str) -> Call:
    name, _, arguments = rest.partition(" ")
    found = json.loads(arguments or "{}")
    if not name or not isinstance(found, dict):
        raise ValueError("a tool's name and a JSON object are needed")
    return Call(name, found)


def _remaining(conversation: Conversation) -> list[Step]:
    """Return the steps from the next message on: the turn is played again from its prompt."""
    turn = conversation.turn
    steps = directives(turn.prompt) or _task_file(conversation, turn.prompt)
    for reply in turn.replies:
        # A fault leaves no message of the model behind, so one that stands before a message is over.
        while steps and steps[0].answer.fault:
            steps = steps[1:]
        begun = steps[:1]
        steps = [*_from_results(begun, reply), *steps[1:], *(step for text in reply.said for step in directives(text))]
    return steps


def _task_file(conversation: Conversation, prompt: str) -> list[Step]:
    named = NAMED_FILE.search(prompt)
    if not named or READ not in conversation.tools:
        return []
    path = named[2] or named[3].rstrip(".,;:!?)`\"'")
    return [Step(Answer(calls=(Call(READ, {"file_path": path}),)), follow=True)]


def _from_results(begun: list[Step], reply: Reply) -> list[Step]:
    if not any(step.follow for step in begun):
        return []
    return [step for result in reply.results for step in directives(result.text)]


def _due(steps: list[Step], tries: int) -> Answer:
    for step in steps:
        if step.answer.fault is None or step.times is None or tries < step.times:
            return step.answer
        tries -= step.times
    return NOTHING


def _closing(conversation: Conversation) -> str:
    replies = conversation.turn.replies
    results: tuple[ToolResult, ...] = replies[-1].results if replies else ()
    if not results:
        return f"The stand-in heard {len(conversation.turn.prompt)} characters."
    how = "failed" if results[-1].is_error else "answered"
    return f"The last tool {how}: {results[-1].text[:SHOWN_CHARS]}"
