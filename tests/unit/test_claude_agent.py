"""The agent over files as Claude Code leaves them."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from devclaw_py.agents import mailbox
from devclaw_py.agents.base import AgentState, Condition, Workplace
from devclaw_py.agents.claude import conversation, presence
from devclaw_py.agents.claude.agent import ClaudeAgent
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.settings import AgentSettings
from devclaw_py.terminals.base import TerminalSession

ID, NEXT = "11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222"
NOW = 2_000_000_000.0


@dataclass
class Session:
    """A session's folder whose process is this one."""

    root: Path
    agent: ClaudeAgent
    screen: str = ""
    looks: int = 0
    now: float = NOW
    files: int = 0

    @property
    def folder(self) -> Path:
        return self.root / "memory" / "sessions" / "shop-dev-medior"

    @property
    def transcript(self) -> Path:
        return self.root / "transcript.jsonl"

    @property
    def place(self) -> Workplace:
        return Workplace(
            session=self.folder.name,
            workspace=self.root,
            group_id="-1",
            project="shop",
            role=Role.DEV,
            tier=Tier.MEDIOR,
            model="m",
            worktree=self.root,
            folder=self.folder,
        )

    def begin(self, ago: float = 60) -> None:
        first = conversation.first(self.root, self.root / "config", at=self.now - ago)
        conversation.save(self.folder, first.model_copy(update={"id": ID}))

    def tell(self, name: str, ago: float = 1, **payload: Any) -> None:
        self.files += 1
        path = self.folder / "events" / f"{self.files}-1-{name}.json"
        path.write_text(json.dumps({"session_id": ID, "transcript_path": str(self.transcript), **payload}))
        os.utime(path, (self.now - ago, self.now - ago))

    def status(self, ago: float, **payload: Any) -> None:
        path = self.folder / "usage.json"
        path.write_text(json.dumps(payload))
        os.utime(path, (self.now - ago, self.now - ago))

    def says(self, status: str, ago: float = 30, **more: Any) -> None:
        record = {"pid": os.getpid(), "status": status, "statusUpdatedAt": (self.now - ago) * 1000, **more}
        mailbox.put(self.root / "config" / "sessions" / f"{os.getpid()}.json", json.dumps(record))

    def state(self) -> Condition:
        session = TerminalSession(name=self.folder.name, alive=True, pid=os.getpid())
        return self.agent.state(self.folder, session, self.look)

    def look(self) -> str:
        self.looks += 1
        return self.screen

    def log(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "states.log").read_text().splitlines()]


@pytest.fixture
def session(tmp_path: Path) -> Session:
    found = Session(tmp_path, ClaudeAgent(AgentSettings(), tmp_path, now=lambda: found.now))
    mailbox.make(found.folder)
    (tmp_path / "config" / "sessions").mkdir(parents=True)
    found.transcript.write_text("{}\n")
    mailbox.put(found.folder / "mcp-ready", "{}")
    return found


def test_a_session_that_told_its_start_and_is_idle_is_ready(session: Session) -> None:
    session.begin()
    session.tell("SessionStart", 50)
    session.says("idle")

    assert session.state() == Condition(state=AgentState.IDLE)
    assert session.looks == 0


def test_events_of_an_earlier_start_do_not_count(session: Session) -> None:
    session.begin(1)
    session.tell("SessionStart", 50)
    session.tell("Stop", 40)

    assert session.state().state is AgentState.STARTING


def test_a_state_file_of_another_process_with_the_same_number_does_not_count(session: Session) -> None:
    session.begin()
    session.tell("SessionStart", 50)
    if presence.start_ticks(os.getpid()) is None:
        pytest.skip("the kernel does not say when a process was started")
    session.says("idle", procStart="1")

    assert session.state().state is AgentState.UNKNOWN


@pytest.mark.parametrize("text", ["", "{half", "[]", '{"pid": 1, "status": "idle"}', '{"status": 3}'])
def test_a_state_file_in_another_form_is_none(session: Session, text: str) -> None:
    session.says("idle")
    (session.root / "config" / "sessions" / f"{os.getpid()}.json").write_text(text)

    assert presence.read(session.root / "config", os.getpid()) is None


def test_keys_beside_the_state_file_are_not_opened(session: Session) -> None:
    session.begin()
    session.tell("SessionStart", 50)
    session.says("idle")
    key = session.root / "config" / "sessions" / f"{os.getpid()}.0123.key"
    key.mkdir()

    assert session.state().state is AgentState.IDLE


def test_the_screen_of_a_start_is_read_only_after_a_while(session: Session) -> None:
    session.screen = " Accessing workspace:\n ❯ No, exit\n   Yes\n Enter to confirm · Esc to cancel"
    session.begin(1)
    assert session.state().state is AgentState.STARTING
    assert session.looks == 0

    session.now += 5

    assert session.state().state is AgentState.UNKNOWN
    assert "Accessing workspace" in session.state().detail


def test_a_start_with_words_nobody_knows_is_a_dialog_after_a_long_while(session: Session) -> None:
    session.screen = "Something new since yesterday"
    session.begin(5)
    assert session.state().state is AgentState.STARTING

    session.now += 60

    assert "Something new" in session.state().detail


