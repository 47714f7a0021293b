"""The plugin for Claude Code says what the catalogue says, and its pages name nothing that is not there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from devclaw_py import catalogue
from devclaw_py.faces.claude_plugin.manifest import FOLDER, SERVERS, SKILL, texts, write_for

PAGES = [*sorted((FOLDER / "commands").glob("*.md")), FOLDER / SKILL]
# docs.claude.com: what Claude Code reads of a skill or a command; openclaw's skills have the first two as well.
KEYS = {"name", "description", "argument-hint", "allowed-tools", "model", "disable-model-invocation", "user-invocable"}


@pytest.mark.parametrize("place", texts(), ids=str)
def test_a_file_is_what_the_code_says(place: Path) -> None:
    found = (FOLDER / place).read_text(encoding="utf-8")
    assert found == texts()[place], "write it again with: python -m devclaw_py.faces.claude_plugin.manifest"


def test_the_skill_names_every_tool() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (FOLDER / SKILL).read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == list(catalogue.TOOLS)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_names_only_tools_that_there_are(page: Path) -> None:
    words = set(re.findall(r"\b(?:task|queue|session|project)_\w+", page.read_text(encoding="utf-8")))
    assert words - catalogue.TOOLS.keys() == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_pages_front_matter_has_keys_that_are_read(page: Path) -> None:
    front = yaml.safe_load(page.read_text(encoding="utf-8").split("---\n")[1])
    assert front["description"]
    assert front.keys() <= KEYS


def test_a_written_plugin_differs_in_its_server_alone(tmp_path: Path) -> None:
    write_for(tmp_path, ["/bin/devclaw", "mcp", "--group", "-1"])

    ours = {path.relative_to(FOLDER): path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
    written = {path.relative_to(tmp_path): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert ours.keys() == written.keys()
    assert [place for place, content in ours.items() if written[place] != content] == [SERVERS]
    assert b'"--group"' in written[SERVERS]
