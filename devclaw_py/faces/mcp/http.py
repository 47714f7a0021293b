"""Streamable HTTP for several clients at once. No request is looked into that does not show the token.

No session is kept: a client goes on after the server was started again. Names and origins of other machines are
refused, so that a page in a browser cannot reach the server under a name of its own.
"""

from __future__ import annotations

import ipaddress
import os
import signal
import socket
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, NoReturn

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from devclaw_py.errors import ConfigError, NotAllowed
from devclaw_py.faces.mcp.calls import Calls
from devclaw_py.faces.mcp.hands import Hands
from devclaw_py.faces.mcp.server import Face, complain
from devclaw_py.kernel.secrets import same

PATH = "/mcp"
MOST_BYTES = 1024 * 1024
MOST_CONNECTIONS = 128
# How long requests that are being answered keep a stopped server.
LEAVE_S = 5
REFUSED = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer"), (b"connection", b"close")]
HERE = ("127.0.0.1", "localhost", "[::1]")

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


class Guard:
    """Lets a request through that shows the token, and answers 401 to every other without reading it."""

    def __init__(self, app: App, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        """Take one request."""
        if scope["type"] == "http" and not self._is_known(scope["headers"]):
            refusal = b'{"error": "the bearer token is missing or another one"}\n'
            await send({"type": "http.response.start", "status": 401, "headers": REFUSED})
            await send({"type": "http.response.body", "body": refusal})
            return
        await self._app(scope, receive, send)

    def _is_known(self, headers: list[tuple[bytes, bytes]]) -> bool:
        shown = [value.decode("latin-1") for name, value in headers if name == b"authorization"]
        if len(shown) != 1:
            return False
        scheme, _, token = shown[0].partition(" ")
        return scheme.casefold() == "bearer" and same(token.strip(), self._token)


def check_place(host: str, *, remote: bool) -> None:
    """Refuse to listen where other machines reach the server, unless that is wanted.

    Raises:
        NotAllowed: see above.
    """
    if remote or _is_here(host):
        return
    raise NotAllowed(
        f"{host} is reached from other machines, and the token would go over the network as it is",
        hint="listen at 127.0.0.1 behind a proxy that speaks TLS, and add --allow-remote",
    )


def _is_here(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises:
        ConfigError: nobody can listen there.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        found = socket.socket(family, kind, proto)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen(MOST_CONNECTIONS)
    except OSError as error:
        raise ConfigError(
            f"nobody can listen at {host}:{port}: {error.strerror}", hint="--port chooses another"
        ) from error
    return found


def serve(calls: Calls, place: socket.socket, token: str, *, remote: bool) -> NoReturn:
    """Serve until the process is told to stop, then end it."""
    hands = Hands()
    security = TransportSecuritySettings(
        # With the names of other machines a proxy's is one of them; the token stands between it and a browser.
        allowed_hosts=[] if remote else [name for host in HERE for name in (host, f"{host}:*")],
        allowed_origins=[f"http://{host}{port}" for host in HERE for port in ("", ":*")],
        enable_dns_rebinding_protection=not remote,
    )
    app = Face(calls, hands).server().streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=MOST_BYTES,
        transport_security=security,
    )  # fmt: skip
    config = uvicorn.Config(
        Guard(app, token),
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=LEAVE_S,
    )
    # The server raises the signal that stopped it once more at its end, when operations may still be at work.
    for sign in (signal.SIGTERM, signal.SIGINT):
        signal.signal(sign, lambda *_: None)
    uvicorn.Server(config).run(sockets=[place])
    hands.finish()
    complain("ended")
    os._exit(0)
