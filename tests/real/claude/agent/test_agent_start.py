"""The real Claude Code as a worker: it starts without a question, and nothing secret shows."""

from __future__ import annotations

import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import psutil
import pytest

from devclaw_py.agents.claude import launch
from devclaw_py.errors import ConfigError, SessionFailed
from devclaw_py.model.pipeline import SessionAction

if TYPE_CHECKING:
    from tests.real.claude.agent.conftest import Desk

CHOSEN = re.compile(r"❯ (1\. )?Yes, I trust")
MakeDesk = Callable[..., "Desk"]


def command_lines() -> Iterator[str]:
    for process in psutil.process_iter(["cmdline"]):
        yield " ".join(process.info["cmdline"] or [])


def test_a_session_starts_ready_in_a_home_that_was_only_onboarded(desk: Desk) -> None:
    assert desk.ensure() is SessionAction.SPAWN

    assert desk.presence()["status"] == "idle"
    assert "don't ask on" in desk.screen()
    assert desk.ensure() is SessionAction.SEND


def test_the_first_request_has_the_model_of_the_tier_and_the_tools_of_devclaw(desk: Desk) -> None:
    desk.ensure()

    desk.finish("42.1")

    body = desk.standin.turns[0].body
    assert body["model"] == "claude-sonnet-4-5"
    assert "mcp__devclaw__task_complete" in [tool["name"] for tool in body["tools"]]


def test_the_token_of_the_api_is_in_no_command_line_and_in_one_private_file(desk: Desk) -> None:
    desk.ensure()
    desk.finish("42.1")

    secret = desk.standin.token
    assert not [line for line in command_lines() if secret in line]
    assert secret not in desk.tmux.run("list-panes", "-a", "-F", "#{pane_start_command}")
    holders = [path for path in desk.folder.rglob("*") if path.is_file() and secret in path.read_text()]
    assert [path.name for path in holders] == ["settings.json"]
    assert stat.S_IMODE(holders[0].stat().st_mode) == 0o600
    assert all(request.authorized and not request.masked for request in desk.standin.turns)


def test_the_sessions_own_token_is_in_no_command_line(desk: Desk) -> None:
    desk.ensure()

    secret = desk.sessions.token(desk.place.session)
    assert not [line for line in command_lines() if secret in line]


def test_the_users_settings_stay_as_they_are(desk: Desk) -> None:
    settings = desk.home / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"theme": "light"}')

    desk.ensure()

    assert settings.read_text() == '{"theme": "light"}'
    kept = json.loads((desk.home / ".claude.json").read_text())
    assert not [project for project in kept.get("projects", {}).values() if project.get("hasTrustDialogAccepted")]


def test_a_dialog_at_the_start_is_told_with_its_text_and_waits_for_a_person(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(launch.SWITCHES, "CLAUDE_CODE_SANDBOXED")

    with pytest.raises(SessionFailed, match="Accessing workspace") as failed:
        desk.ensure()

    assert failed.value.hint is not None
    assert "devclaw attach shop dev medior --write" in failed.value.hint
    assert "No, exit" in desk.screen()
    desk.sessions.leave(desk.place.session)
    # Up to 2.1.197 the cursor stands on "yes" already.
    if not CHOSEN.search(desk.screen()):
        desk.keys("Down")
    desk.wait_for(lambda: CHOSEN.search(desk.screen()), "the cursor is on yes")
    desk.keys("Enter")
    desk.wait_idle()
    assert desk.ensure() is SessionAction.SEND


def test_a_tool_that_is_not_allowed_is_refused_to_the_model_and_nobody_is_asked(desk: Desk) -> None:
    desk.ensure()

    desk.finish("42.1", '[[standin: tool Bash {"command": "touch /tmp/x && curl --version"}]]')

    last = desk.standin.turns[-1].conversation.turn.replies[-1].results[-1]
    assert last.is_error
    assert "don't ask mode" in last.text


def test_a_worker_reads_writes_edits_and_uses_git_unasked(desk: Desk) -> None:
    desk.ensure()
    path = desk.place.worktree / "a.txt"
    steps = [
        ("Write", {"file_path": str(path), "content": "one\n"}),
        ("Edit", {"file_path": str(path), "old_string": "one", "new_string": "two"}),
        ("Bash", {"command": "git init -q . && git add a.txt"}),
        ("Bash", {"command": "git add a.txt && git diff --cached --stat && grep two a.txt"}),
    ]

    desk.finish("42.1", "".join(f"[[standin: tool {tool} {json.dumps(words)}]]\n" for tool, words in steps))

    results = [reply.results[0] for reply in desk.standin.turns[-1].conversation.turn.replies]
    assert [result.text for result in results if result.is_error] == []
    assert path.read_text() == "two\n"


def test_bypass_mode_asks_nobody_and_is_refused_to_root_before_the_start(make_desk: MakeDesk) -> None:
    desk = make_desk(permission_mode="bypassPermissions")
    if os.geteuid() == 0:
        with pytest.raises(ConfigError, match="root"):
            desk.ensure()
        return

    desk.ensure()
    command = {"command": "python3 -c \"print('of no rule')\""}
    desk.finish("42.1", f"[[standin: tool Bash {json.dumps(command)}]]")

    last = desk.standin.turns[-1].conversation.turn.replies[-1].results[-1]
    assert (last.is_error, last.text.partition("\n")[0]) == (False, "of no rule")