def test_each_change_of_state_is_one_line_with_its_evidence(session: Session) -> None:
    session.begin()
    session.tell("SessionStart", 50)
    session.says("idle")
    session.state()
    session.state()
    session.says("busy")
    session.state()

    assert [(line["state"], line["source"]) for line in session.log()] == [
        ("ready", "hooks and state file"),
        ("working", "state file"),
    ]


def test_a_log_that_cannot_be_written_costs_no_state(session: Session) -> None:
    session.begin()
    session.tell("SessionStart", 50)
    session.says("idle")
    (session.folder / "states.log").mkdir()

    assert session.state().state is AgentState.IDLE


def test_a_conversation_is_followed_over_a_clear(session: Session) -> None:
    session.begin()
    session.tell("SessionStart", 50)
    session.tell("SessionEnd", 40, reason="clear")
    session.tell("SessionStart", 39, session_id=NEXT, source="clear")

    found = conversation.load(session.folder)

    assert found is not None
    assert (found.id, found.former) == (NEXT, (ID,))


def test_a_conversation_that_a_person_began_is_not_devclaws(session: Session) -> None:
    session.begin()
    first = conversation.load(session.folder)
    assert first is not None
    conversation.save(session.folder, first.fresh().model_copy(update={"id": NEXT}))
    ours = session.agent.context(session.folder)
    session.tell("SessionStart", 39, session_id="33333333", source="clear")
    theirs = session.agent.context(session.folder)

    assert ours is not None
    assert theirs is not None
    assert (ours.former, theirs.former) == ((ID,), ())


def test_how_full_a_conversation_is_comes_from_its_own_status_line(session: Session) -> None:
    session.begin()
    session.tell("Stop", 5)
    session.status(0.0, session_id=ID, context_window={"used_percentage": 71})
    found = session.agent.context(session.folder)
    session.status(0.0, session_id=NEXT, context_window={"used_percentage": 99})
    other = session.agent.context(session.folder)

    assert found is not None
    assert other is not None
    assert (found.used, other.used) == (0.71, None)


@pytest.mark.parametrize(
    "told", [{}, {"context_window": None}, {"context_window": {}}, {"context_window": {"used_percentage": None}}]
)
def test_how_full_it_is_may_not_be_known(session: Session, told: dict[str, Any]) -> None:
    session.begin()
    session.status(0.0, session_id=ID, **told)

    found = session.agent.context(session.folder)

    assert found is not None
    assert found.used is None


@pytest.mark.parametrize("name", ["Stop", "StopFailure", "PostCompact"])
def test_a_status_line_from_before_the_turns_end_is_not_current(session: Session, name: str) -> None:
    session.begin()
    session.status(9.0, session_id=ID, context_window={"used_percentage": 10})
    session.tell(name, 5)
    before = session.agent.context(session.folder)
    session.status(1.0, session_id=ID, context_window={"used_percentage": 70})
    after = session.agent.context(session.folder)

    assert before is not None
    assert after is not None
    assert (before.current, after.current) == (False, True)


def test_a_session_without_a_conversation_has_neither_context_nor_meter(session: Session) -> None:
    assert session.agent.context(session.folder) is None
    assert session.agent.meter(session.folder) is None


def test_the_meter_stands_at_the_transcripts_end(session: Session) -> None:
    session.begin()
    session.tell("SessionStart", 50)
    session.status(0.0, session_id=ID, cost={"total_cost_usd": 1.25})

    meter = session.agent.meter(session.folder)

    assert meter is not None
    assert (meter.file, meter.size, meter.cost_usd) == (str(session.transcript), 3, 1.25)


def test_a_conversation_is_resumed_only_where_it_has_a_transcript_and_was_had(session: Session) -> None:
    assert not session.agent.can_resume(session.place)
    session.begin()
    assert not session.agent.can_resume(session.place)
    session.tell("SessionStart", 50)

    assert session.agent.can_resume(session.place)
    assert not session.agent.can_resume(session.place.model_copy(update={"worktree": session.root / "other"}))
    session.transcript.unlink()
    assert not session.agent.can_resume(session.place)


def test_a_broken_record_of_a_conversation_is_none(session: Session) -> None:
    mailbox.put(session.folder / "conversation.json", '{"id": 3}')

    assert conversation.load(session.folder) is None


def test_a_failed_resume_is_lost_only_when_claude_code_says_so(session: Session) -> None:
    assert not session.agent.lost(session.place)
    mailbox.put(session.folder / "last-screen.txt", "API Error\n")
    assert not session.agent.lost(session.place)
    mailbox.put(session.folder / "last-screen.txt", f"No conversation found with session ID: {ID}\n")

    assert session.agent.lost(session.place)


def test_a_notice_is_one_short_line_and_no_task(session: Session) -> None:
    notice = session.agent.notice("stop\n/clear " + "x" * 5000)

    assert notice.startswith("devclaw-notice: stop /clear x")
    assert "\n" not in notice
    assert len(notice) < 800


def test_how_a_task_ended_is_known_by_its_own_line(session: Session) -> None:
    session.begin()
    session.tell("UserPromptSubmit", 9, prompt=session.agent.line("4.1", session.folder / "tasks" / "4.1.md"))
    session.tell("Stop", 8, last_assistant_message="ready")

    pane = TerminalSession(name="shop-dev-medior", alive=True)
    ended = session.agent.ended(session.folder, pane, "4.1")
    assert ended is not None
    assert ended.words == "its turn ended without a report; its last words: ready"
    assert session.agent.ended(session.folder, pane, "4.2") is None
