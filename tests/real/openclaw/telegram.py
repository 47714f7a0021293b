"""A stand-in for Telegram's Bot API on loopback: what people write goes in, what the bot said can be read."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlparse

OWNER, STRANGER = 777, 666
BOT = {"id": 4242, "is_bot": True, "first_name": "Claw", "username": "claw_bot", "can_join_groups": True}
SAYING = {"sendMessage", "editMessageText", "sendRichMessage"}
LONGEST_POLL_S = 20.0


class Loopback(ThreadingHTTPServer):
    """A server whose client may be killed at any moment."""

    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass


@dataclass
class Telegram:
    """The chats. ``said`` is every message of the bot as (chat, topic, text), in order."""

    said: list[tuple[str, str | None, str]] = field(default_factory=list)
    polled: int = 0
    down: bool = False
    _updates: list[dict[str, Any]] = field(default_factory=list)
    _ids: int = field(default_factory=lambda: int(time.time()))
    _changed: threading.Condition = field(default_factory=threading.Condition)
    _closing: bool = False

    def start(self) -> None:
        """Serve on a free port."""
        telegram = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, format: str, *args: Any) -> None:
                pass

            def do_GET(self) -> None:
                self.do_POST()

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers.get("content-length") or 0))
                code, found = telegram.answer(urlparse(self.path).path.rpartition("/")[2], self._params(raw))
                body = json.dumps(found).encode()
                self.send_response(code)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def _params(self, raw: bytes) -> dict[str, Any]:
                params: dict[str, Any] = dict(parse_qsl(urlparse(self.path).query))
                if "json" in (self.headers.get("content-type") or ""):
                    params |= json.loads(raw or b"{}")
                elif raw:
                    params |= dict(parse_qsl(raw.decode("utf-8", "replace")))
                return params

        self._server = Loopback(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def end(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()

    def write(self, chat: str, text: str, *, sender: int = OWNER, topic: int | None = None) -> None:
        """Let somebody write into a group."""
        with self._changed:
            self._ids += 1
            group = {"id": int(chat), "type": "supergroup", "title": f"Group {chat}", "is_forum": topic is not None}
            message: dict[str, Any] = {
                "message_id": self._ids % 1_000_000,
                "date": int(time.time()),
                "text": text,
                "from": {"id": sender, "is_bot": False, "first_name": f"Person {sender}", "username": f"p{sender}"},
                "chat": group,
            }
            if text.startswith("/"):
                message["entities"] = [{"type": "bot_command", "offset": 0, "length": len(text.split()[0])}]
            if topic is not None:
                message |= {"message_thread_id": topic, "is_topic_message": True}
            self._updates.append({"update_id": self._ids, "message": message})
            self._changed.notify_all()

    def heard_in(self, chat: str) -> list[str]:
        """Return what the bot said in a group, in order."""
        return [text for found, _, text in list(self.said) if found == chat]

    def answer(self, method: str, params: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        """Answer one call of the API: the HTTP code and the body."""
        if method == "getUpdates":
            return 200, {"ok": True, "result": self._poll(params)}
        if method in SAYING:
            if self.down:
                return 502, {"ok": False, "error_code": 502, "description": "Bad Gateway"}
            return 200, {"ok": True, "result": self._say(params)}
        chat = {"id": int(params.get("chat_id") or 0), "type": "supergroup", "title": "Group"}
        results: dict[str, Any] = {
            "getMe": BOT,
            "getChat": chat,
            "getChatMember": {"status": "member", "user": BOT},
            "getWebhookInfo": {"url": "", "has_custom_certificate": False, "pending_update_count": 0},
            "getMyCommands": [],
        }
        return 200, {"ok": True, "result": results.get(method, True)}

    def _poll(self, params: dict[str, Any]) -> list[dict[str, Any]]:
        offset = int(params.get("offset") or 0)
        until = time.monotonic() + min(float(params.get("timeout") or 0), LONGEST_POLL_S)
        with self._changed:
            self.polled += 1
            while True:
                found = [update for update in self._updates if update["update_id"] >= offset]
                left = until - time.monotonic()
                if found or left <= 0 or self._closing:
                    return found
                self._changed.wait(left)

    def _say(self, params: dict[str, Any]) -> dict[str, Any]:
        topic = params.get("message_thread_id")
        with self._changed:
            self._ids += 1
            self.said.append((str(params.get("chat_id")), str(topic) if topic else None, str(params.get("text", ""))))
        message = {
            "message_id": self._ids % 1_000_000,
            "date": int(time.time()),
            "chat": {"id": int(params.get("chat_id") or 0), "type": "supergroup"},
            "from": BOT,
            "text": params.get("text", ""),
        }
        return message | ({"message_thread_id": int(topic), "is_topic_message": True} if topic else {})
