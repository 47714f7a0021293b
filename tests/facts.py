"""coverage_of_facts.toml, and whether its tests ran: a whole run fails when one of them did not."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

TABLE = Path(__file__).with_name("coverage_of_facts.toml")
# What a machine may lack without a fact being in doubt: each skip with such a reason counts as run.
ALLOWED = ("root reads everything", "cannot be had")
# Options that leave tests out.
NARROWING = ("keyword", "markexpr", "deselect", "ignore", "ignore_glob", "lf", "collectonly", "maxfail")


def rows() -> dict[str, dict[str, Any]]:
    """Return the rows of the table by their id."""
    return tomllib.loads(TABLE.read_text(encoding="utf-8"))


def plain(nodeid: str) -> str:
    """Return a test's id without class and parameters, as the table writes it."""
    file, _, rest = nodeid.partition("::")
    return f"{file}::{rest.partition('[')[0].rpartition('::')[2]}"


def counts(report: pytest.TestReport) -> bool:
    """Say whether a report shows that its test ran, well or not, or was left out for a reason that is allowed."""
    if report.skipped:
        return any(reason in str(report.longrepr) for reason in ALLOWED)
    return report.when == "call"


def not_run(table: dict[str, dict[str, Any]], ran: set[str]) -> list[str]:
    """Return each row and test that did not run."""
    return [f"{row}: {test}" for row, facts in table.items() for test in facts.get("tests", ()) if test not in ran]


class FactsPlugin:
    """Collects which tests ran, where all reports come together; under xdist that is the controller."""

    def __init__(self) -> None:
        self.ran: set[str] = set()
        self.missing: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a test that ran."""
        if counts(report):
            self.ran.add(plain(report.nodeid))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Fail a whole run in which a test of the table did not run."""
        if exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) and is_whole(session.config):
            self.missing = not_run(rows(), self.ran)
        if self.missing:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Name what did not run."""
        if self.missing:
            terminalreporter.section("facts whose tests did not run")
            for line in self.missing:
                terminalreporter.line(line)


def is_whole(config: pytest.Config) -> bool:
    """Say whether all tests were meant to run."""
    narrowed = any(getattr(config.option, name, None) for name in NARROWING)
    return config.args_source is config.ArgsSource.TESTPATHS and not narrowed
