"""The table of facts names tests that exist, and a whole run is held to it."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from tests.facts import plain, rows

ROOT = Path(__file__).parents[2]
ROWS = rows()
TESTS = sorted({test for facts in ROWS.values() for test in facts.get("tests", ())})


@cache
def functions_of(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("row", ROWS)
def test_a_row_says_its_fact_and_has_tests_or_a_sentence_why_not(row: str) -> None:
    facts = ROWS[row]

    assert facts.keys() <= {"fact", "tests", "why_not"}
    assert facts["fact"].endswith(".")
    assert facts.get("tests") or facts.get("why_not")
    assert " " in facts.get("why_not", "a sentence.")
    assert facts.get("why_not", "a sentence.").endswith(".")


@pytest.mark.parametrize("test", TESTS)
def test_a_named_test_exists(test: str) -> None:
    file, _, name = test.partition("::")

    assert (ROOT / file).is_file()
    assert name.startswith("test_")
    assert name in functions_of(file)


def test_no_row_is_missing_in_a_numbered_list() -> None:
    numbers = {
        kind: [row.removeprefix(kind) for row in ROWS if row.startswith(kind)] for kind in ("case", "B", "I", "F", "K")
    }

    for kind, found in numbers.items():
        assert found == [f"{number:02}" for number in range(1, len(found) + 1)], kind
    assert len(numbers["case"]) == 25


def test_an_id_is_written_without_class_and_parameters() -> None:
    assert plain("tests/a.py::TestFiles::test_b[x::y-1]") == "tests/a.py::test_b"


@pytest.mark.parametrize("workers", ["0", "2"])
@pytest.mark.parametrize(
    ("body", "words", "fails"),
    [
        ("pass", [], False),
        ("pytest.skip('tmux is not installed')", [], True),
        ("pytest.skip('cannot be had: no disk')", [], False),
        ("pass", ["-k", "other"], False),
        ("pass", ["--deselect", "tests/test_x.py::test_mapped"], False),
        ("pytest.skip('tmux is not installed')", ["tests"], False),
    ],
    ids=["ran", "skipped", "allowed", "keyword", "deselected", "by-path"],
)
def test_a_whole_run_fails_when_a_named_test_did_not_run(
    tmp_path: Path, body: str, words: list[str], fails: bool, workers: str
) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\n")
    (tmp_path / "tests/facts.py").write_text((ROOT / "tests/facts.py").read_text())
    (tmp_path / "tests/coverage_of_facts.toml").write_text(
        "[A]\nfact = 'x.'\ntests = ['tests/test_x.py::test_mapped']\n"
    )
    (tmp_path / "tests/conftest.py").write_text(
        "from tests.facts import FactsPlugin\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(FactsPlugin())\n"
    )
    (tmp_path / "tests/test_x.py").write_text(
        f"import pytest\ndef test_other(): pass\n@pytest.mark.parametrize('n', [1, 2])\ndef test_mapped(n): {body}\n"
    )

    argv = [sys.executable, "-m", "pytest", "-n", workers, "-p", "no:cacheprovider", *words]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == (1 if fails else 0), done.stdout
    assert ("A: tests/test_x.py::test_mapped" in done.stdout) is fails
