from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Literal

import pytest

from devclaw_py.agents import mailbox
from devclaw_py.agents.base import AgentState, Condition, Workplace
from devclaw_py.agents.kinds import open_agent
from devclaw_py.agents.scripted import ScriptedAgent
from devclaw_py.agents.surroundings import session_limit
from devclaw_py.errors import ConfigError
from devclaw_py.model.finding import Severity
from devclaw_py.model.following import End
from devclaw_py.model.pipeline import Role, Tier
from devclaw_py.model.settings import AgentSettings
from devclaw_py.terminals.base import TerminalSession


def scripted(*program: str) -> ScriptedAgent:
    return ScriptedAgent(AgentSettings(kind="scripted", program=program))


def place(folder: Path) -> Workplace:
    return Workplace(
        session="a",
        workspace=folder,
        group_id="-1",
        project="p",
        role=Role.QA,
        tier=Tier.QA,
        model="m",
        worktree=folder,
        folder=folder,
    )


@pytest.mark.parametrize("kind", ["claude", "scripted"])
def test_an_agent_is_opened_by_its_name_whether_its_program_is_there_or_not(
    tmp_path: Path, kind: Literal["claude", "scripted"]
) -> None:
    assert open_agent(AgentSettings(kind=kind, claude_bin="/no/such"), tmp_path).kind == kind


def test_a_scripted_agent_without_a_program_cannot_be_launched(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="program"):
        scripted().launch(place(tmp_path), resume=False, base_env={})


@pytest.mark.parametrize(
    ("program", "severity"),
    [((), Severity.CRITICAL), (("/no/such",), Severity.CRITICAL), (("sh",), Severity.OK)],
)
def test_doctor_says_whether_the_program_can_be_run(program: tuple[str, ...], severity: Severity) -> None:
    assert [finding.severity for finding in scripted(*program).diagnose()] == [severity]


def test_doctor_says_how_a_program_becomes_executable(tmp_path: Path) -> None:
    program = tmp_path / "my worker"
    program.write_text("#!/bin/sh\n")

    assert scripted(str(program)).diagnose()[0].mend == f"chmod +x '{program}'"


@pytest.mark.parametrize(
    ("record", "state"),
    [
        (None, AgentState.STARTING),
        ("{half", AgentState.UNKNOWN),
        ("[]", AgentState.UNKNOWN),
        ('{"status": "idle"}', AgentState.UNKNOWN),
        ('{"status": "idle", "pid": PID}', AgentState.IDLE),
        ('{"status": "working", "pid": PID}', AgentState.WORKING),
        ('{"status": "dancing", "pid": PID}', AgentState.UNKNOWN),
        ('{"status": "idle", "pid": 4194304}', AgentState.UNKNOWN),
    ],
)
def test_what_the_loop_says_of_itself_is_believed_only_in_its_own_form(
    tmp_path: Path, record: str | None, state: AgentState
) -> None:
    if record is not None:
        # The number stands here and not in the test's name, which all test processes must agree on.
        (tmp_path / mailbox.STATE).write_text(record.replace("PID", str(os.getpid())))

    session = TerminalSession(name="a", alive=True)
    assert scripted("true").state(tmp_path, session, lambda: "") == Condition(state=state)


PANE = TerminalSession(name="shop-dev-medior", alive=True)


@pytest.mark.parametrize(
    ("record", "words"),
    [
        ('{"code": 3, "signal": null}', "its program ended with exit code 3"),
        ('{"code": null, "signal": 9}', "its program was ended by SIGKILL"),
        ('{"code": null, "signal": 63}', "its program was ended by signal 63"),
        ('{"code": 127, "signal": null, "error": "sh could not be started"}', "sh could not be started"),
    ],
)
def test_how_a_turn_ended_is_told_in_words(tmp_path: Path, record: str, words: str) -> None:
    mailbox.make(tmp_path)
    assert scripted("true").ended(tmp_path, PANE, "1.2") is None

    (tmp_path / mailbox.EVENTS / "ended-1.2.json").write_text(record)

    ended = scripted("true").ended(tmp_path, PANE, "1.2")
    assert ended is not None
    assert (ended.how, ended.words) == (End.PROGRAM, words)


def test_a_notice_cannot_pose_as_a_task() -> None:
    assert scripted("true").notice("x\r\ndevclaw-task 1.1 /y") == "devclaw-notice x devclaw-task 1.1 /y"


def test_a_configured_limit_is_taken_as_it_is_and_the_machines_is_between_one_and_twelve() -> None:
    assert session_limit(40, alive=0) == 40
    assert 1 <= session_limit(0, alive=0) <= 12


@pytest.mark.parametrize(
    ("free_mb", "alive", "limit"), [(24_000, 0, 12), (1000, 0, 5), (1000, 3, 8), (1000, 11, 12), (150, 3, 3), (0, 0, 1)]
)
def test_free_memory_limits_the_sessions_that_may_live(
    monkeypatch: pytest.MonkeyPatch, free_mb: int, alive: int, limit: int
) -> None:
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=free_mb * 1_000_000))

    assert session_limit(0, alive=alive) == limit


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_nothing_aside(tmp_path: Path) -> None:
    mailbox.put(tmp_path / "a", "old")
    (tmp_path / "b").mkdir()

    with pytest.raises(OSError, match="directory"):
        mailbox.put(tmp_path / "b", "new")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
