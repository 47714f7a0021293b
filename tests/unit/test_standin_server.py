"""The stand-in over HTTP, asked with the standard library's client."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.agents.standin.record import Kind
from devclaw_py.agents.standin.script import Answer, Call, Conversation
from devclaw_py.agents.standin.server import StandIn
from devclaw_py.errors import ConfigError

TOKEN = "canary-token-0123456789"


@dataclass(frozen=True)
class Got:
    status: int
    headers: dict[str, str]
    raw: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line[6:]) for line in self.raw.decode().splitlines() if line.startswith("data: ")]


def body(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "claude-x", "messages": [{"role": "user", "content": text}], "tools": [{"name": "Bash"}], **more}


@dataclass
class Client:
    standin: StandIn

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection("127.0.0.1", int(self.standin.url.rsplit(":", 1)[1]), timeout=20)

    def ask(
        self,
        content: Any = b"",
        *,
        method: str = "POST",
        path: str = "/v1/messages?beta=true",
        headers: dict[str, str] | None = None,
    ) -> Got:
        shown = {"Authorization": f"Bearer {TOKEN}"} if headers is None else headers
        sent = content if isinstance(content, bytes) else json.dumps(content).encode()
        connection = self.connect()
        try:
            connection.request(method, path, sent, shown)
            answer = connection.getresponse()
            return Got(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())
        finally:
            connection.close()


@pytest.fixture
def standin(tmp_path: Path) -> Iterator[StandIn]:
    with StandIn(folder=tmp_path / "requests", token=TOKEN) as server:
        yield server


@pytest.fixture
def client(standin: StandIn) -> Client:
    return Client(standin)


def test_a_message_comes_whole_and_names_the_model_that_was_asked(client: Client) -> None:
    got = client.ask(body("[[standin: say hello]]"))

    assert got.status == 200
    assert got.headers["request-id"].startswith("req_")
    assert (got.json["model"], got.json["content"]) == ("claude-x", [{"type": "text", "text": "hello"}])


def test_a_stream_ends_with_message_stop(client: Client) -> None:
    got = client.ask(body("[[standin: say hello]]", stream=True))

    assert got.headers["content-type"] == "text/event-stream"
    assert got.events[-1] == {"type": "message_stop"}


def test_a_connection_serves_several_requests(client: Client) -> None:
    connection = client.connect()
    for stream in (True, False, True):
        connection.request(
            "POST", "/v1/messages", json.dumps(body("hi", stream=stream)), {"Authorization": f"Bearer {TOKEN}"}
        )
        answer = connection.getresponse()
        assert (answer.status, bool(answer.read())) == (200, True)
    connection.close()


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer other"}, {"x-api-key": "other"}])
@pytest.mark.parametrize(("method", "path"), [("POST", "/v1/messages"), ("GET", "/v1/models"), ("POST", "/else")])
def test_without_the_token_nothing_is_answered(client: Client, method: str, path: str, headers: dict[str, str]) -> None:
    got = client.ask(body("hi"), method=method, path=path, headers=headers)

    assert (got.status, got.json["error"]["type"]) == (401, "authentication_error")
    assert [request.authorized for request in client.standin.requests] == [False]


@pytest.mark.parametrize("headers", [{"x-api-key": TOKEN}, {"Authorization": f"bearer {TOKEN}"}])
def test_the_token_may_come_as_a_key_or_as_a_bearer(client: Client, headers: dict[str, str]) -> None:
    assert client.ask(body("hi"), headers=headers).status == 200


def test_what_a_client_asks_at_its_start_is_answered(client: Client) -> None:
    assert client.ask(method="HEAD", path="/", headers={}).status == 200
    assert client.ask(method="GET", path="/v1/models").json["data"] == []
    assert client.ask(method="GET", path="/else").status == 404
    assert client.ask({"events": []}, path="/api/event_logging/batch").json == {}
    assert client.ask(body("x" * 4000), path="/v1/messages/count_tokens").json["input_tokens"] > 1000


def test_a_request_without_tools_is_a_side_request_whatever_its_text_says(client: Client) -> None:
    got = client.ask(body("[[standin: fault 500]]", tools=[]))

    assert json.loads(got.json["content"][0]["text"])["title"]
    assert [request.kind for request in client.standin.requests] == [Kind.SIDE]
    assert client.standin.turns == []


def test_the_bytes_of_a_body_are_kept_as_they_came(client: Client, tmp_path: Path) -> None:
    sent = json.dumps(body("ümläut 漢字 🦀 \x1b[31m" * 1000), ensure_ascii=False).encode() + b" \r\n"
    client.ask(sent)

    kept = (tmp_path / "requests" / "00001.body").read_bytes()
    assert hashlib.sha256(kept).digest() == hashlib.sha256(sent).digest()


def test_a_body_that_is_no_json_is_refused_and_kept(client: Client) -> None:
    got = client.ask(b"\xff\x00{")

    assert got.status == 400
    assert client.standin.requests[0].raw == b"\xff\x00{"


def test_a_chunked_body_is_read_to_its_end(client: Client) -> None:
    connection = client.connect()
    sent = json.dumps(body("[[standin: say ok]]")).encode()
    connection.request(
        "POST", "/v1/messages", iter([sent[:10], sent[10:]]), {"Authorization": f"Bearer {TOKEN}"}, encode_chunked=True
    )
    assert json.loads(connection.getresponse().read())["content"][0]["text"] == "ok"
    connection.close()


def test_the_token_stands_in_no_file(client: Client, tmp_path: Path) -> None:
    client.ask(
        body(f"my token is {TOKEN}"), path=f"/v1/messages?key={TOKEN}", headers={"x-api-key": TOKEN, "x-other": TOKEN}
    )
    client.ask(body("hi"), headers={"Authorization": f"Bearer {TOKEN}", "Cookie": f"a={TOKEN}"})

    written = b"".join(path.read_bytes() for path in (tmp_path / "requests").iterdir())
    assert b"claude-x" in written
    assert TOKEN.encode() not in written
    assert [request.masked for request in client.standin.requests] == [True, False]


def test_the_record_is_for_its_owner_alone_and_says_what_came(client: Client, tmp_path: Path) -> None:
    client.ask(body("hi"))

    folder = tmp_path / "requests"
    assert {path.stat().st_mode & 0o777 for path in (folder, *folder.iterdir())} == {0o700, 0o600}
    head = json.loads((folder / "00001.json").read_text())
    assert (head["method"], head["kind"], head["authorized"]) == ("POST", "turn", True)


def test_a_second_stand_in_writes_after_the_first(tmp_path: Path) -> None:
    for _ in range(2):
        with StandIn(folder=tmp_path, token=TOKEN) as standin:
            Client(standin).ask(body("hi"))

    assert sorted(path.name for path in tmp_path.glob("*.body")) == ["00001.body", "00002.body"]


def test_parallel_clients_each_get_their_own_answer_and_record(client: Client) -> None:
    texts = [f"text {number}" for number in range(40)]
    with ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda text: client.ask(body(f"[[standin: say {text}]]")), texts))

    assert [each.json["content"][0]["text"] for each in got] == texts
    assert [request.number for request in client.standin.turns] == list(range(1, 41))
    assert {request.conversation.turn.prompt for request in client.standin.turns} == {
        f"[[standin: say {text}]]" for text in texts
    }


def test_an_error_has_the_apis_form(client: Client) -> None:
    got = client.ask(body("[[standin: fault 429 retry-after=3600]]", stream=True))

    assert (got.status, got.headers["retry-after"]) == (429, "3600")
    assert got.json["error"]["type"] == "rate_limit_error"
    assert got.json["request_id"] == got.headers["request-id"]


def test_a_counted_fault_ends_with_the_clients_retries(client: Client) -> None:
    text = "[[standin: fault 529 times=2]][[standin: say through]]"

    assert [client.ask(body(text)).status for _ in range(3)] == [529, 529, 200]


def test_a_bad_directive_is_told_to_the_client(client: Client) -> None:
    got = client.ask(body("[[standin: dance]]"))

    assert got.status == 400
    assert "dance" in got.json["error"]["message"]


def test_a_dropped_connection_has_no_answer(client: Client) -> None:
    with pytest.raises(http.client.RemoteDisconnected):
        client.ask(body("[[standin: fault drop]]"))


def test_a_cut_stream_breaks_off_in_the_middle(client: Client) -> None:
    with pytest.raises(http.client.IncompleteRead):
        client.ask(body("[[standin: fault cut]]", stream=True))


@pytest.mark.parametrize(("fault", "begins"), [("stall", True), ("fault hang", False), ("delay 600", False)])
def test_a_client_that_waits_in_vain_is_let_go_when_the_stand_in_ends(tmp_path: Path, fault: str, begins: bool) -> None:
    with StandIn(folder=tmp_path, token=TOKEN) as standin:
        connection = Client(standin).connect()
        connection.request(
            "POST",
            "/v1/messages",
            json.dumps(body(f"[[standin: {fault}]]", stream=True)),
            {"Authorization": f"Bearer {TOKEN}"},
        )
        standin.wait_for(1)
        if begins:
            assert connection.getresponse().read(6) == b"event:"
    if not begins:
        with pytest.raises(http.client.RemoteDisconnected):
            connection.getresponse()
    connection.close()


def test_the_thread_of_a_client_that_went_away_ends(client: Client) -> None:
    before = threading.active_count()
    connection = client.connect()
    connection.request(
        "POST", "/v1/messages", json.dumps(body("[[standin: fault hang]]")), {"Authorization": f"Bearer {TOKEN}"}
    )
    client.standin.wait_for(1)
    connection.close()

    deadline = time.monotonic() + 20
    while threading.active_count() > before:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_waiting_says_how_many_came(standin: StandIn) -> None:
    with pytest.raises(TimeoutError, match="0 of 1 turn requests"):
        standin.wait_for(1, timeout_s=0.01)


def test_a_script_plays_the_worker(tmp_path: Path) -> None:
    def script(asked: Conversation) -> Answer:
        return Answer(f"{asked.system} {asked.turn.prompt} {asked.session}", (Call(asked.tools[0]),))

    with StandIn(folder=tmp_path, script=script, token=TOKEN) as standin:
        headers = {"x-api-key": TOKEN, "X-Claude-Code-Session-Id": "s1"}
        got = Client(standin).ask(body("do it", system=[{"type": "text", "text": "You are DEV."}]), headers=headers)

    assert got.json["content"][0]["text"] == "You are DEV. do it s1"
    assert (got.json["content"][1]["name"], got.json["stop_reason"]) == ("Bash", "tool_use")


def test_a_script_that_fails_is_printed_and_the_others_go_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    def script(asked: Conversation) -> Answer:
        if asked.turn.prompt == "bad":
            raise RuntimeError("the script's own fault")
        return Answer("fine")

    with StandIn(folder=tmp_path, script=script, token=TOKEN) as standin:
        client = Client(standin)
        with pytest.raises(http.client.RemoteDisconnected):
            client.ask(body("bad"))
        assert client.ask(body("good")).status == 200

    assert "the script's own fault" in capfd.readouterr().err


def test_a_port_that_is_taken_is_named(standin: StandIn, tmp_path: Path) -> None:
    port = int(standin.url.rsplit(":", 1)[1])

    with pytest.raises(ConfigError, match=f"127.0.0.1:{port}"):
        StandIn(folder=tmp_path / "second", port=port)


def test_as_a_program_it_prints_its_url_and_ends_on_a_signal(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "devclaw_py.agents.standin", "--folder", str(tmp_path)]
    environ = {**os.environ, "DEVCLAW_STANDIN_TOKEN": TOKEN}
    with subprocess.Popen(argv, env=environ, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=20)
        connection.request("POST", "/v1/messages", json.dumps(body("hi")), {"x-api-key": TOKEN})
        assert connection.getresponse().status == 200
        connection.close()
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0


def test_as_a_program_it_wants_a_token(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "devclaw_py.agents.standin", "--folder", str(tmp_path)]
    environ = {name: value for name, value in os.environ.items() if name != "DEVCLAW_STANDIN_TOKEN"}

    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=30, check=False)

    assert (done.returncode, done.stdout) == (4, "")
    assert "DEVCLAW_STANDIN_TOKEN" in done.stderr
