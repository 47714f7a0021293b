"""The commands of README.md and of the guides do what the pages say, run as printed with real git and tmux."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.docs.generate import ROOT
from tests.docs.readme import demo_output, parts, shown

if TYPE_CHECKING:
    from tests.docs.conftest import Home


def test_the_guide_takes_its_task_to_done(home: Home) -> None:
    printed = home.follow(ROOT / "docs" / "guides" / "first-project.md")

    assert "Merge #1: Name Sundays" in printed
    assert (home.folder / "shop" / "hours.txt").read_text().endswith("Closed on Sundays.\n")
    assert "state: closed" in (home.folder / "office" / "memory" / "issues" / "shop" / "1.md").read_text()


def test_the_readmes_first_use_takes_its_task_to_done(home: Home) -> None:
    repo = home.folder / "git" / "my-webapp"
    home.run("git", "init", "-q", "-b", "main", str(repo))
    home.run("git", "-C", str(repo), "commit", "-q", "--allow-empty", "-m", "Begin")

    home.follow(ROOT / "README.md")
    home.wait_for_commit(repo, "Merge #1: ")

    assert (repo / "first-task.txt").exists()


def test_the_demo_prints_what_the_readme_shows(home: Home) -> None:
    assert parts(demo_output()) == parts(shown()), "write it again with: python -m tests.docs.readme"
