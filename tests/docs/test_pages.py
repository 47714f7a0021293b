"""What holds for every page: links lead somewhere, names exist, words are plain, figures are those of the code."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from devclaw_py.operations.registry import fail_points
from tests.conftest import make_office
from tests.crash.cases import CASES
from tests.crash.meter import Meter
from tests.docs.generate import ROOT

PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "memory" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
COMMANDS = (
    "python3 -m venv .venv && .venv/bin/pip install -q . && .venv/bin/devclaw demo",
    "python3 -m venv .venv && .venv/bin/pip install -q -e '.[all,test]' && .venv/bin/pytest",
)
WORDS = re.compile(r"\b(?:robust|seamless|comprehensive|simply|leverage)", re.IGNORECASE)
MACHINE = re.compile(r"(?<![\w.~<>$/-])/(?:work|home|root|tmp|opt|usr|var|Users|private)/")
CRASH = ROOT / "docs" / "concepts" / "crash-safety.md"

each_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def text_of(page: Path) -> str:
    return page.read_text(encoding="utf-8")


def anchors(page: Path) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", FENCED.sub("", text_of(page)), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


@each_page
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    lost = []
    for link in LINK.findall(FENCED.sub("", text_of(page))):
        path, _, anchor = link.partition("#")
        if re.match(r"\w+:", link):
            continue
        target = page.parent / path if path else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            lost.append(link)
    assert lost == []


@each_page
def test_no_page_has_a_word_that_says_nothing(page: Path) -> None:
    assert WORDS.findall(text_of(page)) == []


@each_page
def test_no_page_names_a_path_of_a_machine(page: Path) -> None:
    assert MACHINE.findall(text_of(page)) == []


@each_page
def test_every_file_that_a_page_names_exists(page: Path) -> None:
    named = set(re.findall(r"`((?:[\w.]+/)+[\w.]+\.(?:py|md|example\.json))`", text_of(page)))
    ours = {name for name in named if not name.startswith(("memory/issues/", "memory/sessions/", "roles/"))}
    lost = [name for name in ours if not ((ROOT / name).exists() or (ROOT / "devclaw_py" / name).exists())]
    assert lost == []


@each_page
def test_every_test_that_a_page_names_exists(page: Path) -> None:
    named = set(re.findall(r"`(test_\w+)`", text_of(page)))
    written = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name in named if f"def {name}(" not in written] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_has_each_command_on_a_line_of_its_own(command: str) -> None:
    assert text_of(ROOT / "README.md").splitlines().count(command) == 1


def test_the_readme_is_short() -> None:
    assert len(text_of(ROOT / "README.md").splitlines()) < 200


def test_every_dependency_has_its_line() -> None:
    project = tomllib.loads(text_of(ROOT / "pyproject.toml"))["project"]
    needed = {re.split(r"[>=<]", each)[0] for each in project["dependencies"]}
    table = text_of(ROOT / "docs" / "architecture.md").partition("## Dependencies")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| ([\w-]+) \|", table, re.MULTILINE)) - {"package"} == needed


def test_the_number_of_fail_points_is_the_codes() -> None:
    assert re.findall(r"(\d+) fail points", text_of(CRASH)) == [str(len(fail_points()))]


def test_the_number_of_port_calls_is_the_suites(tmp_path: Path) -> None:
    made = 0
    for name, case in CASES.items():
        office, meter = make_office(tmp_path / name), Meter()
        case.before(office)
        for port, adapter in office.ports().items():
            meter.watch(port, adapter)
        case.act(office)
        made += len(meter.calls)

    assert re.findall(r"(\d+) port calls of (\d+) cases", text_of(CRASH)) == [(str(made), str(len(CASES)))]
