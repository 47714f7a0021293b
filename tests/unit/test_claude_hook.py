"""The hook script, run by sh as Claude Code runs it."""

from __future__ import annotations

import json
import os
import shlex
import threading
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.agents import mailbox
from devclaw_py.agents.claude import events
from devclaw_py.kernel import proc

LINE = "devclaw-task 42.1: Read the file `/x/42.1.md` and do the task in it."


@dataclass
class Session:
    folder: Path

    def tell(self, event: str, **payload: Any) -> proc.Done:
        told = {"session_id": "s", "cwd": "/x", "hook_event_name": event, **payload}
        command = events.command(self.folder, event)["command"]
        text = json.dumps(told, ensure_ascii=False, separators=(",", ":"))
        return proc.run(["sh", "-c", command], timeout_s=30, env={"PATH": os.environ["PATH"]}, stdin=text + "\n")

    def prompt(self, text: str) -> int:
        return self.tell("UserPromptSubmit", prompt=text).code

    def names(self) -> list[str]:
        return [event.name for event in events.read(self.folder)]

    def accepted(self) -> bool:
        return mailbox.accepted(self.folder, "42.1")


@pytest.fixture
def session(tmp_path: Path) -> Session:
    folder = tmp_path / "it's a `folder`" / "shop-dev-medior"
    mailbox.make(folder)
    script = resources.files("devclaw_py.agents.claude").joinpath(events.HOOK).read_text()
    (folder / events.HOOK).write_text(script)
    return Session(folder)


@pytest.fixture
def offered(session: Session) -> Session:
    mailbox.put_offer(session.folder, "42.1", LINE)
    return session


def test_the_offered_line_accepts_its_offer(offered: Session) -> None:
    assert offered.prompt(LINE) == 0

    assert offered.accepted()
    assert offered.names() == ["UserPromptSubmit"]


def test_an_accepted_task_is_not_started_twice(offered: Session) -> None:
    offered.prompt(LINE)

    assert offered.prompt(LINE) == 2
    assert offered.names()[-1] == "PromptBlocked"


def test_a_void_offer_is_blocked_and_stays_void(offered: Session) -> None:
    mailbox.void(offered.folder, "42.1")

    done = offered.tell("UserPromptSubmit", prompt=LINE)

    assert (done.code, offered.accepted()) == (2, False)
    assert "42.1" in done.err


@pytest.mark.parametrize(
    "prompt",
    [
        f"please {LINE}",
        f"{LINE} and more",
        f"{LINE}\n",
        f"{LINE}{LINE}",
        LINE.replace("/x/42.1.md", "/y"),
        f"\n\n<pasted_content id=\"22d1\">\n{LINE}\n</pasted_content id=\"22d1\">\n",
    ],
)  # fmt: skip
def test_the_line_with_anything_else_starts_no_turn_and_leaves_the_offer(offered: Session, prompt: str) -> None:
    assert offered.prompt(prompt) == 2
    assert not offered.accepted()
    assert (offered.folder / "offers" / "42.1").exists()


@pytest.mark.parametrize(
    "prompt",
    [
        "hello",
        "",
        "what is devclaw-task 42.1?",
        'say "devclaw-task 42.1"',
        "漢字\n$(id) `id` \\",
        "devclaw-notice: stop",
    ],
)
def test_what_names_no_task_passes(offered: Session, prompt: str) -> None:
    assert offered.prompt(prompt) == 0
    assert not offered.accepted()


@pytest.mark.parametrize("offer", ["../../x", "42.1/../42.1", "", ".", "42.1 "])
def test_no_other_file_can_be_named(offered: Session, offer: str) -> None:
    offered.prompt(f"devclaw-task {offer}: Read the file `/x` and do the task in it.")

    assert not offered.accepted()
    assert not list((offered.folder / "accepted").iterdir())


def test_a_path_that_json_must_escape_is_the_same_line(session: Session) -> None:
    line = LINE.replace("/x/", '/ä "x"\\$(id)/')
    mailbox.put_offer(session.folder, "42.1", line)

    assert (session.prompt(line), session.accepted()) == (0, True)


def test_half_a_megabyte_of_a_persons_text_passes_whole(offered: Session) -> None:
    text = "devclaw-task 1: x " * 30_000

    assert offered.prompt(text) == 0
    assert events.read(offered.folder)[0].text("prompt") == text


def test_of_an_acceptance_and_a_void_at_once_exactly_one_wins(session: Session) -> None:
    for number in range(20):
        offer = f"42.{number}"
        line = LINE.replace("42.1", offer)
        mailbox.put_offer(session.folder, offer, line)
        codes: list[int] = []

        accepting = threading.Thread(target=lambda line=line, codes=codes: codes.append(session.prompt(line)))
        accepting.start()
        voided = mailbox.void(session.folder, offer)
        accepting.join()

        assert voided is not mailbox.accepted(session.folder, offer)
        assert (codes[0] == 0) is not voided


def test_an_event_that_cannot_be_written_neither_fails_nor_keeps_the_task(offered: Session) -> None:
    (offered.folder / "events").rmdir()

    assert offered.tell("Stop").code == 0
    assert (offered.prompt(LINE), offered.accepted()) == (0, True)


def test_an_offer_that_is_seen_and_cannot_be_taken_starts_no_turn(offered: Session) -> None:
    (offered.folder / "accepted").rmdir()

    assert offered.prompt(LINE) == 2


def test_each_event_is_a_whole_file_that_only_its_owner_reads(session: Session) -> None:
    session.tell("Stop", last_assistant_message="ä" * 100_000)

    (file,) = (session.folder / "events").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert events.read(session.folder)[0].text("last_assistant_message") == "ä" * 100_000


def test_the_status_line_keeps_the_usage_and_names_the_session(session: Session) -> None:
    done = session.tell("status", cost={"total_cost_usd": 1})

    assert done.out == "devclaw shop-dev-medior\n"
    assert json.loads((session.folder / "usage.json").read_text())["cost"] == {"total_cost_usd": 1}
    assert session.names() == []


def test_events_come_in_the_order_in_which_they_happened(session: Session) -> None:
    for name in ("SessionStart", "UserPromptSubmit", "Stop", "UserPromptSubmit", "Stop", "SessionEnd"):
        session.tell(name)

    assert session.names() == ["SessionStart", "UserPromptSubmit", "Stop", "UserPromptSubmit", "Stop", "SessionEnd"]


def test_only_the_newest_events_are_kept(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "KEPT", 2)
    for name in ("SessionStart", "UserPromptSubmit", "Stop"):
        session.tell(name)

    events.prune(session.folder)

    assert session.names() == ["UserPromptSubmit", "Stop"]


def test_the_command_of_a_hook_is_one_that_a_shell_can_read(session: Session) -> None:
    words = shlex.split(events.command(session.folder, "Stop")["command"])
    assert words == ["exec", "sh", str(session.folder / "hook.sh"), "Stop"]
