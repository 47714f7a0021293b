"""Sessions over a terminal and an agent in memory."""

from __future__ import annotations

import json
import os
import shutil
import stat
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from devclaw_py.agents import mailbox, tokens
from devclaw_py.agents.base import AgentState, Workplace
from devclaw_py.agents.console import Console
from devclaw_py.agents.look import LookStatus
from devclaw_py.agents.memory import MemoryAgent
from devclaw_py.agents.sessions import Sessions
from devclaw_py.errors import DeliveryUnconfirmed, NotAllowed, SessionFailed, WorkerBusy
from devclaw_py.kernel.clock import VirtualClock
from devclaw_py.model.pipeline import Role, SessionAction, Tier
from devclaw_py.model.settings import LimitSettings, Settings
from devclaw_py.terminals.memory import MemoryTerminal, Started

NAME = "shop-dev-medior"
SECRET = {"PATH": "/bin", "HOME": "/home/ada", "GITHUB_TOKEN": "secret", "LC_TIME": "de_DE.UTF-8", "TMUX_TMPDIR": "/t"}


@dataclass
class Office:
    root: Path
    terminal: MemoryTerminal
    agent: MemoryAgent
    sessions: Sessions
    clock: VirtualClock

    def place(self, name: str = NAME) -> Workplace:
        return Workplace(
            session=name,
            workspace=self.root,
            group_id="-1001",
            project="shop",
            role=Role.DEV,
            tier=Tier.MEDIOR,
            model="m",
            worktree=self.root,
            folder=self.sessions.folder(name),
        )

    def ensure(self, name: str = NAME, *keep: str) -> SessionAction:
        return self.sessions.ensure(self.place(name), keep=frozenset(keep))

    def with_limit(self, limit: int) -> None:
        settings = Settings(limits=LimitSettings(sessions=limit))
        self.sessions = Sessions(self.terminal, self.agent, self.root, settings, self.clock, environ=SECRET)


@pytest.fixture
def office(tmp_path: Path) -> Office:
    terminal, clock = MemoryTerminal(), VirtualClock()
    agent = MemoryAgent(terminal)
    sessions = Sessions(terminal, agent, tmp_path, Settings(), clock, environ=SECRET)
    return Office(tmp_path.resolve(), terminal, agent, sessions, clock)


def test_an_absent_session_is_spawned_and_a_live_one_reused(office: Office) -> None:
    assert office.ensure() is SessionAction.SPAWN
    first = office.terminal.find(NAME)

    assert office.ensure() is SessionAction.SEND
    assert office.terminal.find(NAME) == first


def test_a_dead_session_is_resumed_where_its_agent_can(office: Office) -> None:
    office.ensure()
    office.terminal.kill(NAME)
    office.agent.resumes = True

    assert office.ensure() is SessionAction.RESUME
    assert office.terminal.panes[NAME].started.argv[-1] == "--resume"


def test_a_dead_session_without_a_conversation_is_spawned_anew(office: Office) -> None:
    office.ensure()
    office.terminal.kill(NAME)

    assert office.ensure() is SessionAction.SPAWN
    assert office.sessions.look(NAME).status is LookStatus.IDLE


def test_a_working_session_is_busy_after_a_short_grace(office: Office) -> None:
    office.ensure()
    office.agent.states[NAME] = AgentState.WORKING

    with pytest.raises(WorkerBusy, match=NAME):
        office.ensure()

    assert office.clock.monotonic() < 5


def test_an_agent_that_says_nothing_of_itself_is_neither_used_nor_ended(office: Office) -> None:
    office.ensure()
    office.agent.states[NAME] = AgentState.UNKNOWN

    with pytest.raises(SessionFailed, match=NAME):
        office.ensure()

    assert office.terminal.find(NAME) is not None


def test_a_session_that_does_not_get_ready_is_stopped_again(office: Office) -> None:
    office.agent.ready = False

    with pytest.raises(SessionFailed, match="not ready within 60 s"):
        office.ensure()

    assert office.terminal.sessions() == []


