"""The child as the plugin meets it: a real process on real pipes, the gateway played by the test."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from devclaw_py import catalogue
from devclaw_py.kernel import proc
from devclaw_py.kernel.clock import SystemClock
from devclaw_py.model.announcement import Announcement
from devclaw_py.model.journal import OutboxRow
from devclaw_py.model.settings import Settings
from devclaw_py.state.files import FilesStore

ROOT = Path(__file__).parents[2]
WITHIN_S = 30.0
SHOP, BAKERY = "-1004001", "-1004002"


class Gateway:
    """The other end: asks the child, and answers what the child asks."""

    def __init__(self, workspace: Path, **config: Any) -> None:
        env = {"PATH": os.environ["PATH"], "HOME": str(workspace.parent), "PYTHONPATH": str(ROOT), "LC_ALL": "C.UTF-8"}
        self._log = (workspace / "child.log").open("wb")
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "devclaw_py", "openclaw", "child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=env,
        )
        self.workspace, self.config = workspace, {"workspace": str(workspace), **config}
        self.sent: list[dict[str, Any]] = []
        self.answer_send: Callable[[dict[str, Any]], dict[str, Any]] = lambda params: {"result": {}}
        self._answers: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        self._ids = iter(range(1, 1000))
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            message = json.loads(line)
            if message.get("method") == "send":
                self.sent.append(message["params"])
                self._write({"id": message["id"], **self.answer_send(message["params"])})
            else:
                self._answers.put(message)

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._write({"id": next(self._ids), "method": method, "params": params})
        return self._answers.get(timeout=WITHIN_S)

    def ready(self) -> dict[str, Any]:
        return self.ask("initialize", protocol=1, tools=list(catalogue.TOOLS), config=self.config)

    def call(self, tool: str, group: str = SHOP, sender: str = "777", **arguments: Any) -> dict[str, Any]:
        found = self.ask("tool.call", tool=tool, arguments=arguments, context=context(group, sender))
        answer: dict[str, Any] = found["result"]
        return answer

    def end(self) -> int:
        assert self.process.stdin is not None
        self.process.stdin.close()
        code = self.process.wait(WITHIN_S)
        self._reading.join(WITHIN_S)
        assert self.process.stdout is not None
        self.process.stdout.close()
        self._log.close()
        return code


def context(group: str, sender: str = "777") -> dict[str, Any]:
    return {
        "sessionKey": f"agent:orch:telegram:group:{group}",
        "deliveryContext": {"channel": "telegram", "to": f"telegram:{group}", "accountId": "default"},
        "requesterSenderId": sender,
        "senderIsOwner": sender == "777",
    }


def git(folder: Path, *words: str) -> None:
    done = proc.run(["git", "-c", "user.name=A", "-c", "user.email=a@b.c", *words], timeout_s=20, cwd=folder)
    assert done.code == 0, done.err


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "office"
    folder.mkdir()
    return folder


@pytest.fixture
def repo(tmp_path: Path) -> Callable[[str], Path]:
    def make(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        git(folder, "init", "-q", "-b", "main")
        git(folder, "commit", "-q", "--allow-empty", "-m", "begin")
        return folder

    return make


@pytest.fixture
def gateway(workspace: Path) -> Iterator[Gateway]:
    opened = Gateway(workspace)
    yield opened
    if opened.process.poll() is None:
        opened.end()


@pytest.fixture
def ready(gateway: Gateway) -> Gateway:
    assert "result" in gateway.ready()
    return gateway


def register(gateway: Gateway, repo: Path, group: str = SHOP) -> dict[str, Any]:
    return gateway.call("project_register", group, name=repo.name, repo=str(repo), baseBranch="main")


def wait_for(condition: Callable[[], object]) -> None:
    tick = threading.Event()
    for _ in range(int(WITHIN_S * 20)):
        if condition():
            return
        tick.wait(0.05)
    raise AssertionError("not in time")


def test_the_child_says_who_it_is(gateway: Gateway, workspace: Path) -> None:
    found = gateway.ready()["result"]

    assert (found["pid"], found["workspace"]) == (gateway.process.pid, str(workspace))


def test_the_child_ends_when_its_input_does(ready: Gateway) -> None:
    assert ready.end() == 0


def test_a_plugin_of_another_protocol_is_told_what_to_do(gateway: Gateway) -> None:
    found = gateway.ask("initialize", protocol=99, tools=[], config={})

    assert "devclaw openclaw install" in found["error"]["message"]


def test_a_plugin_with_other_tools_is_told_which(gateway: Gateway) -> None:
    tools = [name for name in catalogue.TOOLS if name != "queue_status"]
    found = gateway.ask("initialize", protocol=1, tools=tools, config=gateway.config)

    assert "differ in queue_status" in found["error"]["message"]


def test_nothing_is_answered_before_the_child_is_set_up(gateway: Gateway) -> None:
    assert gateway.ask("tool.call", tool="queue_status")["error"]["message"] == "initialize comes first"


def test_a_model_in_the_plugins_config_that_cannot_be_is_refused(workspace: Path) -> None:
    gateway = Gateway(workspace, models={"jnior": "x"})

    assert "unknown key models.jnior" in gateway.ready()["error"]["message"]
    gateway.end()


def test_the_models_of_the_plugins_config_count_for_every_process_of_the_workspace(workspace: Path) -> None:
    gateway = Gateway(workspace, models={"qa": "anthropic/claude-x"})
    gateway.ready()
    gateway.end()

    done = proc.run(
        [sys.executable, "-P", "-m", "devclaw_py", "config", "--json", "--workspace", str(workspace)],
        timeout_s=WITHIN_S,
        env={"PATH": os.environ["PATH"], "HOME": str(workspace.parent), "PYTHONPATH": str(ROOT)},
    )

    assert "anthropic/claude-x" in done.out


def test_a_group_registers_its_own_project_and_sees_it_alone(ready: Gateway, repo: Callable[[str], Path]) -> None:
    assert register(ready, repo("shop"))["success"]
    assert register(ready, repo("bakery"), BAKERY)["success"]

    seen = ready.call("queue_status", BAKERY)

    assert [project["name"] for project in seen["projects"]] == ["bakery"]


def test_a_group_cannot_act_on_anothers_project(ready: Gateway, repo: Callable[[str], Path]) -> None:
    register(ready, repo("shop"))
    register(ready, repo("bakery"), BAKERY)

    answer = ready.call("task_create", BAKERY, projectGroupId=SHOP, title="Into the other one")

    assert answer["error"]["code"] == "not_allowed"


def test_a_group_may_write_its_own_id_as_the_gateway_shows_it(ready: Gateway, repo: Callable[[str], Path]) -> None:
    register(ready, repo("shop"))

    assert ready.call("queue_status", projectGroupId=f"telegram:{SHOP}")["success"]


def test_a_stranger_is_refused_and_leaves_its_line_alone(
    ready: Gateway, repo: Callable[[str], Path], workspace: Path
) -> None:
    register(ready, repo("shop"))

    answer = ready.call("task_create", sender="666", title="Mine", label="To Do")

    assert answer["error"]["code"] == "not_allowed"
    assert ready.call("queue_status")["counts"] == {"toImprove": 0, "toTest": 0, "toDo": 0}
    lines = [json.loads(line) for line in (workspace / "memory" / "audit.log").read_text().splitlines()]
    assert [(line["caller"], line["error"]) for line in lines if line["event"] == "task_create"] == [
        ("sender:666", "not_allowed")
    ]


def test_a_session_of_the_gateway_that_holds_a_task_may_report_it_alone(
    ready: Gateway, repo: Callable[[str], Path], workspace: Path
) -> None:
    register(ready, repo("shop"))
    path, key = workspace / "memory" / "projects.json", "agent:orch:subagent:a9e4"
    found = json.loads(path.read_text())
    seat = {"active": True, "issueId": "7", "model": "medior", "startTime": None, "sessions": {"medior": key}}
    found["projects"][SHOP]["dev"] = seat
    path.write_text(json.dumps(found))

    answers = [
        ready.ask("tool.call", tool="task_comment", arguments={"issueId": n, "body": "x"}, context={"sessionKey": key})
        for n in (7, 8)
    ]

    # There is no #7 in the tracker, and that is asked after the caller.
    assert [answer["result"]["error"]["code"] for answer in answers] == ["invalid_arguments", "not_allowed"]


def test_a_group_without_a_project_is_not_told_of_others(ready: Gateway, repo: Callable[[str], Path]) -> None:
    register(ready, repo("secret"))

    answer = ready.call("task_create", BAKERY, title="Anything")

    assert answer["error"]["code"] == "unknown_project"
    assert "secret" not in json.dumps(answer)


def test_a_project_learns_its_channel_from_the_group_that_registers_it(
    ready: Gateway, repo: Callable[[str], Path], workspace: Path
) -> None:
    register(ready, repo("shop"))

    entry = json.loads((workspace / "memory" / "projects.json").read_text())["projects"][SHOP]
    assert entry["channel"] == "telegram"


def test_an_announcement_is_sent_to_the_group_and_said_to_be(ready: Gateway, repo: Callable[[str], Path]) -> None:
    ready.ask("service.start")
    answer = register(ready, repo("shop"))

    wait_for(lambda: ready.sent)

    assert answer["announced"] is True
    assert [(found["to"], found["channel"], found["text"]) for found in ready.sent] == [
        (SHOP, "telegram", answer["announcement"])
    ]


def test_an_answer_that_nobody_announces_is_not_said_to_be(ready: Gateway, repo: Callable[[str], Path]) -> None:
    ready.ask("service.start")
    register(ready, repo("shop"))

    assert "announced" not in ready.call("queue_status")


def test_what_another_process_queued_is_sent_as_well(
    ready: Gateway, repo: Callable[[str], Path], workspace: Path
) -> None:
    ready.ask("service.start")
    register(ready, repo("shop"))
    store = FilesStore(workspace, SystemClock(), Settings())
    told = Announcement(emoji="✅", text="DEV done #1")
    store.journal.queue(OutboxRow(key="op:complete", group_id=SHOP, announcement=told, at=SystemClock().now()))

    wait_for(lambda: len(ready.sent) == 2)

    assert (ready.sent[1]["key"], ready.sent[1]["text"]) == ("devclaw:op:complete", "✅ DEV done #1")


def test_a_report_by_command_line_leaves_its_announcement_to_the_child(
    ready: Gateway, repo: Callable[[str], Path], workspace: Path
) -> None:
    ready.ask("service.start")
    register(ready, repo("shop"))
    ready.end()
    arguments = {"projectGroupId": SHOP, "title": "Add a footer"}

    done = proc.run(
        [sys.executable, "-P", "-m", "devclaw_py", "call", "task_create", "-", "--workspace", str(workspace)],
        timeout_s=WITHIN_S,
        env={"PATH": os.environ["PATH"], "HOME": str(workspace.parent), "PYTHONPATH": str(ROOT)},
        stdin=json.dumps(arguments),
    )

    assert json.loads(done.out)["announced"] is True
    assert len(FilesStore(workspace, SystemClock(), Settings()).journal.outbox(SHOP)) == 1


def test_what_the_gateway_did_not_take_waits_under_the_same_key(
    ready: Gateway, repo: Callable[[str], Path], workspace: Path
) -> None:
    ready.answer_send = lambda params: {"error": {"code": -32000, "message": "the chat is down"}}
    ready.ask("service.start")
    register(ready, repo("shop"))

    wait_for(lambda: ready.sent)

    (row,) = FilesStore(workspace, SystemClock(), Settings()).journal.outbox(SHOP)
    assert f"devclaw:{row.key}" == ready.sent[0]["key"]


def test_a_long_operation_is_answered_with_its_id_and_told_at_its_end(
    workspace: Path, repo: Callable[[str], Path]
) -> None:
    gateway = Gateway(workspace, answerWithinS=0.05)
    gateway.ready()
    gateway.ask("service.start")
    store = FilesStore(workspace, SystemClock(), Settings())
    with store.hold("register", wait_s=5, holder="the test"):
        answer = register(gateway, repo("shop"))
    assert (answer["pending"], answer["announced"]) == (True, True)

    wait_for(lambda: gateway.sent)

    assert gateway.sent[0]["key"].startswith(f"devclaw:{answer['operation']}:")
    gateway.end()


def test_a_long_operation_that_fails_tells_so(workspace: Path, tmp_path: Path) -> None:
    gateway = Gateway(workspace, answerWithinS=0.05)
    gateway.ready()
    gateway.ask("service.start")
    store = FilesStore(workspace, SystemClock(), Settings())
    with store.hold("register", wait_s=5, holder="the test"):
        register(gateway, tmp_path / "nowhere")

    wait_for(lambda: gateway.sent)

    assert gateway.sent[0]["text"].startswith("⌛ project_register ended: ")
    gateway.end()


@pytest.mark.parametrize(
    ("words", "said"), [("status", "📊 shop: nothing waits"), ("health", "💚"), ("what", "/devclaw ")]
)
def test_a_slash_command_is_answered_without_a_model(
    ready: Gateway, repo: Callable[[str], Path], words: str, said: str
) -> None:
    register(ready, repo("shop"))

    assert ready.ask("command", words=words, context=context(SHOP))["result"]["text"].startswith(said)


def test_a_strangers_slash_command_is_refused(ready: Gateway) -> None:
    assert ready.ask("command", words="status", context=context(SHOP, "666"))["result"]["text"].startswith(
        "✖ sender 666"
    )


def test_what_a_program_prints_does_not_reach_the_protocol(workspace: Path) -> None:
    code = (
        "import os, sys; from devclaw_py.faces.openclaw import child; real = child.Child.serve\n"
        "def serve(self, *streams):\n    print('noise'); os.system('echo noise'); real(self, *streams)\n"
        "child.Child.serve = serve; child.run()"
    )
    done = proc.run(
        [sys.executable, "-P", "-c", code],
        timeout_s=WITHIN_S,
        env={"PATH": os.environ["PATH"], "HOME": str(workspace), "PYTHONPATH": str(ROOT)},
        stdin='{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n',
    )

    assert "noise" not in done.out
    assert json.loads(done.out)["id"] == 1
