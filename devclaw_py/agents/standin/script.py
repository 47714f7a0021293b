"""What a script is given and what it answers: the conversation, and the model's next message or a fault.

Pure. The formats are those of the Messages API, as Claude Code 2.1.197 and 2.1.332 send them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

REMINDER = "<system-reminder>"
INTERRUPTED = "[Request interrupted by user"


class Break(StrEnum):
    """A fault of the connection."""

    DROP = "drop"
    """Closed before any answer."""
    CUT = "cut"
    """Closed in the middle of the answer."""
    STALL = "stall"
    """Half an answer, then silence on an open connection."""
    HANG = "hang"
    """No answer on an open connection."""


@dataclass(frozen=True)
class Refusal:
    """An answer that is an error: its status, and the error's type and message in the body."""

    status: int
    kind: str
    message: str
    retry_after_s: int | None = None


Fault = Break | Refusal


@dataclass(frozen=True)
class Call:
    """A tool that the model wants to be run."""

    tool: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """One message of the model: its text, then its tool calls; without calls it ends the turn.

    ``delay_s`` passes before the first byte. ``tokens`` is the size of the context that the usage claims; None counts
    the request's own. With a fault that breaks off in the middle, ``text`` is what is broken off.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    fault: Fault | None = None
    delay_s: float = 0.0
    tokens: int | None = None

    @property
    def empty(self) -> bool:
        """Whether there is nothing to say, to call or to fail with."""
        return not (self.text or self.calls or self.fault)


@dataclass(frozen=True)
class ToolResult:
    """What a tool call brought back, as text; ``tool`` is the tool's name."""

    text: str
    is_error: bool = False
    tool: str = ""


@dataclass(frozen=True)
class Reply:
    """A message of the model in this turn: what its calls brought back, in their order, and what was said meanwhile."""

    results: tuple[ToolResult, ...] = ()
    said: tuple[str, ...] = ()


@dataclass(frozen=True)
class Turn:
    """The newest thing that a person asked, and the model's messages since."""

    prompt: str = ""
    replies: tuple[Reply, ...] = ()


@dataclass(frozen=True)
class Conversation:
    """A request to the model. ``tries`` counts the earlier requests for the same message: a client's retries."""

    model: str
    system: str
    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[str, ...]
    session: str = ""
    tries: int = 0

    @property
    def turn(self) -> Turn:
        """The turn that this request continues."""
        return turn_of(self.messages)

    @property
    def side(self) -> bool:
        """Whether the client asks for something of its own, such as a title, in which no tool can be called."""
        return not self.tools


Script = Callable[[Conversation], Answer]
"""Decides what the model says next. It is called from several threads at once."""


def conversation(body: Mapping[str, Any], *, session: str = "") -> Conversation:
    """Read a request's body; what is missing or of another form counts as empty."""
    return Conversation(
        model=str(body.get("model") or ""),
        system="\n\n".join(_texts(body.get("system"))),
        messages=tuple(each for each in _list(body.get("messages")) if isinstance(each, Mapping)),
        tools=tuple(str(each.get("name")) for each in _list(body.get("tools")) if isinstance(each, Mapping)),
        session=session,
    )


def turn_of(messages: Sequence[Mapping[str, Any]]) -> Turn:
    """Find the newest turn.

    A prompt that failed or was interrupted stays in the history and may share its message with the next one, so each
    text of a person begins a turn, but for one that comes in with the results of tools that were not interrupted.
    """
    turn, interrupted, called = Turn(), False, dict[str, str]()
    for message in messages:
        if message.get("role") == "assistant":
            turn, interrupted, called = replace(turn, replies=(*turn.replies, Reply())), False, _calls(message)
        if message.get("role") != "user":
            continue
        results = tuple(_results(message, called))
        if results:
            turn = _with(turn, Reply(results=results))
        for text in _said(message):
            if text.startswith(INTERRUPTED):
                interrupted = True
            elif results and not interrupted:
                turn = _with(turn, Reply(said=(text,)))
            else:
                turn = Turn(prompt=text)
    return turn


def _with(turn: Turn, more: Reply) -> Turn:
    if not turn.replies:
        return turn
    last = turn.replies[-1]
    return replace(turn, replies=(*turn.replies[:-1], Reply(last.results + more.results, last.said + more.said)))


def _said(message: Mapping[str, Any]) -> Iterator[str]:
    for text in _texts(message.get("content")):
        if not text.lstrip().startswith(REMINDER):
            yield text


def _calls(message: Mapping[str, Any]) -> dict[str, str]:
    return {str(block.get("id")): str(block.get("name")) for block in _blocks(message, "tool_use")}


def _results(message: Mapping[str, Any], called: Mapping[str, str]) -> Iterator[ToolResult]:
    order = list(called)
    found = {str(block.get("tool_use_id")): block for block in _blocks(message, "tool_result")}
    # The client sends them in the order in which the tools ended.
    for key in sorted(found, key=lambda key: order.index(key) if key in order else len(order)):
        block = found[key]
        yield ToolResult("\n".join(_texts(block.get("content"))), bool(block.get("is_error")), called.get(key, ""))


def _blocks(message: Mapping[str, Any], kind: str) -> Iterator[Mapping[str, Any]]:
    for block in _list(message.get("content")):
        if isinstance(block, Mapping) and block.get("type") == kind:
            yield block


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    for block in _blocks({"content": content}, "text"):
        yield str(block.get("text") or "")


def _list(found: object) -> Sequence[object]:
    return found if isinstance(found, list | tuple) else ()
