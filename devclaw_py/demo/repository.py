"""A real git repository with a real test suite, and the running of that suite."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devclaw_py.demo import sample
from devclaw_py.demo.message import failed_tests
from devclaw_py.kernel import files, proc
from devclaw_py.work.command import Git

BASE = "main"
AUTHOR, EMAIL = "DevClaw demo", "demo@devclaw.invalid"
TESTS_S, GIT_S = 60.0, 30.0
ERROR = re.compile(r"^\w*(?:Error|Exception): .*$", re.MULTILINE)
COUNT = re.compile(r"^Ran (\d+) tests? in", re.MULTILINE)

# A person's own settings may sign commits with a key that asks for a password, run hooks or change line ends.
CONFIG = {
    "user.name": AUTHOR,
    "user.email": EMAIL,
    "commit.gpgSign": "false",
    "core.autocrlf": "false",
    "core.attributesFile": os.devnull,
    "core.excludesFile": os.devnull,
}


@dataclass(frozen=True)
class SuiteRun:
    """How a test run ended. ``red`` are the tests that failed; ``output`` is unittest's own."""

    count: int
    red: tuple[str, ...]
    passed: bool
    output: str

    @property
    def errors(self) -> tuple[str, ...]:
        """What the red tests say, each once: ``AssertionError: 2 != 3``."""
        return tuple(dict.fromkeys(ERROR.findall(self.output)))

    @property
    def words(self) -> str:
        """The run in a few words: ``9 tests, 1 red``."""
        if not self.passed and not self.red:
            return "the tests could not be run"
        return f"{self.count} {'test' if self.count == 1 else 'tests'}, {len(self.red) or 'none'} red"


def make_repository(path: Path) -> Git:
    """Make the sample repository, with an identity that holds in it alone; return the git to use in it.

    Raises:
        RepositoryError, ConfigError: git or the disk refused.
    """
    git = Git(GIT_S)
    files.folder(path)
    asked = f"make the sample repository {path}"
    git.run(path, "init", "--quiet", "--template=", f"--initial-branch={BASE}", asked=asked)
    for key, value in {**CONFIG, "core.hooksPath": str(path / ".git" / "hooks")}.items():
        git.run(path, "config", "--local", key, value, asked=asked)
    for name, text in sample.FILES.items():
        files.folder((path / name).parent)
        files.write(path / name, text.encode())
    git.run(path, "add", "--all", asked=asked)
    git.run(path, "commit", "--quiet", "-m", "feat: a till that adds up and prints receipts", asked=asked)
    return git


def run_tests(
    folder: Path, names: Sequence[str] = (), *, environ: Mapping[str, str], timeout_s: float = TESTS_S
) -> SuiteRun:
    """Run ``python3 -m unittest`` in a folder, all tests or those named.

    Raises:
        NotAnswered: it did not end in time.
    """
    # Two edits within one second may leave a file as long as it was: a cached bytecode would pass for the new one.
    env = {name: value for name, value in environ.items() if not name.startswith("PYTHON")}
    env["PYTHONDONTWRITEBYTECODE"] = "1"
    done = proc.run([sys.executable, "-m", "unittest", *names], timeout_s=timeout_s, cwd=folder, env=env)
    return suite_run(done.err + done.out, passed=done.code == 0)


def suite_run(output: str, *, passed: bool) -> SuiteRun:
    """Return what unittest's own output says; ``passed`` is its exit code's word."""
    count = COUNT.search(output)
    return SuiteRun(count=int(count[1]) if count else 0, red=failed_tests(output), passed=passed, output=output.strip())


def run_tests_of(
    git: Git, repository: Path, commit: str, names: Sequence[str] = (), *, environ: Mapping[str, str]
) -> SuiteRun:
    """Run the tests of a commit in a copy outside the repository.

    Raises:
        RepositoryError: there is no such commit.
        NotAnswered: the tests did not end in time.
    """
    with tempfile.TemporaryDirectory(prefix="devclaw-tests-") as folder:
        packed = Path(folder) / "commit.zip"
        asked = f"copy {commit} of {repository} for a test run"
        git.run(repository, "archive", "--format=zip", f"--output={packed}", commit, asked=asked)
        copy = Path(folder) / "copy"
        with zipfile.ZipFile(io.BytesIO(packed.read_bytes())) as archive:
            archive.extractall(copy)
        return run_tests(copy, names, environ=environ)
