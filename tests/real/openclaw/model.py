"""A stand-in for a model provider on loopback (OpenAI's chat completions), playing a careful orchestrator.

``CALL tool {...}`` in a person's message is called; so are a few sentences. After the result it says what AGENTS.md
asks for: nothing where devclaw has announced it itself, else the announcement, else the refusal.
"""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.real.openclaw.telegram import Loopback

CALL = re.compile(r"CALL\s+([a-z_]+)\s+(\{.*\})", re.DOTALL)
SENTENCES = {"pick up the next issue": ("task_pickup", '{"role": "dev"}')}
# The gateway adds a message of its own as if a person had written it, also behind a tool's result.
CONTEXT = re.compile(r"<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>.*?<<<END_OPENCLAW_INTERNAL_CONTEXT>>>", re.DOTALL)
SILENT = "NO_REPLY"


@dataclass
class Model:
    """``results`` is what came back from tools, as JSON where it is; ``tools`` what a request offered last."""

    results: list[Any] = field(default_factory=list)
    tools: list[str] = field(default_factory=list)
    _calls: int = 0

    def start(self) -> None:
        """Serve on a free port."""
        model = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                self._reply("application/json", json.dumps({"object": "list", "data": [{"id": "scripted"}]}).encode())

            def do_POST(self) -> None:
                asked = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
                chunks = model.chunks(asked)
                body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
                self._reply("text/event-stream", body.encode())

            def _reply(self, kind: str, body: bytes) -> None:
                self.send_response(200)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

        self._server = Loopback(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def chunks(self, asked: dict[str, Any]) -> list[dict[str, Any]]:
        """Return the stream of one answer."""
        # A request that only asks for closing words offers none.
        self.tools = [tool["function"]["name"] for tool in asked.get("tools", [])] or self.tools
        messages = [message for message in asked["messages"] if _words(message) or message["role"] != "user"]
        last = messages[-1]
        call = None
        if last["role"] == "tool":
            found = _parsed(_words(last))
            self.results.append(found)
            text = _told(found)
        else:
            call = _called(_words(last))
            text = "" if call else SILENT
        return self._stream(call, text)

    def _stream(self, call: tuple[str, str] | None, text: str) -> list[dict[str, Any]]:
        base = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "scripted"}
        if call:
            self._calls += 1
            function = {"name": call[0], "arguments": call[1]}
            made = {"index": 0, "id": f"call_{self._calls}", "type": "function", "function": function}
            delta: dict[str, Any] = {"tool_calls": [made]}
        else:
            delta = {"content": text}
        reason = "tool_calls" if call else "stop"
        choices = [({"role": "assistant", "content": ""}, None), (delta, None), ({}, reason)]
        return [
            *({**base, "choices": [{"index": 0, "delta": part, "finish_reason": end}]} for part, end in choices),
            {**base, "choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}},
        ]


def _words(message: dict[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        content = "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
    return CONTEXT.sub("", content or "").strip()


def _called(words: str) -> tuple[str, str] | None:
    if found := CALL.search(words):
        return found[1], found[2]
    return next((call for sentence, call in SENTENCES.items() if sentence in words.lower()), None)


def _parsed(words: str) -> Any:
    try:
        return json.loads(words)
    except ValueError:
        return words


def _told(found: Any) -> str:
    if not isinstance(found, dict):
        return f"unexpected: {found}"
    if found.get("announced"):
        return SILENT
    return str(found.get("announcement") or found.get("error", {}).get("message") or found)
