"""A night of two groups on one gateway, told once; the tests read what was seen."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from devclaw_py.kernel import proc
from tests.real.openclaw.telegram import STRANGER

if TYPE_CHECKING:
    from tests.real.openclaw.conftest import Gateway

A, B, FORUM = "-1004001", "-1004002", "-1006001"
TOPIC = 42
GONE_S = 40.0

WORKER = """#!/bin/sh
set -eu
until [ -e "$DEVCLAW_WORKSPACE/may-$DEVCLAW_ROLE" ]; do sleep 0.1; done
case $DEVCLAW_ROLE in
dev) echo done >> work.txt; git add work.txt; git commit -q -m 'Do it'
     devclaw call task_complete '{"result": "done", "summary": "It stands."}' ;;
qa)  grep -q done work.txt
     devclaw call task_complete '{"result": "pass", "summary": "It works."}' ;;
esac
"""

Seen = dict[str, Any]


def tell(gateway: Gateway) -> Seen:
    """Live through the night and return what was seen of it."""
    _furnish(gateway)
    gateway.start()
    seen: Seen = {"first child": _child(gateway)}
    seen |= _meet(gateway)
    seen |= _refuse(gateway) | {"doctor": _examined(gateway)}
    seen |= _lose_the_child(gateway)
    seen |= _work_through_a_crash(gateway)
    seen |= _forget_that_it_was_sent(gateway)
    last = _child(gateway)
    gateway.stop()
    seen["child after a stop"] = _ends(last)
    seen |= {"A": gateway.telegram.heard_in(A), "B": gateway.telegram.heard_in(B), "said": gateway.telegram.said}
    return seen


def _furnish(gateway: Gateway) -> None:
    worker = gateway.office / "worker"
    worker.write_text(WORKER)
    worker.chmod(0o755)
    (gateway.office / "devclaw.toml").write_text(
        f'[agent]\nkind = "scripted"\nprogram = ["{worker}"]\n\n[terminal]\nsocket = "{gateway.socket}"\n\n'
        "[heartbeat]\nevery_s = 2\n"
    )
    (gateway.home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.org\n")
    for name in ("shop", "bakery", "forum"):
        for words in (("init", "-q", "-b", "main", name), ("-C", name, "commit", "-q", "--allow-empty", "-m", "begin")):
            done = proc.run(["git", *words], timeout_s=20, cwd=gateway.home, env=gateway.env)
            assert done.code == 0, done.err


def _meet(gateway: Gateway) -> Seen:
    """Register a project in each chat, and look what is offered and answered."""
    made = {
        name: gateway.asked(
            chat,
            "project_register",
            {"name": name, "repo": str(gateway.home / name), "baseBranch": "main", "autoChain": name == "shop"},
            topic=topic,
        )
        for name, chat, topic in (("shop", A, None), ("bakery", B, None), ("forum", FORUM, TOPIC))
    }
    gateway.wait(lambda: gateway.telegram.heard_in(A), "the registration is announced")
    before = len(gateway.telegram.said)
    gateway.telegram.write(A, "/devclaw status")
    gateway.wait(lambda: len(gateway.telegram.said) > before, "the slash command is answered")
    command = gateway.telegram.said[-1]
    asked = len(gateway.model.results)
    gateway.telegram.write(A, "/devclaw status", sender=STRANGER)
    gateway.wait(lambda: len(gateway.telegram.said) > before + 1, "the stranger's command is answered")
    return {
        "registered": made,
        "tools": list(gateway.model.tools),
        "command": command,
        "strangers command": gateway.telegram.said[-1],
        "asked by commands": len(gateway.model.results) - asked,
        "projects": json.loads((gateway.office / "memory" / "projects.json").read_text())["projects"],
    }


def _refuse(gateway: Gateway) -> Seen:
    return {
        "stranger": gateway.asked(A, "task_create", {"title": "Mine"}, sender=STRANGER),
        "across": gateway.asked(B, "task_create", {"projectGroupId": A, "title": "Into the shop"}),
        "own by its long name": gateway.asked(B, "queue_status", {"projectGroupId": f"telegram:{B}"}),
    }


def _examined(gateway: Gateway) -> list[list[str]]:
    """Return what doctor says of the running gateway, as kind and severity."""
    (gateway.home / "bin" / "openclaw").symlink_to(gateway.program)
    argv = [str(gateway.home / "bin" / "devclaw"), "doctor", "--openclaw", "--json", "--workspace", str(gateway.office)]
    done = proc.run(argv, timeout_s=120, cwd=gateway.home, env=gateway.env)
    kinds = ("openclaw", "config", "plugin", "groups", "silence", "tools", "child", "gateway")
    return [[found["type"], found["severity"]] for found in json.loads(done.out)["findings"] if found["type"] in kinds]


def _lose_the_child(gateway: Gateway) -> Seen:
    """Kill the child while nothing is asked of it."""
    lost, starts = _child(gateway), gateway.child_starts()
    os.kill(lost, signal.SIGKILL)
    gateway.wait(lambda: gateway.child_starts() > starts, "another child is started by itself")
    return {"lost child": lost, "next child": _child(gateway)}


def _work_through_a_crash(gateway: Gateway) -> Seen:
    """Let a task be picked up; kill the gateway while DEV works; let DEV report meanwhile; start the gateway again."""
    gateway.asked(A, "task_create", {"title": "Do it", "label": "To Do"})
    before = len(gateway.model.results)
    gateway.telegram.write(A, "Please pick up the next issue!")
    gateway.wait(lambda: len(gateway.model.results) > before, "the issue is picked up")
    picked = gateway.model.results[before]
    gateway.wait(lambda: _heard(gateway, "DEV (medior)"), "the pickup is announced")

    child = _child(gateway)
    gateway.kill()
    seen = {"picked up": picked, "child after a kill": _ends(child)}
    (gateway.office / "may-dev").touch()
    _until(lambda: "Testing" in (gateway.office / "memory/issues/shop/1.md").read_text(), "QA is chained")
    seen["heard while away"] = gateway.telegram.heard_in(A)[-1]

    gateway.start()
    gateway.wait(lambda: _heard(gateway, "QA (qa)"), "what happened meanwhile is announced")
    (gateway.office / "may-qa").touch()
    gateway.wait(lambda: _heard(gateway, "QA PASS"), "the end is announced")
    seen["issue"] = (gateway.office / "memory/issues/shop/1.md").read_text()
    return seen


def _forget_that_it_was_sent(gateway: Gateway) -> Seen:
    """Do to the journal what a kill between the gateway's answer and the next write does; wait until it is mended."""
    with _journal(gateway.office) as journal:
        key, body = journal.execute("SELECT key, body FROM outbox ORDER BY seq DESC LIMIT 1").fetchone()
        unsent = json.dumps({**json.loads(body), "sent": None, "tries": 0})
        journal.execute("UPDATE outbox SET sent = NULL, body = ? WHERE key = ?", (unsent, key))
    gateway.wait(lambda: not _unsent(gateway.office), "the row is sent again")
    return {"forgotten": key}


def _heard(gateway: Gateway, words: str) -> bool:
    return any(words in text for text in gateway.telegram.heard_in(A))


def _unsent(office: Path) -> list[Any]:
    with _journal(office) as journal:
        return list(journal.execute("SELECT key FROM outbox WHERE sent IS NULL"))


@contextmanager
def _journal(office: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(office / "memory" / "journal.db", timeout=20)
    try:
        with connection:
            yield connection
    finally:
        connection.close()


def _child(gateway: Gateway) -> int:
    line = next(line for line in reversed(gateway.words().splitlines()) if "devclaw: version" in line)
    return int(line.partition("process ")[2].partition(",")[0])


def _ends(pid: int) -> str:
    """Return whether a process ends by itself."""
    deadline = time.monotonic() + GONE_S
    while time.monotonic() < deadline:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return "gone"
        if state == "Z":
            return "gone"
        time.sleep(0.05)
    return "still there"


def _until(condition: Any, what: str, within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {what}"
        time.sleep(0.05)