def test_a_session_that_asks_a_person_something_is_told_of_and_kept(office: Office) -> None:
    office.agent.ready = False
    office.agent.states[NAME] = AgentState.UNKNOWN
    office.agent.details[NAME] = "asks a person: do you trust this?"
    office.terminal.on_start = None

    with pytest.raises(SessionFailed, match="do you trust this") as failed:
        office.ensure()

    assert office.clock.monotonic() < 5
    assert failed.value.hint is not None
    assert "devclaw attach shop dev medior --write" in failed.value.hint
    office.sessions.leave(NAME)
    assert office.sessions.look(NAME).status is LookStatus.UNKNOWN


def test_a_session_that_asks_nothing_is_not_left_behind(office: Office) -> None:
    office.ensure()

    office.sessions.leave(NAME)

    assert office.terminal.sessions() == []


def test_a_conversation_that_is_lost_does_not_keep_its_desk_from_starting(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.ensure()
    office.terminal.kill(NAME)
    office.agent.resumes = True
    monkeypatch.setattr(office.agent, "lost", lambda place: True)
    play = office.terminal.on_start

    def refuses_to_resume(name: str, started: Started) -> None:
        if "--resume" in started.argv:
            office.terminal.kill(name, exit_code=1)
        elif play is not None:
            play(name, started)

    office.terminal.on_start = refuses_to_resume

    assert office.ensure() is SessionAction.SPAWN


def test_a_resume_that_fails_for_another_reason_is_not_given_up(office: Office) -> None:
    office.ensure()
    office.terminal.kill(NAME)
    office.agent.resumes = True
    starts: list[Started] = []

    def ends_at_once(name: str, started: Started) -> None:
        starts.append(started)
        office.terminal.kill(name, exit_code=1)

    office.terminal.on_start = ends_at_once

    with pytest.raises(SessionFailed, match="before it was ready"):
        office.ensure()

    assert [started.argv[-1] for started in starts] == ["--resume"]


def test_a_line_that_is_not_accepted_is_helped_along_and_not_typed_again(
    office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    office.ensure()
    office.agent.accepts = False
    nudged: list[str] = []

    def nudge(console: Console, line: str) -> None:
        nudged.append(line)
        mailbox.accept(console.folder, "4.1")

    monkeypatch.setattr(office.agent, "nudge", nudge)
    office.sessions.offer(NAME, "4.1", "text")
    office.sessions.wait_accepted(NAME, "4.1")

    assert office.terminal.typed(NAME) == nudged


def test_a_line_that_is_never_accepted_is_told_with_the_screen(office: Office) -> None:
    office.ensure()
    office.agent.accepts = False
    office.sessions.offer(NAME, "4.1", "text")

    with pytest.raises(DeliveryUnconfirmed, match=r"its screen: task 4\.1"):
        office.sessions.wait_accepted(NAME, "4.1")


def test_an_offer_holds_the_line_that_is_typed_for_it(office: Office) -> None:
    office.ensure()
    office.agent.accepts = False
    office.sessions.offer(NAME, "4.1", "text")

    offered = json.loads((office.sessions.folder(NAME) / "offers" / "4.1").read_text())

    assert [offered] == office.terminal.typed(NAME)


def test_a_session_left_half_started_is_started_anew(office: Office) -> None:
    office.ensure()
    office.agent.states[NAME] = AgentState.STARTING

    assert office.ensure() is SessionAction.SPAWN


def test_a_start_that_fails_after_its_effect_leaves_no_session(office: Office) -> None:
    office.terminal.fail_next("start", after_acting=True)

    with pytest.raises(SessionFailed):
        office.ensure()

    assert office.terminal.sessions() == []


def test_a_terminal_that_cannot_be_asked_is_not_an_absent_session(office: Office) -> None:
    office.ensure()
    office.terminal.fail_next("find")

    with pytest.raises(SessionFailed):
        office.sessions.look(NAME)


def test_looks_tell_idle_working_and_dead_apart(office: Office) -> None:
    for name in ("a", "b", "c"):
        office.ensure(name)
    office.agent.states["b"] = AgentState.WORKING
    office.terminal.kill("c", exit_code=3)

    looks = office.sessions.looks()

    assert {name: look.status.value for name, look in looks.items()} == {"a": "idle", "b": "working", "c": "dead"}
    assert looks["c"].exit_code == 3
    assert office.sessions.look("d").status is LookStatus.ABSENT


def test_at_the_limit_the_session_unused_longest_is_put_to_sleep(office: Office) -> None:
    office.with_limit(2)
    office.ensure("old")
    office.clock.sleep(10)
    office.ensure("young")
    office.clock.sleep(10)

    office.ensure("new")

    assert {session.name for session in office.terminal.sessions()} == {"young", "new"}


def test_sessions_to_keep_and_working_ones_are_not_put_to_sleep(office: Office) -> None:
    office.with_limit(2)
    office.ensure("kept")
    office.ensure("working")
    office.agent.states["working"] = AgentState.WORKING

    with pytest.raises(WorkerBusy, match="limit is 2"):
        office.ensure("new", "kept")

    assert {session.name for session in office.terminal.sessions()} == {"kept", "working"}


def test_an_agents_environment_has_nothing_of_the_callers_but_user_locale_and_path(office: Office) -> None:
    office.ensure()

    env = office.terminal.panes[NAME].started.env

    assert set(env) == {"PATH", "HOME", "LC_TIME", "TMUX_TMPDIR", "DEVCLAW_WORKSPACE"}
    assert env["PATH"].endswith(f"{os.pathsep}/bin")


def test_an_offer_is_accepted_by_the_agent_with_the_whole_message(office: Office) -> None:
    seen: list[tuple[str, str, str]] = []
    office.agent.work = lambda *task: seen.append(task)
    office.ensure()

    office.sessions.offer(NAME, "42.1", "do\r\nit ✓\n")

    office.sessions.wait_accepted(NAME, "42.1")
    assert seen == [(NAME, "42.1", "do\r\nit ✓\n")]


def test_an_accepted_offer_cannot_be_made_void(office: Office) -> None:
    office.ensure()
    office.sessions.offer(NAME, "42.1", "x")

    assert not office.sessions.void(NAME, "42.1")
    assert office.sessions.accepted(NAME, "42.1")


def test_a_void_offer_cannot_be_accepted(office: Office) -> None:
    office.agent.accepts = False
    office.ensure()
    office.sessions.offer(NAME, "42.1", "x")

    assert office.sessions.void(NAME, "42.1")
    assert office.sessions.void(NAME, "42.1")
    assert not mailbox.accept(office.sessions.folder(NAME), "42.1")


def test_what_was_never_offered_counts_as_void(office: Office) -> None:
    assert office.sessions.void(NAME, "42.1")


def test_a_deaf_worker_is_unconfirmed_and_its_offer_stays(office: Office) -> None:
    office.agent.accepts = False
    office.ensure()
    office.sessions.offer(NAME, "42.1", "x")

    with pytest.raises(DeliveryUnconfirmed, match="within 20 s"):
        office.sessions.wait_accepted(NAME, "42.1")

    assert (office.sessions.folder(NAME) / "offers" / "42.1").exists()


def test_a_worker_that_died_is_unconfirmed_before_the_time_is_up(office: Office) -> None:
    office.agent.accepts = False
    office.ensure()
    office.sessions.offer(NAME, "42.1", "x")
    office.terminal.kill(NAME)

    with pytest.raises(DeliveryUnconfirmed, match="ended"):
        office.sessions.wait_accepted(NAME, "42.1")

    assert office.clock.monotonic() < 5


def test_of_an_accept_and_a_void_at_once_exactly_one_wins(office: Office) -> None:
    folder = office.sessions.folder(NAME)
    mailbox.make(folder)
    with ThreadPoolExecutor(2) as pool:
        for number in range(200):
            offer, barrier = f"7.{number}", threading.Barrier(2)
            mailbox.put(folder / "offers" / offer, "")

            def race(
                act: Callable[[Path, str], bool], offer: str = offer, barrier: threading.Barrier = barrier
            ) -> bool:
                barrier.wait()
                return act(folder, offer)

            accepted, void = pool.map(race, [mailbox.accept, mailbox.void])
            assert accepted is not void
            assert mailbox.accepted(folder, offer) is accepted


def test_a_token_names_its_worker_and_no_other(office: Office) -> None:
    office.ensure("a")
    office.ensure("b")

    token = office.sessions.token("a")

    assert office.sessions.worker_of(token) == office.place("a")
    assert office.sessions.worker_of(token[:-1]) is None
    assert office.sessions.worker_of("") is None


def test_a_token_is_kept_while_the_session_lives_and_new_after_its_end(office: Office) -> None:
    office.ensure()
    token = office.sessions.token(NAME)
    office.ensure()
    assert office.sessions.token(NAME) == token

    office.sessions.stop(NAME)
    assert office.sessions.worker_of(token) is None
    office.ensure()

    assert office.sessions.token(NAME) != token


def test_only_its_owner_can_read_what_a_session_keeps(office: Office) -> None:
    office.ensure()
    folder = office.sessions.folder(NAME)

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "token").stat().st_mode) == 0o600


