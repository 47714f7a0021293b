"""The hook script, run by sh as Claude Code runs it."""

from __future__ import annotations

import json
import os
import shlex
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.agents import mailbox, questions
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


ANSWER = '{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}'


@dataclass
class Asking:
    """A PermissionRequest hook that runs beside the test."""

    session: Session
    limit_s: float = 60
    done: list[proc.Done] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        told = json.dumps({"tool_name": "Bash", "tool_input": {"command": "$(id) `id` \\n %s %d ' \" ä" * 2000}})
        command = events.command(self.session.folder, f"PermissionRequest {self.limit_s}")["command"]
        argv = ["sh", "-c", command]
        self.done.append(proc.run(argv, timeout_s=30, env={"PATH": os.environ["PATH"]}, stdin=told + "\n"))

    def record(self) -> dict[str, Any]:
        deadline = time.monotonic() + 20
        while not (found := list(questions.records(self.session.folder))):
            assert time.monotonic() < deadline, "no question came"
            time.sleep(0.02)
        return dict(found[0])

    def answer(self, record: dict[str, Any], text: str) -> None:
        aside = self.session.folder / "aside"
        aside.write_text(text)
        os.link(aside, questions.answer(self.session.folder, record["id"]))

    def said(self) -> proc.Done:
        self._thread.join(20)
        (done,) = self.done
        return done


def test_a_question_becomes_a_file_and_its_answer_the_hooks_words(session: Session) -> None:
    asking = Asking(session)
    record = asking.record()
    assert record["asked"]["tool_input"]["command"].startswith("$(id) `id` \\n %s %d ' \" ä")
    assert record["expires"] - record["at"] == 60
    assert questions.waits(session.folder, record, now=time.time())

    asking.answer(record, ANSWER + '\n{"by": "ann"}\n')

    done = asking.said()
    assert (done.code, done.out, done.err) == (0, ANSWER + "\n", "")
    assert not questions.waits(session.folder, record, now=time.time())
    assert session.names() == ["PermissionRequest"]


def test_a_question_that_nobody_answers_is_denied_and_decided(session: Session) -> None:
    asking = Asking(session, limit_s=1)
    record = asking.record()

    decision = json.loads(asking.said().out)["hookSpecificOutput"]["decision"]

    assert decision["behavior"] == "deny"
    assert "nobody answered" in decision["message"]
    assert questions.decided(session.folder, record["id"]) == record


def test_an_answer_that_comes_with_the_limit_counts_or_is_refused(session: Session) -> None:
    asking = Asking(session, limit_s=1)
    record = asking.record()
    counted = True
    time.sleep(max(0, record["expires"] - time.time()))
    try:
        asking.answer(record, ANSWER + "\n")
    except FileExistsError:
        counted = False

    assert (asking.said().out == ANSWER + "\n") is counted


def test_a_question_that_cannot_be_written_is_left_to_claudes_own_dialog(session: Session) -> None:
    (session.folder / "questions").rmdir()

    done = Asking(session).said()

    assert (done.code, done.out, done.err) == (0, "", "")


def test_at_its_limit_without_a_place_for_the_answer_it_is_denied_all_the_same(session: Session) -> None:
    asking = Asking(session, limit_s=1)
    asking.record()
    (session.folder / "answers").rmdir()

    assert json.loads(asking.said().out)["hookSpecificOutput"]["decision"]["behavior"] == "deny"


@pytest.fixture
def small_disk(session: Session) -> Iterator[Session]:
    """The session on a file system of its own, of 256 KB."""
    kept = (session.folder / events.HOOK).read_text()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(session.folder)]
    if os.geteuid() != 0 or proc.run(mount, timeout_s=10).code != 0:
        pytest.skip("cannot be had: this user may not mount a small file system")
    mailbox.make(session.folder)
    (session.folder / events.HOOK).write_text(kept)
    yield session
    proc.run(["umount", "--lazy", str(session.folder)], timeout_s=10)


def fill(folder: Path) -> None:
    """Leave no room on the folder's file system."""
    with (folder / "ballast").open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize)


def test_on_a_full_disk_a_question_is_left_to_claudes_own_dialog(small_disk: Session) -> None:
    fill(small_disk.folder)

    done = Asking(small_disk).said()

    assert (done.code, done.out, done.err) == (0, "", "")
    assert list((small_disk.folder / "questions").iterdir()) == []


def test_a_disk_that_fills_up_while_a_question_waits_does_not_hide_its_end(
    small_disk: Session,
) -> None:
    asking = Asking(small_disk, limit_s=2)
    record = asking.record()
    fill(small_disk.folder)

    assert json.loads(asking.said().out)["hookSpecificOutput"]["decision"]["behavior"] == "deny"
    assert questions.decided(small_disk.folder, record["id"]) == record


def test_a_hook_whose_claude_is_gone_ends_and_answers_nobody(session: Session) -> None:
    command = events.command(session.folder, "PermissionRequest 600")["command"]
    payload = session.folder / "payload"
    payload.write_text('{"tool_name": "Bash"}\n')
    script = f"sh -c {shlex.quote(command)} <{shlex.quote(str(payload))} >/dev/null 2>&1 & sleep 1"
    proc.run(["sh", "-c", script], timeout_s=30, env={"PATH": os.environ["PATH"]})
    deadline = time.monotonic() + 20

    def waiting() -> bool:
        found = list(questions.records(session.folder))
        return not found or questions.waits(session.folder, found[0], now=time.time())

    while waiting():
        assert time.monotonic() < deadline, "the hook outlives who started it"
        time.sleep(0.05)


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


@pytest.mark.parametrize(
    ("event", "rings"),
    [("Stop", True), ("StopFailure", True), ("SessionEnd", True), ("PostToolUse", False), ("SessionStart", False)],
)
def test_the_end_of_a_turn_wakes_the_heartbeat(session: Session, event: str, rings: bool) -> None:
    session.tell(event)

    assert (session.folder / mailbox.RUNG).exists() is rings


def test_an_event_is_kept_although_nobody_can_be_woken(session: Session) -> None:
    (session.folder / mailbox.RUNG).mkdir()

    assert session.tell("Stop").code == 0
    assert session.names() == ["Stop"]
