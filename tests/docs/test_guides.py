"""The commands of README.md and of the guides do what the pages say, run as printed with real git and tmux."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from devclaw_py.agents.standin.script import Answer, Call, Conversation
from devclaw_py.agents.standin.server import StandIn
from tests.docs.conftest import BLOCK
from tests.docs.generate import ROOT
from tests.docs.readme import demo_output, parts, shown
from tests.real.claude.conftest import claude_program

if TYPE_CHECKING:
    from tests.docs.conftest import Home


def test_the_guide_takes_its_task_to_done(home: Home) -> None:
    printed = home.follow(ROOT / "docs" / "guides" / "first-project.md")

    assert "Merge #1: Name Sundays" in printed
    assert (home.folder / "shop" / "hours.txt").read_text().endswith("Closed on Sundays.\n")
    assert "state: closed" in (home.folder / "office" / "memory" / "issues" / "shop" / "1.md").read_text()


def test_the_guide_to_claude_code_takes_its_task_to_done(home: Home) -> None:
    (home.folder / "bin" / "claude").symlink_to(claude_program())
    with StandIn(folder=home.folder / "requests", script=close_on_sundays) as model:
        # A person who has been through the first questions and has a login.
        (home.folder / ".claude.json").write_text(json.dumps({"hasCompletedOnboarding": True}))
        (home.folder / ".claude").mkdir()
        login = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_AUTH_TOKEN": model.token}
        settings = home.folder / ".claude" / "settings.json"
        settings.write_text(json.dumps({"env": login}))

        printed = home.follow(ROOT / "docs" / "guides" / "claude-code.md")

        assert "Merge #1: Name Sundays" in printed
        assert (home.folder / "shop" / "hours.txt").read_text().endswith("Closed on Sundays.\n")
        assert json.loads(settings.read_text()) == {"env": login}


def test_the_guide_to_a_night_works_its_queue_off(home: Home) -> None:
    first = (ROOT / "docs" / "guides" / "first-project.md").read_text(encoding="utf-8")
    # A project that works by day: that of the first guide, up to its first task.
    before = BLOCK.findall(first.partition("devclaw task-create")[0].rpartition("```sh")[0])
    home.run("sh", "-eu", "-s", stdin="\n".join(before))

    printed = home.follow(ROOT / "docs" / "guides" / "overnight.md")

    assert "Merge #1: Name Sundays" in printed
    assert "#1 went to dev" in printed
    assert (home.folder / "shop" / "hours.txt").read_text().endswith("Closed on Sundays.\n")


def close_on_sundays(conversation: Conversation) -> Answer:
    """Do the guide's task as DEV, and pass it as QA; the report ends the turn."""
    prompt, made = conversation.turn.prompt, len(conversation.turn.replies)
    result = "pass" if "/shop-qa-qa/" in prompt else "done"
    said = {"result": result, "summary": "hours.txt names Sundays", "issueId": 1, "attempt": 1 + (result == "pass")}
    report = Call("mcp__devclaw__task_complete", said)
    hours = {"file_path": "hours.txt"}
    edit = Call("Edit", {**hours, "old_string": "9 to 5.", "new_string": "9 to 5.\nClosed on Sundays."})
    work = [Call("Read", hours), edit, Call("Bash", {"command": "git commit -qam 'Name Sundays'"})]
    calls = [report] if result == "pass" else [*work, report]
    return Answer(calls=(calls[made],)) if made < len(calls) else Answer("Done.")


def test_the_guide_to_mcp_has_claude_code_create_an_issue(home: Home) -> None:
    (home.folder / "bin" / "claude").symlink_to(claude_program())
    with StandIn(folder=home.folder / "requests", script=write_an_issue) as model:
        (home.folder / ".claude").mkdir()
        login = {"ANTHROPIC_BASE_URL": model.url, "ANTHROPIC_AUTH_TOKEN": model.token}
        (home.folder / ".claude" / "settings.json").write_text(json.dumps({"env": login}))

        printed = home.follow(ROOT / "docs" / "guides" / "mcp.md")

    assert "It is #1." in printed
    assert "Planning" in (home.folder / "office" / "memory" / "issues" / "shop" / "1.md").read_text()


def write_an_issue(conversation: Conversation) -> Answer:
    """Create the issue of the guide to MCP, then name it."""
    wanted = {"projectGroupId": "shop", "title": "The page has a footer"}
    if conversation.turn.replies or "a footer" not in conversation.turn.prompt:
        return Answer("It is #1.")
    return Answer(calls=(Call("mcp__plugin_devclaw_devclaw__task_create", wanted),))


def test_the_readmes_first_use_takes_its_task_to_done(home: Home) -> None:
    repo = home.folder / "git" / "my-webapp"
    home.run("git", "init", "-q", "-b", "main", str(repo))
    home.run("git", "-C", str(repo), "commit", "-q", "--allow-empty", "-m", "Begin")

    home.follow(ROOT / "README.md")
    home.wait_for_commit(repo, "Merge #1: ")

    assert (repo / "first-task.txt").exists()


def test_the_demo_prints_what_the_readme_shows(home: Home) -> None:
    assert parts(demo_output()) == parts(shown()), "write it again with: python -m tests.docs.readme"


def test_the_simulated_night_is_the_one_that_the_guide_shows(home: Home) -> None:
    page = ROOT / "docs" / "guides" / "simulate.md"

    printed = home.follow(page)

    assert printed in page.read_text(encoding="utf-8")
    assert "Everything held" in printed