def test_no_secret_stands_in_what_the_terminal_is_started_with(office: Office) -> None:
    office.ensure()
    started = office.terminal.panes[NAME].started

    assert office.sessions.token(NAME) not in " ".join([*started.argv, *started.env.values()])


def test_a_process_with_a_foreign_worker_above_it_is_refused(office: Office, tmp_path: Path) -> None:
    with pytest.raises(NotAllowed):
        tokens._worker_with(office.sessions.root, tmp_path / "elsewhere" / "shop-dev-medior")


def test_telling_a_session_that_is_gone_is_no_error(office: Office) -> None:
    assert not office.sessions.tell(NAME, "stop")
    office.ensure()
    assert office.sessions.tell(NAME, "stop\nnow")
    assert office.terminal.typed(NAME) == ["notice stop now"]
    office.terminal.fail_next("send")
    assert not office.sessions.tell(NAME, "stop")


def test_a_session_that_another_devclaw_types_into_is_waited_for_and_then_given_up(office: Office) -> None:
    office.ensure()

    with office.sessions._typing(NAME), pytest.raises(SessionFailed, match="another devclaw"):
        office.sessions.offer(NAME, "42.1", "x")

    assert office.terminal.typed(NAME) == []


@pytest.mark.parametrize("name", ["", "../up", "a/b", "-x", "Ä", "a b"])
def test_a_name_that_is_no_session_name_gets_no_folder(office: Office, name: str) -> None:
    with pytest.raises(SessionFailed):
        office.sessions.folder(name)


