"""Messages as the API sends them: whole, or as a stream of server-sent events."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from devclaw_py.agents.standin.script import Answer, Refusal

Event = dict[str, Any]

BYTES_PER_TOKEN = 4
FRESH_TOKENS = 10
PIECE_CHARS, PIECES = 400, 50


def message(answer: Answer, *, model: str, request_bytes: int) -> dict[str, Any]:
    """Return the whole message; the usage counts four bytes of request a token where the answer claims nothing."""
    content: list[dict[str, Any]] = [{"type": "text", "text": answer.text}] if answer.text else []
    content += [
        {"type": "tool_use", "id": new_id("toolu"), "name": call.tool, "input": dict(call.arguments)}
        for call in answer.calls
    ]
    return {
        "id": new_id("msg"),
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if answer.calls else "end_turn",
        "stop_sequence": None,
        "usage": _usage(answer.tokens or tokens(request_bytes), tokens(len(json.dumps(content)))),
    }


def tokens(size: int) -> int:
    """Return about how many tokens a number of bytes are."""
    return max(1, size // BYTES_PER_TOKEN)


def error(refusal: Refusal, *, request_id: str) -> dict[str, Any]:
    """Return the body of an error."""
    told = {"type": refusal.kind, "message": refusal.message}
    return {"type": "error", "error": told, "request_id": request_id}


def new_id(kind: str) -> str:
    """Return an id of the API's form, such as ``msg_01...``."""
    return f"{kind}_01{secrets.token_hex(11)}"


def events(whole: Mapping[str, Any]) -> Iterator[Event]:
    """Yield a message's events, ``message_start`` to ``message_stop``."""
    begun = {**whole, "content": [], "stop_reason": None, "usage": {**whole["usage"], "output_tokens": 1}}
    yield {"type": "message_start", "message": begun}
    yield {"type": "ping"}
    for index, block in enumerate(whole["content"]):
        yield from _block(index, block)
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": whole["usage"]}
    yield {"type": "message_stop"}


def first_half(whole: Mapping[str, Any]) -> list[Event]:
    """Return the events of a message that breaks off in the middle of a block."""
    each = list(events(whole))
    deltas = [at for at, event in enumerate(each) if event["type"] == "content_block_delta"]
    return each[: deltas[len(deltas) // 2]] if deltas else each[:2]


def encode(event: Event) -> bytes:
    """Return an event as it stands on the wire."""
    return f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode()


def _block(index: int, block: Mapping[str, Any]) -> Iterator[Event]:
    if block["type"] == "text":
        begun, kind, field, text = {**block, "text": ""}, "text_delta", "text", block["text"]
    else:
        begun, kind, field, text = (
            {**block, "input": {}},
            "input_json_delta",
            "partial_json",
            json.dumps(block["input"]),
        )
    yield {"type": "content_block_start", "index": index, "content_block": begun}
    for piece in _pieces(text):
        yield {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: piece}}
    yield {"type": "content_block_stop", "index": index}


def _pieces(text: str) -> Iterator[str]:
    # At least two, so that there is a middle to break off in; not too many, so that a long answer is not slow.
    size = max(1, min(PIECE_CHARS, len(text) // 2), -(-len(text) // PIECES))
    for at in range(0, len(text), size):
        yield text[at : at + size]


def _usage(context: int, output: int) -> dict[str, Any]:
    fresh = min(FRESH_TOKENS, context)
    return {
        "input_tokens": fresh,
        "cache_creation_input_tokens": 0,
        "cache_read_input_tokens": context - fresh,
        "cache_creation": {"ephemeral_5m_input_tokens": 0, "ephemeral_1h_input_tokens": 0},
        "output_tokens": output,
        "service_tier": "standard",
    }
