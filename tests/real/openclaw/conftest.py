"""The real gateway with the plugin, a scripted model and a stand-in Telegram, all on loopback."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.faces.openclaw.manifest import FOLDER
from devclaw_py.kernel import proc
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.kernel.locks import hold
from tests.real.openclaw.model import Model
from tests.real.openclaw.story import tell
from tests.real.openclaw.telegram import OWNER, Telegram

ROOT = Path(__file__).parents[3]
START_S, TURN_S, CLI_S, STORY_S = 240.0, 90.0, 300.0, 800.0
TOKEN = "loopback-only"


def gateway_program() -> str:
    """Return DEVCLAW_OPENCLAW_BIN; skip without, or fail where DEVCLAW_REQUIRE names openclaw."""
    named = os.environ.get("DEVCLAW_OPENCLAW_BIN", "")
    if named and os.access(named, os.X_OK):
        return named
    missing = f"DEVCLAW_OPENCLAW_BIN={named!r} names no program"
    if "openclaw" in os.environ.get("DEVCLAW_REQUIRE", "").split(","):
        pytest.fail(f"{missing} and DEVCLAW_REQUIRE names openclaw; .ci/openclaw installs it")
    pytest.skip(missing)


@dataclass
class Gateway:
    """One gateway with a HOME of its own. It can be killed and started again."""

    program: str
    home: Path
    telegram: Telegram
    model: Model
    socket: str
    process: subprocess.Popen[bytes] | None = None

    @property
    def office(self) -> Path:
        """DevClaw's workspace."""
        return self.home / "office"

    @property
    def log(self) -> Path:
        return self.home / "gateway.log"

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.pathsep.join([str(self.home / "bin"), os.environ.get("PATH", os.defpath)]),
            "HOME": str(self.home),
            "LC_ALL": "C.UTF-8",
            "TMPDIR": str(self.home),
            "OPENCLAW_NO_RESPAWN": "1",
        }

    def configure(self, plugin: Path, **config: Any) -> None:
        """Write openclaw.json; the plugin is loaded from where it lies."""
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        found = _config(self, port, plugin, {"workspace": str(self.office), **config})
        folder = self.home / ".openclaw"
        folder.mkdir(mode=0o700, exist_ok=True)
        (folder / "openclaw.json").write_text(json.dumps(found, indent=1))

    def start(self) -> None:
        """Start, and return when the gateway listens to the chat and the child is ready."""
        polled, began = self.telegram.polled, self.child_starts()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [self.program, "gateway", "run"],
                env=self.env,
                cwd=self.home,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.wait(lambda: self.telegram.polled > polled and self.child_starts() > began, "the gateway is up", START_S)

    def child_starts(self) -> int:
        return self.words().count("devclaw: version ")

    def words(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def kill(self) -> None:
        """End the gateway as a power cut would, its children but the workers' tmux server left to themselves."""
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGKILL)
        self.process.wait(20)

    def stop(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(40)

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(20)
        proc.run(["tmux", "-L", self.socket, "kill-server"], timeout_s=10, env=self.env)

    def wait(self, condition: Callable[[], object], what: str, within_s: float = TURN_S) -> None:
        deadline = time.monotonic() + within_s
        while not condition():
            if self.process is not None and self.process.poll() is not None:
                raise AssertionError(f"the gateway ended with {self.process.returncode}\n{self.words()[-3000:]}")
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {within_s:g} s: {what}\n{self.words()[-3000:]}\n{self.telegram.said}")
            time.sleep(0.05)

    def cli(self, *words: str, check: bool = True) -> str:
        """Run the openclaw program; return what it printed."""
        done = proc.run([self.program, *words], timeout_s=CLI_S, cwd=self.home, env=self.env)
        assert not check or done.code == 0, f"{done.out}\n{done.err}"
        return done.out + done.err

    def devclaw(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool as a person does."""
        argv = [sys.executable, "-P", "-m", "devclaw_py", "call", tool, "-", "--workspace", str(self.office)]
        env = {**self.env, "PYTHONPATH": str(ROOT)}
        found: dict[str, Any] = json.loads(proc.run(argv, timeout_s=60, env=env, stdin=json.dumps(arguments)).out)
        assert found["success"], found
        return found

    def asked(self, chat: str, tool: str, arguments: dict[str, Any], **sender: Any) -> Any:
        """Have somebody in a group ask for a tool; return the result that the model was given."""
        before = len(self.model.results)
        self.telegram.write(chat, f"CALL {tool} {json.dumps(arguments)}", **sender)
        self.wait(lambda: len(self.model.results) > before, f"the result of {tool} in {chat}")
        return self.model.results[before]


def _config(gateway: Gateway, port: int, plugin: Path, config: dict[str, Any]) -> dict[str, Any]:
    model = {
        "id": "scripted",
        "name": "Scripted",
        "reasoning": False,
        "input": ["text"],
        "cost": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0},
        "contextWindow": 200000,
        "maxTokens": 8192,
    }
    provider = {"baseUrl": gateway.model.url, "apiKey": "none", "api": "openai-completions", "models": [model]}
    return {
        "gateway": {"mode": "local", "port": port, "bind": "loopback", "auth": {"mode": "token", "token": TOKEN}},
        "models": {"mode": "merge", "providers": {"standin": provider}},
        "agents": {
            "ownership": "explicit",
            "defaults": {
                "model": {"primary": "standin/scripted"},
                "skipBootstrap": True,
                "heartbeat": {"every": "0m"},
                # Otherwise the gateway posts a sentence of its own when the model has nothing to add.
                "silentReply": {"group": "allow"},
                "systemAgent": {"agentId": "orch"},
            },
            "entries": {"orch": {"workspace": str(gateway.home / "orch")}},
        },
        "bindings": [{"agentId": "orch", "match": {"channel": "telegram", "accountId": "*"}}],
        "channels": {
            "telegram": {
                "enabled": True,
                "botToken": "4242:standin",
                "apiRoot": gateway.telegram.url,
                "dmPolicy": "allowlist",
                "allowFrom": [str(OWNER)],
                "groupPolicy": "open",
                "joinIntro": False,
                "groups": {"*": {"requireMention": False}},
                "streaming": {"mode": "off"},
            }
        },
        "logging": {"file": str(gateway.home / "openclaw.log")},
        "commands": {"ownerAllowFrom": [f"telegram:{OWNER}"]},
        "plugins": {
            # Without the bundled rest a gateway is up in half the time.
            "allow": ["devclaw", "telegram"],
            "load": {"paths": [str(plugin)]},
            "entries": {"devclaw": {"enabled": True, "config": config}},
        },
    }


@contextmanager
def furnished(factory: pytest.TempPathFactory, plugin: Path = FOLDER, **config: Any) -> Iterator[Gateway]:
    """Give a gateway that has yet to be started, with its model and its chats, and end all of it."""
    home = factory.mktemp("gw")
    telegram, model = Telegram(), Model()
    telegram.start()
    model.start()
    gateway = Gateway(gateway_program(), home, telegram, model, socket=f"devclaw-test-{uuid.uuid4().hex[:8]}")
    for folder in (gateway.office, home / "bin"):
        folder.mkdir()
    devclaw = home / "bin" / "devclaw"
    devclaw.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -P -m devclaw_py "$@"\n')
    devclaw.chmod(0o755)
    gateway.configure(plugin, **config)
    try:
        yield gateway
    finally:
        gateway.end()
        telegram.end()
        model.end()


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The night, told once for all processes of a test run: a gateway's start costs more than what is read of it."""
    gateway_program()
    # Of a run with one process the parent is shared with other runs.
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    told = shared / "openclaw-story.json"
    with hold(shared / "openclaw-story.lock", wait_s=STORY_S, holder="story", clock=SystemClock()):
        if not told.exists():
            told.write_text(json.dumps(_tell(tmp_path_factory)))
        found: dict[str, Any] = json.loads(told.read_text())
    if "failed" in found:
        pytest.fail(found["failed"], pytrace=False)
    return found


def _tell(factory: pytest.TempPathFactory) -> dict[str, Any]:
    with furnished(factory) as gateway:
        try:
            return tell(gateway)
        except Exception:  # noqa: BLE001 - every test that reads the story tells why there is none
            return {"failed": traceback.format_exc()}
