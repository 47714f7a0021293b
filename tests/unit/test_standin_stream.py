"""The form of the stand-in's messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from devclaw_py.agents.standin import stream
from devclaw_py.agents.standin.script import Answer, Call

BOTH = Answer("some text", (Call("Bash", {"command": "ls"}), Call("Read", {"file_path": "/ü"})))


def whole(answer: Answer, *, size: int = 4000) -> dict[str, Any]:
    return stream.message(answer, model="claude-x", request_bytes=size)


def test_the_events_put_together_are_the_message() -> None:
    message = whole(BOTH)

    texts: dict[int, str] = {}
    blocks: dict[int, dict[str, Any]] = {}
    for event in stream.events(message):
        if event["type"] == "content_block_start":
            blocks[event["index"]], texts[event["index"]] = event["content_block"], ""
        if event["type"] == "content_block_delta":
            texts[event["index"]] += event["delta"].get("text") or event["delta"].get("partial_json")
    built = [
        {**block, "text": texts[at]} if block["type"] == "text" else {**block, "input": json.loads(texts[at])}
        for at, block in blocks.items()
    ]

    assert built == message["content"]


def test_a_stream_begins_and_ends_as_the_api_does() -> None:
    kinds = [event["type"] for event in stream.events(whole(Answer("x")))]

    assert kinds == [
        "message_start",
        "ping",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]


@pytest.mark.parametrize(("answer", "reason"), [(BOTH, "tool_use"), (Answer("x"), "end_turn")])
def test_a_message_stops_for_its_tools_or_for_good(answer: Answer, reason: str) -> None:
    assert whole(answer)["stop_reason"] == reason
    assert [
        each["delta"]["stop_reason"] for each in stream.events(whole(answer)) if each["type"] == "message_delta"
    ] == [reason]


def test_the_usage_is_what_the_answer_claims_else_the_size_of_the_request() -> None:
    def context(message: dict[str, Any]) -> int:
        usage = message["usage"]
        return int(usage["input_tokens"] + usage["cache_creation_input_tokens"] + usage["cache_read_input_tokens"])

    assert context(whole(Answer("x", tokens=100_000))) == 100_000
    assert context(whole(Answer("x"), size=4000)) == 1000


def test_half_a_message_ends_inside_a_block() -> None:
    half = stream.first_half(whole(Answer("a longer text " * 100)))

    assert half[-1]["type"] == "content_block_delta"
    assert len(half) < len(list(stream.events(whole(Answer("a longer text " * 100)))))


def test_a_long_answer_comes_in_few_pieces() -> None:
    text = "ü" * 400_000
    pieces = [
        each["delta"]["text"]
        for each in stream.events(whole(Answer(text)))
        if "delta" in each and "text" in each["delta"]
    ]

    assert "".join(pieces) == text
    assert len(pieces) <= 50


def test_an_event_is_one_line_of_data_after_its_name() -> None:
    assert (
        stream.encode({"type": "ping", "text": "a\nb"}) == b'event: ping\ndata: {"type": "ping", "text": "a\\nb"}\n\n'
    )