def test_the_last_screen_is_kept_when_a_session_died(office: Office) -> None:
    office.ensure()
    office.terminal.send(NAME, "last words")
    office.terminal.kill(NAME)

    office.ensure()

    assert "last words" in (office.sessions.folder(NAME) / "last-screen.txt").read_text()


def test_a_session_folder_that_cannot_be_used_is_a_failed_session(office: Office) -> None:
    office.sessions.root.parent.mkdir(parents=True)
    office.sessions.root.write_text("a file where the folder should be")

    with pytest.raises(SessionFailed, match=NAME):
        office.ensure()
    with pytest.raises(SessionFailed, match=NAME):
        office.sessions.offer(NAME, "1.1", "x")


def test_a_session_whose_files_somebody_deleted_counts_as_dead(office: Office) -> None:
    office.ensure()
    shutil.rmtree(office.sessions.folder(NAME))

    assert office.sessions.look(NAME).status is LookStatus.DEAD


def test_a_session_with_an_open_offer_is_not_put_to_sleep(office: Office) -> None:
    office.with_limit(1)
    office.ensure()
    office.agent.accepts = False
    office.sessions.offer(NAME, "1.1", "a task")

    with pytest.raises(WorkerBusy):
        office.ensure("shop-dev-senior")

    assert office.sessions.look(NAME).status is LookStatus.IDLE
