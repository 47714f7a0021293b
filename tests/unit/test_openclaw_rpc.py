"""The connection between plugin and child: both directions at once, garbage, an end in the middle."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

import pytest

from devclaw_py.faces.openclaw.rpc import (
    INTERNAL,
    INVALID_PARAMS,
    INVALID_REQUEST,
    LINE_BYTES,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
    Message,
    Peer,
    PeerError,
    Refusal,
)

WITHIN_S = 10.0


class Wire:
    """A peer on pipes, and the other end by hand."""

    def __init__(self, peer: Peer, to: BinaryIO, source: BinaryIO) -> None:
        self.peer, self._to, self._source = peer, to, source

    def send(self, *lines: bytes | Message) -> None:
        for line in lines:
            self._to.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")
        self._to.flush()

    def read(self) -> Any:
        return json.loads(self._source.readline())

    def hang_up(self) -> None:
        self._to.close()


@contextmanager
def wired(methods: dict[str, Any], *, finish_s: float = WITHIN_S) -> Iterator[Wire]:
    ours, theirs = os.pipe(), os.pipe()
    out = os.fdopen(theirs[1], "wb", buffering=0)
    peer = Peer(out.write, methods)
    source = os.fdopen(ours[0], "rb")
    serving = threading.Thread(target=peer.serve, args=(source,), kwargs={"finish_s": finish_s})
    serving.start()
    wire = Wire(peer, os.fdopen(ours[1], "wb"), os.fdopen(theirs[0], "rb"))
    try:
        yield wire
    finally:
        with suppress(OSError):
            wire.hang_up()
        serving.join(WITHIN_S)
        assert not serving.is_alive()
        for stream in (out, source, wire._source):
            stream.close()


def request(ident: int, method: str, **params: Any) -> Message:
    return {"jsonrpc": "2.0", "id": ident, "method": method, "params": params}


def test_a_request_is_answered_under_its_id() -> None:
    with wired({"double": lambda params: params["n"] * 2}) as wire:
        wire.send(request(7, "double", n=21))

        assert wire.read() == {"jsonrpc": "2.0", "id": 7, "result": 42}


def test_a_long_request_does_not_hold_up_the_next_one() -> None:
    may_end = threading.Event()
    with wired({"long": lambda _: may_end.wait(WITHIN_S), "short": lambda _: "s"}) as wire:
        wire.send(request(1, "long"), request(2, "short"))

        assert wire.read()["id"] == 2
        may_end.set()
        assert wire.read()["id"] == 1


def test_a_method_may_ask_the_other_side_before_it_answers() -> None:
    peers: list[Peer] = []
    with wired({"ask": lambda _: peers[0].call("name", {}, timeout_s=WITHIN_S)}) as wire:
        peers.append(wire.peer)
        wire.send(request(1, "ask"))
        asked = wire.read()
        wire.send({"jsonrpc": "2.0", "id": asked["id"], "result": "gateway"})

        assert asked["method"] == "name"
        assert wire.read()["result"] == "gateway"


def test_an_error_of_the_other_side_is_raised_with_its_words() -> None:
    with wired({}) as wire:
        caught: list[str] = []

        def ask() -> None:
            try:
                wire.peer.call("send", {}, timeout_s=WITHIN_S)
            except PeerError as error:
                caught.append(str(error))

        asking = threading.Thread(target=ask)
        asking.start()
        wire.send({"jsonrpc": "2.0", "id": wire.read()["id"], "error": {"code": -32000, "message": "chat not found"}})
        asking.join(WITHIN_S)

    assert caught == ["chat not found"]


def test_an_answer_that_does_not_come_in_time_is_an_error() -> None:
    with wired({}) as wire, pytest.raises(PeerError, match="not answered within"):
        wire.peer.call("send", {}, timeout_s=0.01)


def test_whoever_waits_when_the_other_side_goes_is_told() -> None:
    with wired({}) as wire:
        caught: list[str] = []

        def ask() -> None:
            try:
                wire.peer.call("send", {}, timeout_s=60)
            except PeerError as error:
                caught.append(str(error))

        asking = threading.Thread(target=ask)
        asking.start()
        wire.read()
        wire.hang_up()
        asking.join(WITHIN_S)

    assert caught == ["send was not answered: the other side is gone"]


def test_what_was_asked_for_is_finished_after_the_end_of_input() -> None:
    begun, may_end, done = threading.Event(), threading.Event(), threading.Event()

    def long(_: Message) -> str:
        begun.set()
        may_end.wait(WITHIN_S)
        done.set()
        return "done"

    with wired({"long": long}) as wire:
        wire.send(request(1, "long"))
        assert begun.wait(WITHIN_S)
        wire.hang_up()
        may_end.set()
        assert wire.read()["result"] == "done"

    assert done.is_set()


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (b"no json\n", PARSE_ERROR),
        (b"\xff\xfe\n", PARSE_ERROR),
        (b"[1]\n", INVALID_REQUEST),
        (b'{"id": 1}\n', INVALID_REQUEST),
        (b'{"id": 1, "method": "nothing"}\n', METHOD_NOT_FOUND),
        (b'{"id": 1, "method": "known", "params": 3}\n', INVALID_PARAMS),
    ],
)
def test_what_is_no_request_is_answered_with_the_error_that_fits(line: bytes, code: int) -> None:
    with wired({"known": lambda _: None}) as wire:
        wire.send(line)

        assert wire.read()["error"]["code"] == code


def test_a_line_without_end_is_passed_over_and_the_next_is_read() -> None:
    with wired({"known": lambda _: "k"}) as wire:
        wire.send(b"x" * (LINE_BYTES + 10) + b"\n", request(1, "known"))

        assert wire.read()["error"]["code"] == INVALID_REQUEST
        assert wire.read()["result"] == "k"


def test_a_bug_in_a_method_answers_that_request_alone(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(_: Message) -> None:
        raise KeyError("x")

    with wired({"broken": broken, "whole": lambda _: 1}) as wire:
        wire.send(request(1, "broken"))
        assert wire.read()["error"] == {
            "code": INTERNAL,
            "message": "a bug: KeyError: 'x'; its trace is on stderr",
        }
        wire.send(request(2, "whole"))
        assert wire.read()["result"] == 1

    assert "KeyError" in capsys.readouterr().err


def test_a_refusal_is_answered_with_its_own_words() -> None:
    def refuse(_: Message) -> None:
        raise Refusal("not like this")

    with wired({"refuse": refuse}) as wire:
        wire.send(request(1, "refuse"))

        assert wire.read()["error"]["message"] == "not like this"


def test_a_notification_is_not_answered() -> None:
    with wired({"note": lambda _: "n"}) as wire:
        wire.send({"jsonrpc": "2.0", "method": "note"}, request(1, "note"))

        assert wire.read()["id"] == 1
